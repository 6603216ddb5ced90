package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// BenchmarkSelectCategories measures "stint select" beside a Go program that does nothing,
// whose time is the floor of any process here.
func BenchmarkSelectCategories(b *testing.B) {
	empty := emptyProgram(b)
	for _, n := range []int{10, 1_000} {
		f := newBench(b, "true")
		f.categorize(b, n)
		f.fillTasks(b, 1_000, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) { f.besideNothing(b, empty, "select") })
	}
}

// BenchmarkSelectTasks measures the same at 20 categories and more and more task files.
func BenchmarkSelectTasks(b *testing.B) {
	empty := emptyProgram(b)
	for _, n := range []int{10, 1_000, 10_000} {
		f := newBench(b, "true")
		f.categorize(b, 20)
		f.fillTasks(b, n, 20)
		b.Run(fmt.Sprint(n), func(b *testing.B) { f.besideNothing(b, empty, "select") })
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
			many.beside(b, few, "select")
		})
	}
}

// besideNothing measures a command beside a program that does nothing.
func (f bench) besideNothing(b *testing.B, empty string, args ...string) {
	b.Helper()
	measure(b,
		func() time.Duration { return f.stint(b, 0, args...) },
		func() time.Duration { return f.timed(b, 0, f.command(empty)) },
	).report(b)
}

// emptyProgram builds a program that does nothing.
func emptyProgram(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	source, binary := filepath.Join(dir, "empty.go"), filepath.Join(dir, "empty")
	must.Do(b, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	must.Do(b, command("go", "build", "-o", binary, source))
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

// fillTasks writes n task files among so many categories, .
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
}
