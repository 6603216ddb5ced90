// Package simulate tries policies for choosing categories in a virtual world, in which
// the true worth of all work is known. It is pure: a scenario and a seed give the same
// results to the last bit, however many processors share the work.
//
// The policy "stint" is no copy: it calls the ranking and keeps the accounts that real
// fires do.
package simulate

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Options are what a simulation needs beside a scenario.
type Options struct {
	Policies []Policy
	Runs     int // at least 1
	Seed     uint64
	Parallel int // runs at once, at least 1
	// Clock measures the processor time of the calling thread; nil: it is not measured.
	Clock func() time.Duration
	// Watch returns what is called after every fire of a run; nil: nobody watches.
	Watch func(p Policy, run int) func(Moment)
	// Progress is called, one call at a time, with how many of the runs of all policies are
	// done; nil: nobody asks.
	Progress func(done, all int)
}

// Run plays a scenario. It stops with the context's error when that ends.
func Run(ctx context.Context, s *Scenario, o Options) (*Results, error) {
	all := len(o.Policies) * o.Runs
	outcomes, spent := make([]outcome, all), make([]time.Duration, all)
	var (
		next, done atomic.Int64
		workers    sync.WaitGroup
		telling    sync.Mutex
	)
	for range min(o.Parallel, all) {
		workers.Go(func() {
			runtime.LockOSThread() // the clock is the thread's
			defer runtime.UnlockOSThread()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= all {
					return
				}
				// Runs go by turns, so that what is done is comparable at any time.
				policy, run := i%len(o.Policies), i/len(o.Policies)
				at := policy*o.Runs + run
				began := o.clock()
				p := newPlay(s, o.Policies[policy], o.Seed, run)
				if o.Watch != nil {
					p.watch = o.Watch(o.Policies[policy], run)
				}
				outcomes[at] = p.run(func() bool { return ctx.Err() != nil })
				spent[at] = o.clock() - began
				if o.Progress != nil {
					telling.Lock()
					o.Progress(int(done.Add(1)), all)
					telling.Unlock()
				}
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return summarize(s, o, outcomes, spent), nil
}

func (o Options) clock() time.Duration {
	if o.Clock == nil {
		return 0
	}
	return o.Clock()
}
