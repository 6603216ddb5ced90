package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// patience is how long the demo waits for the next thing to happen. Fires are seconds
// apart, and so are the ends of sessions; this is what a busy machine may add.
const patience = 30 * time.Second

// watch prints what happens until the last fire, stops the timer, and goes on until
// the last session has ended.
func (d *demo) watch(ctx context.Context) (status, error) {
	printed := map[string]bool{}
	if _, err := d.follow(ctx, printed, fmt.Sprintf("fire %d", fires), func(s status) bool { return len(s.Fires) >= fires }); err != nil {
		return status{}, err
	}
	if _, err := systemctl(ctx, "stop", d.units.timer()); err != nil {
		return status{}, err
	}
	fmt.Println("          the timer is stopped")
	return d.follow(ctx, printed, "the end of the last run", func(s status) bool { return len(s.Running) == 0 })
}

// follow looks at the record, and prints what is new in it, until done.
func (d *demo) follow(ctx context.Context, printed map[string]bool, goal string, done func(status) bool) (status, error) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	last, crashed := time.Now(), ""
	for {
		s, err := statusOf(ctx, d.stint)
		if err != nil {
			return status{}, err
		}
		if s.printNews(printed) {
			last = time.Now()
		}
		if done(s) {
			return s, nil
		}
		before := crashed
		crashed = ""
		if i := slices.IndexFunc(s.Running, func(r session) bool { return r.State == "crashed" }); i >= 0 {
			crashed = s.Running[i].Run
		}
		failed, err := d.units.failed(ctx)
		switch {
		case crashed != "" && crashed == before: // one that ends while it is looked at may seem crashed, but not at two looks
			return status{}, fmt.Errorf("run %s crashed (no result recorded); see %s", crashed, d.folder.runLog(crashed))
		case err != nil:
			return status{}, err
		case failed != "":
			return status{}, fmt.Errorf("unit failed: %s; the fires said:\n%s", failed, d.folder.tail())
		case time.Since(last) > patience:
			return status{}, fmt.Errorf("await %s: nothing happened for %s; the fires said:\n%s", goal, patience, d.folder.tail())
		}
		select {
		case <-ctx.Done():
			return status{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// printNews prints what was not printed yet, each thing once and in order, and reports whether
// there was anything.
func (s status) printNews(printed map[string]bool) bool {
	type event struct {
		at   time.Time
		text string
	}
	var news []event
	add := func(key string, at time.Time, text string) {
		if !printed[key] {
			printed[key] = true
			news = append(news, event{at, text})
		}
	}
	for _, f := range s.Fires {
		add(fmt.Sprint("fire ", f.Fire), f.At, fmt.Sprintf("fire %d starts %s", f.Fire, cmp.Or(strings.Join(f.started(), ", "), "nothing")))
	}
	for _, r := range s.Runs {
		if r.StartedAt != nil && r.Task != "" {
			add("begin "+r.Run, *r.StartedAt, fmt.Sprintf("  begins %-7s %-14s lane %d", r.Category, r.Task, r.Lane))
		}
		if r.EndedAt != nil {
			add("end "+r.Run, *r.EndedAt, fmt.Sprintf("  ends   %-7s %-14s %-10s %4s  %s", r.Category, r.Task, r.Outcome, r.grade(), r.Reason))
		}
	}
	slices.SortStableFunc(news, func(a, b event) int { return a.at.Compare(b.at) })
	for _, e := range news {
		fmt.Printf("%s  %s\n", e.at.Local().Format(time.TimeOnly), e.text)
	}
	return len(news) > 0
}
