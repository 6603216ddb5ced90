package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestFiresKeepToSlots draws fleets of several agents and fires again and again, so that
// what an earlier fire planned still waits to begin: no agent ever has more open runs than
// slots, nothing is skipped for slots while one of its agents has one, the dry run says the
// same, and each fire replays to the same.
func TestFiresKeepToSlots(t *testing.T) {
	t.Parallel()
	categories := []fleet.Category{"a", "b", "c", "d", "e"}
	agents := []string{"fake", "other", "third"}
	rapid.Check(t, func(rt *rapid.T) {
		slots := map[string]int{}
		var text strings.Builder
		for _, a := range agents {
			slots[a] = rapid.IntRange(0, 2).Draw(rt, "slots")
			if a != "fake" { // the bench has begun its table
				fmt.Fprintf(&text, "[agent.%s]\ncommand = [%q]\n", a, a)
			}
			fmt.Fprintf(&text, "slots = %d\n", slots[a])
		}
		of := map[fleet.Category][]string{}
		fmt.Fprintf(&text, "[fanout]\nslots = %d\n", rapid.IntRange(3, 12).Draw(rt, "fleet's slots"))
		for _, c := range categories {
			of[c] = rapid.SliceOfNDistinct(rapid.SampledFrom(agents), 1, 3, rapid.ID[string]).Draw(rt, "agents")
			fmt.Fprintf(&text, "[category.%s]\nself_directed = true\nlanes = 3\nagents = [\"%s\"]\n", c, strings.Join(of[c], `", "`))
		}
		b := newBench(t, text.String())
		for range 3 {
			before := b.openOf()
			seed, workers := rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(1, 5).Draw(rt, "workers")
			dry, _ := b.fire(engine.FanoutOptions{Seed: &seed, Workers: workers, DryRun: true})
			r, err := b.fire(engine.FanoutOptions{Seed: &seed, Workers: workers})
			if err != nil && !errors.Is(err, fleet.ErrNothing) {
				rt.Fatal(err)
			}
			left := func(a string) int { return slots[a] - before[a] }
			for i, c := range r.Choices {
				if d := dry.Choices[i]; d.Decision != c.Decision || d.Agent != c.Agent || d.Reason != c.Reason {
					rt.Errorf("got %+v, and in the dry run %+v", c, d)
				}
				switch {
				case c.Decision == fleet.Spawn:
					if got := b.stored(c.Run).Agent; got != c.Agent {
						rt.Errorf("%s: got agent %q on record, want %q", c.Category, got, c.Agent)
					}
					before[c.Agent]++
				case strings.Contains(c.Reason, "slots are in use or taken by this fire"):
					for _, a := range of[c.Category] {
						if slots[a] == 0 || left(a) > 0 {
							rt.Errorf("%s: got %q, with a slot of %s left", c.Category, c.Reason, a)
						}
					}
				}
			}
			for a, n := range b.openOf() {
				if slots[a] > 0 && n > slots[a] {
					rt.Errorf("got %d open runs of %s with %d slots", n, a, slots[a])
				}
			}
			wantIdentical(t, b, r.ID)
		}
	})
}

// openOf counts the open runs of each agent.
func (b *bench) openOf() map[string]int {
	b.Helper()
	s := must.Get(b.db.Snapshot(b.Context()))(b)
	open := map[string]int{}
	for _, r := range s.Open {
		open[r.Agent]++
	}
	return open
}
