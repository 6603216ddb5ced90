package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// BenchmarkReview measures the list of the work that waits on so many branches, each of two
// commits to a file that the target has changed since. A few are measured beside a shell loop of
// git-cherry(1), which finds rebased work, but neither squashed work, nor sizes, nor conflicts;
// many beside a single git that knows work as merged by its commits only.
func BenchmarkReview(b *testing.B) {
	for n, rival := range map[int]string{
		100:    `git for-each-ref --format='%(refname)' refs/heads/stint | while read -r ref; do git cherry main "$ref"; done`,
		10_000: `git for-each-ref --no-merged=main refs/heads/stint`,
	} {
		f := newBench(b, "true")
		f.fillBranches(b, n, 0)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return f.stint(b, 0, "review") },
				func() time.Duration { return f.timed(b, 0, f.command("sh", "-c", rival)) },
			).report(b)
		})
	}
}

// BenchmarkWaiting measures a fire that only says what it would do where so many branches wait, beside one where a hundred do: all of
// them were looked at before.
func BenchmarkWaiting(b *testing.B) {
	waiting := func(n int) bench {
		f := newBench(b, "true")
		text := must.Get(os.ReadFile(filepath.Join(f.dir, "stint.toml")))(b)
		f.write(b, "stint.toml", string(text)+"workspace = \"clone\"\nself_directed = true\n[review]\nlimit = 0\nmax_age = \"0s\"\n")
		f.fillBranches(b, n, 100)
		return f
	}
	few := waiting(100)
	for _, n := range []int{100, 10_000} {
		many := waiting(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration { return many.stint(b, 0, "fanout", "--dry-run") },
				func() time.Duration { return few.stint(b, 0, "fanout", "--dry-run") },
			).report(b)
		})
	}
}

// fillBranches makes a target of 300 commits to a hundred files, and branches that left it at one of them, and change one of a hundred
// files: of those if first is 0.
func (f bench) fillBranches(b *testing.B, n, first int) {
	b.Helper()
	var s strings.Builder
	body := strings.Repeat("a line of the file\n", 200)
	mark := 0
	commit := func(ref string, from, file int, text string) int {
		mark++
		fmt.Fprintf(&s, "commit refs/heads/%s\nmark :%d\ncommitter a <a@b> %d +0000\ndata 1\nx\n", ref, mark, 1_700_000_000+mark)
		if from > 0 {
			fmt.Fprintf(&s, "from :%d\n", from)
		}
		fmt.Fprintf(&s, "M 644 inline d%d/f%d\ndata %d\n%s\n", file%10, file, len(text), text)
		return mark
	}
	tip := 0
	for i := range 300 {
		tip = commit("main", tip, i%100, fmt.Sprintf("target %d\n%s", i, body))
	}
	for i := range n {
		ref := "stint/bench/" + string(fleet.NewRunID(time.Unix(1_700_000_000, 0), uint32(i)))
		one := commit(ref, 100+i%200, first+i%100, fmt.Sprintf("%sbranch %d\n", body, i))
		commit(ref, one, first+i%100, fmt.Sprintf("%sbranch %d\nmore\n", body, i))
	}
	f.write(b, "import", s.String())
	for _, script := range []string{"git fast-import --quiet <import", "git symbolic-ref HEAD refs/heads/main", "git pack-refs --all"} {
		f.timed(b, 0, f.command("sh", "-c", script))
	}
}
