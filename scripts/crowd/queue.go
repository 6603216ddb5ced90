package main

import "time"

// Costs is how long the store is taken by what hosts ask of it. All of it is served one
// after the other: a store that is opened for writing takes the write lock for reads, too.
type Costs struct {
	Write         time.Duration // a small transaction that is made durable: a claim, a renewal, an end
	Read          time.Duration // of one row
	Fire          time.Duration // the record of a fire
	FireRun       time.Duration // more, for each worker that it starts
	Snapshot      time.Duration // what a fire or a worker looks at
	SnapshotClaim time.Duration // more, for each claim with its open run
	Sweep         time.Duration // what a fire reads beside a snapshot to find crashed runs
	SweepClaim    time.Duration // more, for each lane that is held
}

// Measured are the costs that [Measure] found on a virtual machine with two cores, whose
// disk syncs in a third of a millisecond. On other disks a write may take ten times as long.
func Measured() Costs {
	return Costs{
		Write: 400 * time.Microsecond, Read: 30 * time.Microsecond,
		Fire: 350 * time.Microsecond, FireRun: 50 * time.Microsecond,
		Snapshot: 200 * time.Microsecond, SnapshotClaim: 11500 * time.Nanosecond,
		Sweep: 15 * time.Microsecond, SweepClaim: 1400 * time.Nanosecond,
	}
}

// patience is how long a transaction waits for the store before it is given up: the
// busy time-out of the SQLite store.
const patience = 15 * time.Second

// queue is the one store, which serves one caller after the other.
type queue struct {
	free   time.Duration // when it has served all that came so far
	busy   time.Duration // how long it has been at work
	served int
	waits  histogram
}

// enter says when service begins and ends for who comes at a time, no earlier than who
// came before. Where that would be too long to wait for, ok is false, and nothing is served.
func (q *queue) enter(now, cost time.Duration) (begin, end time.Duration, ok bool) {
	begin = max(now, q.free)
	if begin-now > patience {
		return 0, 0, false
	}
	q.free = begin + cost
	q.busy += cost
	q.served++
	q.waits.add(begin - now)
	return begin, q.free, true
}

// lookers are the cores of a server that can each be at one look.
type lookers []queue

// next is the one that is free first.
func (l lookers) next() *queue {
	first := 0
	for i := range l {
		if l[i].free < l[first].free {
			first = i
		}
	}
	return &l[first]
}
