// Package simulate tries policies for choosing categories in a virtual world, in which
// the true worth of all work is known. It is pure: a scenario and a seed give the same
// results to the last bit, however many processors share the work.
//
// The policy "stint" is no copy: it calls the ranking and keeps the accounts that real
// fires do.
package simulate

import (
	"context"
	"sync"
	"sync/atomic"
)

// Options has the needs of a simulation beside its scenario.
type Options struct {
	Policies []Policy
	Runs     int // at least 1
	Seed     uint64
	Parallel int // runs at once, at least 1
	// Watch returns what is called after every fire of a run; nil: nobody watches.
	Watch func(p Policy, run int) func(Moment)
}

// Run plays a scenario by each policy. It stops with the context's error when that ends.
func Run(ctx context.Context, s *Scenario, o Options) ([]Result, error) {
	all := len(o.Policies) * o.Runs
	outcomes := make([]Outcome, all)
	var (
		next    atomic.Int64
		workers sync.WaitGroup
	)
	for range min(o.Parallel, all) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= all {
					return
				}
				policy, run := i/o.Runs, i%o.Runs
				p := newPlay(s, o.Policies[policy], o.Seed, run)
				if o.Watch != nil {
					p.watch = o.Watch(o.Policies[policy], run)
				}
				outcomes[i] = p.run(func() bool { return ctx.Err() != nil })
			}
		})
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []Result
	for i, p := range o.Policies {
		list = append(list, newResult(p, outcomes[i*o.Runs:(i+1)*o.Runs], float64(s.Fires)))
	}
	return list, nil
}
