package main

import (
	"context"
	"fmt"
	"time"
)

// Options say what is simulated.
type Options struct {
	Hosts        int
	Workers      int // per host: of a fire, and at once
	Categories   int
	Lanes        int // of each category, per host
	Length       time.Duration
	Every        time.Duration // between two fires of a host
	Spread       time.Duration // of the hosts' fires, which are due at once; less than Every
	TasksPerHour float64       // that come to all hosts together
	Median       time.Duration // of a session, lognormal
	Sigma        float64       // of its logarithm
	Done         float64       // probability that a session finishes its task; else it is resumed
	Siblings     float64       // probability that a task is of the same family as the category's last

	TTL       time.Duration
	Timeout   time.Duration // of a session
	Cooldown  time.Duration
	MaxPivots int

	HostLife   time.Duration // mean time to a host's death; 0: hosts live for ever
	HostRepair time.Duration // from then to its first fire
	Orphans    float64       // probability that a session loses its supervisor and works on
	Skew       time.Duration // a host's clock is off by up to this, either way

	Costs   Costs
	Lookers int // cores of a server that are at looks while it writes; 0: looks and writes take turns
	Seed    uint64
}

// Defaults are a thousand hosts with a hundred workers each, over two days, under the
// settings that a configuration starts with.
func Defaults() Options {
	return Options{
		Hosts: 1000, Workers: 100, Lanes: 1, Length: 48 * time.Hour,
		Every:  30 * time.Minute, // the timer's
		Spread: 2 * time.Minute,  // its RandomizedDelaySec
		Median: 25 * time.Minute, Sigma: 0.6, Done: 0.8, Siblings: 0.3,
		TTL: 60 * time.Minute, Timeout: 50 * time.Minute, Cooldown: 180 * time.Second, MaxPivots: 2,
		HostLife: 30 * 24 * time.Hour, HostRepair: time.Hour, Orphans: 0.001,
		Costs: Measured(),
	}
}

// Complete fills in what depends on the rest: a category for each worker of a host, and
// a task every two hours for each worker, which keeps most of them at work.
func (o Options) Complete() Options {
	if o.Categories == 0 {
		o.Categories = o.Workers
	}
	if o.TasksPerHour == 0 {
		o.TasksPerHour = float64(o.Hosts*o.Workers) / 2
	}
	return o
}

const (
	mostWorkers = 1_000_000
	// mostPlaces bounds what is kept of every category on every host.
	mostPlaces     = 10_000_000
	mostCategories = 9999 // their names have four digits
	mostLanes      = 255
	mostTasks      = 50_000_000 // a gigabyte or three, if nobody works on them
)

// rangeError is an option that cannot be simulated.
type rangeError struct {
	Option string // the name of the field of [Options]
	Value  any
	Want   string
}

func (e rangeError) Error() string { return fmt.Sprintf("%s %v: want %s", e.Option, e.Value, e.Want) }

// Validate refuses what cannot be simulated, with a [rangeError].
func (o Options) Validate() error {
	for _, r := range []struct {
		ok bool
		rangeError
	}{
		{o.Hosts > 0 && o.Hosts <= mostWorkers, rangeError{"Hosts", o.Hosts, upTo(mostWorkers)}},
		{o.Workers > 0 && o.Workers <= mostWorkers, rangeError{"Workers", o.Workers, upTo(mostWorkers)}},
		{o.Categories > 0 && o.Categories <= mostCategories, rangeError{
			"Categories", o.Categories, upTo(mostCategories) + "; unless given, they are as many as a host's workers",
		}},
		{o.Lanes > 0 && o.Lanes <= mostLanes, rangeError{"Lanes", o.Lanes, upTo(mostLanes)}},
		{o.Length > 0, rangeError{"Length", o.Length, "more than 0"}},
		{o.Every > 0, rangeError{"Every", o.Every, "more than 0"}},
		{o.Spread >= 0 && o.Spread <= o.Every, rangeError{"Spread", o.Spread, fmt.Sprintf("0 to %s, the time between two fires", o.Every)}},
		{o.TasksPerHour > 0, rangeError{"TasksPerHour", o.TasksPerHour, "more than 0"}},
		{o.Median > 0, rangeError{"Median", o.Median, "more than 0"}},
		{o.Sigma >= 0, rangeError{"Sigma", o.Sigma, "0 or more"}},
		{o.TTL >= time.Millisecond, rangeError{"TTL", o.TTL, "a millisecond or more"}},
		{o.Timeout > 0, rangeError{"Timeout", o.Timeout, "more than 0"}},
		{o.Cooldown >= 0, rangeError{"Cooldown", o.Cooldown, "0 or more"}},
		{o.Lookers >= 0, rangeError{"Lookers", o.Lookers, "0 or more"}},
		{o.Skew >= 0, rangeError{"Skew", o.Skew, "0 or more"}},
		{o.HostLife >= 0, rangeError{"HostLife", o.HostLife, "0 or more"}},
		{o.HostRepair >= 0, rangeError{"HostRepair", o.HostRepair, "0 or more"}},
	} {
		if !r.ok {
			return r.rangeError
		}
	}
	return o.validateProducts()
}

// validateProducts bounds what each option may be beside the others.
func (o Options) validateProducts() error {
	if most := mostWorkers / o.Workers; o.Hosts > most {
		return rangeError{"Hosts", o.Hosts, fmt.Sprintf("1 to %d: with %d workers each, those are %d in all", most, o.Workers, mostWorkers)}
	}
	if most := mostPlaces / o.Categories; o.Hosts > most {
		return rangeError{"Hosts", o.Hosts, fmt.Sprintf("1 to %d: with %d categories each, those are %d in all", most, o.Categories, mostPlaces)}
	}
	if hours := o.Length.Hours(); o.TasksPerHour*hours > mostTasks {
		return rangeError{
			"TasksPerHour", o.TasksPerHour,
			fmt.Sprintf("more than 0 and at most %.0f: in %.4g hours, those are %d in all", mostTasks/hours, hours, mostTasks),
		}
	}
	return nil
}

func upTo(most int) string { return fmt.Sprintf("1 to %d", most) }

// simulate plays a size. It stops with the context's error when that ends.
func simulate(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := newWorld(o)
	if err := w.run(func() error { return ctx.Err() }); err != nil {
		return nil, err
	}
	return w.report(), nil
}
