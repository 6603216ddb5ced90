package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
)

// TestSpending splits what was used by every choice of keys: no part twice, and the parts
// add up to all.
func TestSpending(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	second := first.AddDate(0, 0, 1)
	tallies := []fleet.Tally{
		{From: first, Category: "code", Agent: "claude", Outcome: fleet.Productive, Runs: 3, Claimed: true, Tokens: 300, USD: 1.5},
		{From: first, Category: "code", Agent: "claude", Outcome: fleet.Failed, Runs: 1, Claimed: true, Tokens: 50, USD: 0.25, Guessed: 0.25},
		{From: first, Category: "docs", Agent: "codex", Outcome: fleet.Noop, Runs: 2, Claimed: true, Tokens: 20},
		{From: second, Category: "docs", Agent: "claude", Outcome: fleet.Productive, Runs: 1, Claimed: true, Tokens: 7, USD: 0.5},
		{From: second, Category: "docs", Outcome: fleet.Idle, Runs: 4},
	}
	for by, want := range map[string][]string{
		"day":          {"2026-06-01 6 370 1.75", "2026-06-02 5 7 0.50"},
		"agent":        {" 4 0 0.00", "claude 5 357 2.25", "codex 2 20 0.00"},
		"category":     {"code 4 350 1.75", "docs 7 27 0.50"},
		"agent day":    {" 2026-06-02 4 0 0.00", "claude 2026-06-01 4 350 1.75", "claude 2026-06-02 1 7 0.50", "codex 2026-06-01 2 20 0.00"},
		"day category": {"2026-06-01 code 4 350 1.75", "2026-06-01 docs 2 20 0.00", "2026-06-02 docs 5 7 0.50"},
	} {
		var keys []Key
		for _, word := range strings.Fields(by) {
			keys = append(keys, Key(word))
		}
		s := NewSpending(tallies, first, second.AddDate(0, 0, 1), keys)
		var got []string
		runs, usd := 0, 0.0
		for _, p := range s.Parts {
			line := ""
			for _, k := range keys {
				line += p.Text(k) + " "
			}
			got = append(got, line+fmt.Sprintf("%d %d %.2f", p.Runs, p.Tokens, p.USD))
			runs, usd = runs+p.Runs, usd+p.USD
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("by %s (-got +want):\n%s", by, diff)
		}
		if runs != s.All.Runs || runs != 11 || math.Abs(usd-s.All.USD) > 1e-9 {
			t.Errorf("by %s: parts add up to %d runs and %g USD, all are %d and %g; want 11 runs", by, runs, usd, s.All.Runs, s.All.USD)
		}
	}
}
