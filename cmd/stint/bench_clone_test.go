package main

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
	"stint/internal/workspace"
)

// BenchmarkClone makes a session's own clone of 20,000 files beside "git worktree add".
func BenchmarkClone(b *testing.B) {
	f := newBench(b, "true")
	for i := range 20_000 {
		f.write(b, fmt.Sprintf("d%d/f%d", i/100, i), fmt.Sprintf("file %d\n", i))
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		f.timed(b, 0, f.command("git", args...))
	}
	c := workspace.Clone{
		Dir: workspace.Folder(f.dir), Fleet: "bench", Root: b.TempDir(), Environment: f.command("git").Env, Found: &sync.Map{},
	}
	n := uint32(0)
	measure(b,
		func() time.Duration {
			n++
			run, began := fleet.NewRunID(time.Unix(1_700_000_000, 0), n), time.Now()
			w := must.Get(c.Open(b.Context(), run, filepath.Join(c.Root, string(run))))(b)
			took := time.Since(began)
			must.Get(c.Close(b.Context(), w))(b)
			return took
		},
		func() time.Duration {
			dir := filepath.Join(c.Root, "worktree")
			took := f.timed(b, 0, f.command("git", "worktree", "add", "-q", "--detach", dir))
			f.timed(b, 0, f.command("git", "worktree", "remove", dir))
			return took
		},
	).report(b)
}
