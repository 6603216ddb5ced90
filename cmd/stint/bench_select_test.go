package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/task"
)

// BenchmarkSelectCategories measures "stint select" beside a Go program that does nothing,
// whose time is the floor of any process here.
func BenchmarkSelectCategories(b *testing.B) {
	empty := emptyProgram(b)
	for _, n := range []int{10, 1_000} {
		f := newBench(b, "true")
		f.categorize(b, n)
		f.fillTasks(b, 1_000, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) { f.besideNothing(b, empty) })
	}
}

// BenchmarkSelectTasks measures the same at 20 categories, and what there is to gain from
// remembering task files beside the same command without a cache.
func BenchmarkSelectTasks(b *testing.B) {
	empty := emptyProgram(b)
	for _, n := range []int{10, 1_000, 100_000} {
		f := newBench(b, "true")
		f.categorize(b, 20)
		f.fillTasks(b, n, 20)
		b.Run(fmt.Sprint(n), func(b *testing.B) { f.besideNothing(b, empty) })
		b.Run(fmt.Sprintf("%d/unread", n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return f.stint(b, 0, "select") },
				func() time.Duration { return f.selectUncached(b) },
			).report(b)
		})
	}
}

// BenchmarkSelectRuns measures the same at 20 categories and a thousand tasks in a fleet
// that has run for long, beside one that has run for a day.
func BenchmarkSelectRuns(b *testing.B) {
	old := func(runs int) bench {
		f := newBench(b, "true")
		f.categorize(b, 20)
		f.fillTasks(b, 1_000, 20)
		f.fillHistory(b, runs, 20)
		return f
	}
	few := old(1_000)
	for _, n := range []int{1_000, 1_000_000} { // as many first: what two folders differ by
		many := old(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return many.stint(b, 0, "select") },
				func() time.Duration { return few.stint(b, 0, "select") },
			).report(b)
		})
	}
}

func (f bench) besideNothing(b *testing.B, empty string) {
	b.Helper()
	measure(b,
		func() time.Duration { return f.stint(b, 0, "select") },
		func() time.Duration { return f.timed(b, 0, f.command(empty)) },
	).report(b)
}

// emptyProgram builds a program that does nothing.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	source, binary := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := command("go", "build", "-o", binary, source); err != nil {
		b.Fatal(err)
	}
	return binary
}

// categorize gives the fleet n categories.
func (f bench) categorize(b *testing.B, n int) {
	b.Helper()
	config := fmt.Sprintf("fleet = \"bench\"\nstate = %q\n[tasks]\ndefault_category = \"c0\"\n[agent.fake]\ncommand = [\"true\"]\n", f.state())
	for i := range n {
		config += fmt.Sprintf("[category.c%d]\n", i)
	}
	f.write(b, "stint.toml", config)
}

// fillTasks writes n task files among so many categories, and the cache of a fire that
// has read them.
func (f bench) fillTasks(b *testing.B, n, categories int) {
	b.Helper()
	for i := range n {
		f.write(b, fmt.Sprintf("tasks/task-%06d.md", i), fmt.Sprintf(`---
state: %s
created: 2026-01-%02d
category: c%d
priority: high
tags: [docs, paper]
requires: [task-%06d]
next_action: "look at what the last one found"
---
# Task number %d

What is to be done, and why, in a paragraph or two that no ranking needs to see.
`, []string{"todo", "done", "backlog"}[i%3], 1+i%28, i%categories, max(0, i-1)/7, i))
	}
	f.fillCache(b)
}

func (f bench) cache() string { return filepath.Join(f.state(), task.CacheFile) }

// fillCache remembers the task files as if they had been there for an hour.
func (f bench) fillCache(b *testing.B) {
	b.Helper()
	folder := task.Folder{
		Dir:   filepath.Join(f.dir, "tasks"),
		Cache: task.Cache{Path: f.cache(), Writes: true, Now: func() time.Time { return time.Now().Add(time.Hour) }},
	}
	if _, _, err := folder.List(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(f.cache()); err != nil {
		b.Fatal(err)
	}
}

// selectUncached ranks with the cache put aside.
func (f bench) selectUncached(b *testing.B) time.Duration {
	b.Helper()
	aside := f.cache() + ".aside"
	if err := os.Rename(f.cache(), aside); err != nil {
		b.Fatal(err)
	}
	took := f.stint(b, 0, "select")
	if err := os.Rename(aside, f.cache()); err != nil {
		b.Fatal(err)
	}
	return took
}

// fillHistory stores so many runs that ended, a minute apart and three to a fire, with
// what they leave behind: lanes, claims that were given back, ten of each task, and what
// is remembered of the categories.
func (f bench) fillHistory(b *testing.B, runs, categories int) {
	b.Helper()
	f.execute(b, "pragma synchronous = off; begin; "+strings.NewReplacer(
		":runs", fmt.Sprint(runs),
		":fires", fmt.Sprint(runs/3),
		":keys", fmt.Sprint(runs/10),
		":categories", fmt.Sprint(categories),
		":start", fmt.Sprint(time.Now().Add(-time.Duration(runs+60)*time.Minute).UnixMilli()),
	).Replace(pastFires+pastRuns+pastLanes+pastClaims)+"commit")
	f.recordFire(b, categories)
	f.execute(b, fmt.Sprintf(`update arms set graded = %[1]d, sessions = %[1]d, entitled = %[1]d,
		fast_w = 30, fast_s = 18, fast_g2 = 12, slow_w = 90, slow_s = 54, slow_g2 = 36`, runs/categories))
}

const (
	pastFires = `insert into fires (id, at, seed, workers, inputs, selection, fallback)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < :fires)
		select i, :start + i * 180000, '1', 3, '{}', '{}', '' from n;
	`
	pastRuns = `insert into runs (id, fire, category, rank, source, lane, task, key, epoch, clock, created_at, started_at,
			ended_at, outcome, grade, reason)
		with recursive n(i) as (select 0 union all select i + 1 from n where i < :runs - 1)
		select printf('%016d', i), 1 + i / 3 % :fires, 'c' || i % :categories, 1 + i % 3, 'selected.category', 1,
			printf('task-%06d', i % :keys), printf('task-%06d', i % :keys), 1 + i / :keys, i / 3, :start + i * 60000,
			:start + i * 60000, :start + (i + 1) * 60000, 'productive', i % 100 / 100.0, 'it went as it should' from n;
	`
	pastLanes = `insert into lane_holds (run, category, lane, acquired_at, released_at)
		select id, category, lane, started_at, ended_at from runs;
	`
	pastClaims = `insert into claims (key, holder, epoch, acquired_at, expires_at, released_at, ending)
		select key, 'run:' || max(id), max(epoch), max(started_at), max(ended_at) + 1, max(ended_at), 'done'
		from runs group by key;
	`
)

// recordFire stores a fire that owes every category something, after which each is
// remembered.
func (f bench) recordFire(b *testing.B, categories int) {
	b.Helper()
	due := map[fleet.Category]float64{}
	for i := range categories {
		due[fleet.Category(fmt.Sprintf("c%d", i))] = 3 / float64(categories)
	}
	d := f.openStore(b)
	_, err := d.RecordFire(b.Context(), fleet.Fire{
		At: time.Now(), Seed: 1, Workers: 3, Inputs: []byte("{}"), Selection: []byte("{}"), Due: due,
	}, nil)
	if err := errors.Join(err, d.Close()); err != nil {
		b.Fatal(err)
	}
}
