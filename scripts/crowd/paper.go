package main

import (
	"math"
	"time"

	claims "stint/internal/claim"
)

// Paper is what a sheet of paper says of the store's load, when every worker finds a task
// at once and nobody dies.
type Paper struct {
	SessionsPerHour float64
	Claims          float64 // held at any time
	Utilisation     float64 // of the store; 1 and more: it cannot keep up
	Hosts           float64 // at which it would be 1, all else equal
}

// OnPaper reckons the load. Sessions per hour are as many as tasks come for, each taken up
// 1/Done times, and no more than there are lanes, each of which is started at the first
// fire after its session and cooldown; by Little's law, claims are sessions per hour times
// their length. A session's calls of the store are as in worker.go, a fire's as in fire.go: its
// looks grow with the claims, so that the load grows with the square of the hosts.
func OnPaper(o Options) Paper {
	low, high := 1e-6, 1e9 // of what multiplies the hosts
	for high/low > 1+1e-9 {
		if middle := math.Sqrt(low * high); o.times(middle).Utilisation < 1 {
			low = middle
		} else {
			high = middle
		}
	}
	p := o.times(1)
	p.Hosts = high * float64(o.Hosts)
	return p
}

// times is the sheet for so many times the hosts, without the hosts at which it is full.
func (o Options) times(factor float64) Paper {
	c := o.Costs
	hosts := factor * float64(o.Hosts)
	mean := o.meanLength()
	turns := math.Ceil((mean+o.Cooldown.Hours())/o.Every.Hours()) * o.Every.Hours()
	places := min(float64(o.Workers), float64(o.Categories*o.Lanes))
	sessions := min(factor*o.TasksPerHour/o.Done, hosts*places/turns)
	p := Paper{SessionsPerHour: sessions, Claims: sessions * mean}
	look := c.Snapshot.Hours() + p.Claims*c.SnapshotClaim.Hours()
	beats := math.Floor(mean / claims.Beat(o.TTL).Hours())
	fires := hosts / o.Every.Hours()
	writes := sessions*((6+beats)*c.Write.Hours()+c.FireRun.Hours()) + fires*c.Fire.Hours()
	looks := sessions*(3*c.Read.Hours()+look) + fires*((c.Sweep+c.Snapshot).Hours()+p.Claims*(c.SweepClaim+c.SnapshotClaim).Hours()+look)
	if p.Utilisation = writes + looks; o.Lookers > 0 {
		p.Utilisation = max(writes, looks/float64(o.Lookers))
	}
	return p
}

// meanLength is the mean of a session in hours, which its time-out cuts off.
func (o Options) meanLength() float64 {
	if o.Sigma == 0 {
		return min(o.Median, o.Timeout).Hours()
	}
	below := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	z := math.Log(float64(o.Timeout)/float64(o.Median)) / o.Sigma
	cut := float64(o.Median)*math.Exp(o.Sigma*o.Sigma/2)*below(z-o.Sigma) + float64(o.Timeout)*(1-below(z))
	return time.Duration(cut).Hours()
}
