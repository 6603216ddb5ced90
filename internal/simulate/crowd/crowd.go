// Package crowd simulates many hosts that share one store: how often workers are denied
// a claim, how long they and the tasks wait, and at what number of hosts the store can
// keep up no more. It is pure but for [Measure]: options and a seed give the same report
// to the last bit.
//
// What the rules are is asked where they are kept: whether a claim is free
// ([fleet.Claim.Free]) or its holder's ([fleet.Claim.Current]), what a fire starts
// ([plan.Decide]), how a category backs off ([bandit.Backoff]). Rules that stand in SQL, or
// between waits, are written again, each in one function that names the original, and
// a test holds it against that.
//
// What is simplified: all categories are worth the same, so that a fire's ranking is a
// shuffle. Whoever waits for the store is served in turn, while SQLite lets chance
// decide. Lanes, slots and cooldowns are each host's own, and a fire sweeps up what its
// own host's dead have left. Tasks require nothing of each other, and every host sees at once that
// one has come or is done.
package crowd

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
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

	Costs Costs
	Seed  uint64
	// Progress is told now and then which part of the time is over; nil: nobody asks.
	Progress func(done, all int)
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

// RangeError is an option that cannot be simulated. It wraps [fleet.ErrUsage].
type RangeError struct {
	Option string // the name of the field of [Options]
	Value  any
	Want   string
}

func (e RangeError) Error() string { return fmt.Sprintf("%s %v: want %s", e.Option, e.Value, e.Want) }

// Unwrap makes it wrong usage.
func (RangeError) Unwrap() error { return fleet.ErrUsage }

// Validate refuses what cannot be simulated, with a [RangeError].
func (o Options) Validate() error {
	for _, r := range []struct {
		ok bool
		RangeError
	}{
		{o.Hosts > 0 && o.Hosts <= mostWorkers, RangeError{"Hosts", o.Hosts, upTo(mostWorkers)}},
		{o.Workers > 0 && o.Workers <= mostWorkers, RangeError{"Workers", o.Workers, upTo(mostWorkers)}},
		{o.Categories > 0 && o.Categories <= mostCategories, RangeError{
			"Categories", o.Categories, upTo(mostCategories) + "; unless given, they are as many as a host's workers",
		}},
		{o.Lanes > 0 && o.Lanes <= mostLanes, RangeError{"Lanes", o.Lanes, upTo(mostLanes)}},
		{o.Length > 0, RangeError{"Length", o.Length, "more than 0"}},
		{o.Every > 0, RangeError{"Every", o.Every, "more than 0"}},
		{o.Spread >= 0 && o.Spread <= o.Every, RangeError{"Spread", o.Spread, fmt.Sprintf("0 to %s, the time between two fires", o.Every)}},
		{o.TasksPerHour > 0, RangeError{"TasksPerHour", o.TasksPerHour, "more than 0"}},
		{o.Median > 0, RangeError{"Median", o.Median, "more than 0"}},
		{o.Sigma >= 0, RangeError{"Sigma", o.Sigma, "0 or more"}},
		{o.TTL >= time.Millisecond, RangeError{"TTL", o.TTL, "a millisecond or more"}},
		{o.Timeout > 0, RangeError{"Timeout", o.Timeout, "more than 0"}},
		{o.Cooldown >= 0, RangeError{"Cooldown", o.Cooldown, "0 or more"}},
		{o.Skew >= 0, RangeError{"Skew", o.Skew, "0 or more"}},
		{o.HostLife >= 0, RangeError{"HostLife", o.HostLife, "0 or more"}},
		{o.HostRepair >= 0, RangeError{"HostRepair", o.HostRepair, "0 or more"}},
	} {
		if !r.ok {
			return r.RangeError
		}
	}
	return o.validateProducts()
}

// validateProducts bounds what each option may be beside the others.
func (o Options) validateProducts() error {
	if most := mostWorkers / o.Workers; o.Hosts > most {
		return RangeError{"Hosts", o.Hosts, fmt.Sprintf("1 to %d: with %d workers each, those are %d in all", most, o.Workers, mostWorkers)}
	}
	if most := mostPlaces / o.Categories; o.Hosts > most {
		return RangeError{"Hosts", o.Hosts, fmt.Sprintf("1 to %d: with %d categories each, those are %d in all", most, o.Categories, mostPlaces)}
	}
	if hours := o.Length.Hours(); o.TasksPerHour*hours > mostTasks {
		return RangeError{
			"TasksPerHour", o.TasksPerHour,
			fmt.Sprintf("more than 0 and at most %.0f: in %.4g hours, those are %d in all", mostTasks/hours, hours, mostTasks),
		}
	}
	return nil
}

func upTo(most int) string { return fmt.Sprintf("1 to %d", most) }

// Run simulates. It stops with the context's error when that ends.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	w := newWorld(o)
	if err := w.run(func() error { return ctx.Err() }); err != nil {
		return nil, err
	}
	return w.report(), nil
}
