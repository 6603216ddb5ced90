package main

import (
	"context"
	"fmt"
	"time"
)

// patience is how long the demo waits for the next thing to happen. Fires are seconds
// apart, and so are the ends of sessions; this is what a busy machine may add.
const patience = 30 * time.Second

// watch prints what happens until the last fire, stops the timer, and goes on until
// the last session has ended.
func (d *demo) watch(ctx context.Context) (status, error) {
	w := &watcher{out: d.out, told: map[string]bool{}}
	if _, err := d.follow(ctx, w, fmt.Sprintf("fire %d", fires), func(s status) bool { return len(s.Fires) >= fires }); err != nil {
		return status{}, err
	}
	if err := d.units.stopTimer(ctx); err != nil {
		return status{}, err
	}
	w.more("the timer is stopped")
	return d.follow(ctx, w, "the end of the last run", func(s status) bool { return len(s.Running) == 0 })
}

// follow looks at the record, and prints what is new in it, until done.
func (d *demo) follow(ctx context.Context, w *watcher, goal string, done func(status) bool) (status, error) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last, dead := time.Now(), ""
	for {
		s, err := d.stint.status(ctx)
		if err != nil {
			return status{}, err
		}
		if w.tell(s) {
			last = time.Now()
		}
		if done(s) {
			return s, nil
		}
		before := dead
		dead = s.dead()
		if err := d.stuck(ctx, before, dead); err != nil {
			return status{}, err
		}
		if time.Since(last) > patience {
			return status{}, d.fault(fmt.Sprintf("await %s: nothing happened for %s", goal, patience))
		}
		select {
		case <-ctx.Done():
			return status{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// stuck says why no goal would ever be reached. A run that ends while it is looked at
// may seem dead, but not at two looks.
func (d *demo) stuck(ctx context.Context, before, dead string) error {
	if dead != "" && dead == before {
		return fmt.Errorf("run %s crashed (no result recorded); see %s", dead, d.folder.runLog(dead))
	}
	failed, err := d.units.failed(ctx)
	if err == nil && failed != "" {
		err = d.fault("unit failed: " + failed)
	}
	return err
}

// fault is what went wrong with the fires, and what they said.
func (d *demo) fault(what string) error {
	return fmt.Errorf("%s; the fires said:\n%s", what, d.folder.tail())
}
