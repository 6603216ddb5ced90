package main

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	"stint/internal/testkit/must"
)

// TestOutcomesAreAsKept plays the first runs of every scenario and problem: a change of the ranking
// that was to change nothing shows. Another processor rounds some of the worlds' numbers otherwise.
func TestOutcomesAreAsKept(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skipf("kept on amd64, not %s", runtime.GOARCH)
	}
	kept := must.Get(readOutcomes(keptOutcomes))(t)
	b := &bench{ctx: t.Context(), runs: 2, seed: keptSeed, out: io.Discard, kept: &outcomes{}}
	must.Do(t, b.all())
	if got, want := len(b.kept.list), len(kept.list); got != want {
		t.Fatalf("got %d series, and %d are kept", got, want)
	}
	wrong := 0
	for i, now := range b.kept.list {
		was := kept.list[i]
		if len(was.values) != keptRuns {
			t.Fatalf("%s: got %d runs, want %d", was.key, len(was.values), keptRuns)
		}
		was.values = was.values[:b.runs]
		if !bytes.Equal(now.line(), was.line()) {
			if wrong++; wrong <= 10 {
				t.Errorf("got\n%swant\n%s", now.line(), was.line())
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d series are not as kept: scripts/bench-selection -beside compares all runs", wrong, len(kept.list))
	}
}
