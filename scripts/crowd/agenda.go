package main

import "time"

// kind is what happens at an event: first what does to hosts, then, from runBegins on, to
// runs.
type kind uint8

const (
	taskComes kind = iota
	hostDies
	hostReturns
	fireDue
	fireSwept
	fireSees
	fireRecorded
	runBegins
	runBegun
	runSees
	runTook
	runNoted
	runWakes
	runRenewed
	runRetries
	runCompleted
	runEnded
	orphanEnds
)

// event is something that happens to a host, a run or a task.
type event struct {
	at      time.Duration
	order   uint64 // of events at one time: the order in which they were foreseen
	who     int32
	turn    uint32 // an event that was foreseen for an earlier tenant of who's place is void
	kind    kind
	refused bool          // by the store
	begin   time.Duration // when the store began with it: the reading of its clock
}

// agenda is a heap of events with four branches: half as deep as one with two, and
// a node's branches lie side by side.
type agenda struct {
	heap []event
	next uint64
}

func (e *event) before(f *event) bool {
	return e.at < f.at || e.at == f.at && e.order < f.order
}

func (a *agenda) add(e event) {
	e.order = a.next
	a.next++
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

func (a *agenda) pop() event {
	first, last := a.heap[0], a.heap[len(a.heap)-1]
	a.heap = a.heap[:len(a.heap)-1]
	n := len(a.heap)
	for i := 0; n > 0; {
		least := 4*i + 1
		if least >= n {
			a.heap[i] = last
			break
		}
		for c := least + 1; c < min(4*i+5, n); c++ {
			if a.heap[c].before(&a.heap[least]) {
				least = c
			}
		}
		if !a.heap[least].before(&last) {
			a.heap[i] = last
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	return first
}
