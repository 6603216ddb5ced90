package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// anyRecord is one that any past could leave, however odd.
func anyRecord(t *rapid.T) Record {
	r := Record{
		Shares: map[fleet.Category]float64{}, Entitled: map[fleet.Category]float64{},
		Fallbacks: rapid.IntRange(0, 2).Draw(t, "fallbacks"),
	}
	names := []fleet.Category{"a", "b", "c"}
	for _, c := range names {
		if rapid.IntRange(0, 3).Draw(t, "allowed") > 0 {
			r.Shares[c] = rapid.Float64Range(0.01, 0.9).Draw(t, "share")
		}
		r.Entitled[c] = rapid.SampledFrom([]float64{0, 0.4, 9.96, 10.4, rapid.Float64Range(0, 60).Draw(t, "any")}).Draw(t, "entitled")
	}
	for range rapid.IntRange(0, 8).Draw(t, "tallies") {
		n := fleet.Tally{
			Category: rapid.SampledFrom(names).Draw(t, "category"), Runs: rapid.IntRange(1, 30).Draw(t, "runs"),
			Outcome: rapid.SampledFrom(append(fleet.Outcomes(), "", fleet.Noop, fleet.Busy)).Draw(t, "outcome"),
			Claimed: rapid.Bool().Draw(t, "claimed"), Fired: rapid.Bool().Draw(t, "fired"),
			Source: rapid.SampledFrom([]fleet.Source{fleet.FromSelected, fleet.FromAllowList}).Draw(t, "source"),
			Agent:  rapid.SampledFrom([]string{"", "claude", "codex"}).Draw(t, "agent"),
		}
		if n.Outcome == fleet.Noop {
			n.Empty = n.Runs
		}
		r.Tallies = append(r.Tallies, n)
	}
	for i := range rapid.IntRange(0, 7).Draw(t, "changes") {
		r.GradeChanges = append(r.GradeChanges, fleet.GradeChange{
			Run: fleet.RunID(fmt.Sprintf("r%d", i)), Fire: fleet.FireID(rapid.IntRange(0, 3).Draw(t, "fire")),
			Category: rapid.SampledFrom(names).Draw(t, "changed"), Was: rapid.Float64Range(0, 1).Draw(t, "was"), Became: rapid.Float64Range(0, 1).Draw(t, "became"),
		})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "holds") {
		r.Holds.Add(fleet.LaneHold{
			Run: fleet.RunID(fmt.Sprintf("r%d", i)), Category: "a", Lane: 1,
			AcquiredAt: start.Add(time.Duration(i) * time.Hour), ReleasedAt: start.Add(time.Duration(i)*time.Hour + 90*time.Minute),
		})
	}
	return r
}

// sum counts the runs of tallies.
func sum(tallies []fleet.Tally, counts func(fleet.Tally) bool) (n int) {
	for _, t := range tallies {
		if counts(t) {
			n += t.Runs
		}
	}
	return n
}

// TestFindingsAreTrue reads the numbers back from what is found in any record, works each
// out again from the tallies, and expects each sentence exactly where its condition holds.
func TestFindingsAreTrue(t *testing.T) {
	t.Parallel()
	patterns := map[FindingKind]*regexp.Regexp{
		FoundViolation:     regexp.MustCompile(`^a lane was held by two runs at once, (\d+) times?: first (\S+)\.(\d+), by (\S+) and (\S+) \(stint audit\)$`),
		FoundFruitless:     regexp.MustCompile(`^(\S+) never gets to work: all (\d+) runs ended busy, denied or idle$`),
		FoundAgent:         regexp.MustCompile(`^most sessions of agent (\S+) failed: (\d+) of (\d+) \(stint doctor\)$`),
		FoundNeglected:     regexp.MustCompile(`^(\S+) is neglected: (\d+) sessions?, which is (.+ %) of all, where fires entitled it to (\S+); (\d+) of (\d+) spawned workers were for it$`),
		FoundOverAllocated: regexp.MustCompile(`^(\S+) is over-allocated: (\d+) sessions?, which is (.+ %) of all, where fires entitled it to (\S+)$`),
		FoundNoops:         regexp.MustCompile(`^(?:(.+ %) of the runs did nothing: (\d+) of (\d+)|most sessions of (\S+) brought nothing: (\d+) of (\d+) \(stint why \S\))$`),
		FoundFailing:       regexp.MustCompile(`^most sessions of (\S+) failed: (\d+) of (\d+) \(stint why \S\)$`),
		FoundChange: regexp.MustCompile(`^the grades of (?:(\S+) changed: its mean was believed to be (\S+) and has been believed to be (\S+) since run (\S+), (?:of fire )?(.+); what was learnt before is forgotten|` +
			`categories changed (\d+) more times \(stint why CATEGORY\))$`),
		FoundFallback:  regexp.MustCompile(`^the external selector failed in (\d+) fires?: stint's own ranking was followed$`),
		FoundSafetyNet: regexp.MustCompile(`^a payload named no usable category: (\d+) runs? came of the allow-list$`),
	}
	rapid.Check(t, func(t *rapid.T) {
		r, settings := anyRecord(t), rank.Defaults()
		settings.V = rapid.Float64Range(1, 40).Draw(t, "v")
		p := New(r, Options{Settings: settings, To: start.Add(24 * time.Hour), From: start})
		got := map[FindingKind][][]string{}
		for _, f := range p.Findings {
			said := patterns[f.Kind].FindStringSubmatch(f.Text)
			if said == nil {
				t.Fatalf("cannot read %q", f.Text)
			}
			got[f.Kind] = append(got[f.Kind], said[1:])
		}
		want := map[FindingKind][][]string{}
		say := func(k FindingKind, numbers ...any) {
			want[k] = append(want[k], strings.Split(strings.TrimSuffix(fmt.Sprintln(numbers...), "\n"), " | "))
		}
		all := sum(r.Tallies, func(n fleet.Tally) bool { return n.Claimed })
		spawned := sum(r.Tallies, func(n fleet.Tally) bool { return n.Fired })
		ended := sum(r.Tallies, func(n fleet.Tally) bool { return n.Outcome != "" })
		empty := sum(r.Tallies, func(n fleet.Tally) bool { return n.Outcome == fleet.Noop })
		if n := r.Holds.count; n > 1 {
			say(FoundViolation, fmt.Sprintf("%d | a | 1 | r0 | r1", n-1))
		}
		for _, c := range []fleet.Category{"a", "b", "c"} {
			of := func(also func(fleet.Tally) bool) int {
				return sum(r.Tallies, func(n fleet.Tally) bool { return n.Category == c && also(n) })
			}
			vain := of(func(n fleet.Tally) bool {
				return slices.Contains([]fleet.Outcome{fleet.Busy, fleet.RunDenied, fleet.Idle}, n.Outcome)
			})
			if vain >= 5 && vain == of(func(fleet.Tally) bool { return true }) {
				say(FoundFruitless, fmt.Sprintf("%s | %d", c, vain))
			}
			ends := func(outcomes ...fleet.Outcome) int {
				return of(func(n fleet.Tally) bool { return slices.Contains(outcomes, n.Outcome) })
			}
			failed, worked := ends(fleet.Failed, fleet.Timeout, fleet.Abandoned), ends(fleet.Productive, fleet.Noop, fleet.Nothing)
			if noops := ends(fleet.Noop); failed+worked >= 5 && failed > worked {
				say(FoundFailing, fmt.Sprintf("%s | %d | %d", c, failed, failed+worked))
			} else if failed+worked >= 5 && noops > failed+worked-noops {
				say(FoundNoops, fmt.Sprintf(" |  |  | %s | %d | %d", c, noops, failed+worked))
			}
			n := of(func(n fleet.Tally) bool { return n.Claimed })
			part := 0.0
			if all > 0 {
				part = float64(n) / float64(all)
			}
			leeway, facts := max(settings.V, 4)/2, fmt.Sprintf("%s | %d | %s | %.1f", c, n, Percent(part), r.Entitled[c])
			if r.Shares[c] > 0 && float64(n) < 0.5*r.Entitled[c]-leeway {
				say(FoundNeglected, fmt.Sprintf("%s | %d | %d", facts, of(func(n fleet.Tally) bool { return n.Fired }), spawned))
			}
			if r.Shares[c] > 0 && r.Entitled[c] > 0 && float64(n) > 1.8*r.Entitled[c]+leeway {
				say(FoundOverAllocated, facts)
			}
		}
		for _, agent := range []string{"claude", "codex"} {
			of := func(outcomes ...fleet.Outcome) int {
				return sum(r.Tallies, func(n fleet.Tally) bool { return n.Agent == agent && slices.Contains(outcomes, n.Outcome) })
			}
			bad := of(fleet.Failed, fleet.Timeout, fleet.Abandoned) + sum(r.Tallies, func(n fleet.Tally) bool {
				return n.Agent == agent && n.Outcome == fleet.Unavailable && n.Claimed
			})
			if n := bad + of(fleet.Productive, fleet.Noop, fleet.Nothing); n >= 5 && bad > n-bad {
				say(FoundAgent, fmt.Sprintf("%s | %d | %d", agent, bad, n))
			}
		}
		if len(want[FoundNoops]) == 0 && ended >= 5 && float64(empty) > 0.2*float64(ended) {
			say(FoundNoops, fmt.Sprintf("%s | %d | %d |  |  | ", Percent(float64(empty)/float64(ended)), empty, ended))
		}
		for i, x := range r.GradeChanges {
			if by := fmt.Sprint(x.Fire); i < 5 {
				if x.Fire == 0 {
					by = "run by hand"
				}
				say(FoundChange, fmt.Sprintf("%s | %.3f | %.3f | %s | %s | ", x.Category, x.Was, x.Became, x.Run, by))
			}
		}
		if n := len(r.GradeChanges) - 5; n > 0 {
			say(FoundChange, fmt.Sprintf(" |  |  |  |  | %d", n))
		}
		if r.Fallbacks > 0 {
			say(FoundFallback, r.Fallbacks)
		}
		if n := sum(r.Tallies, func(n fleet.Tally) bool { return n.Source == fleet.FromAllowList }); n > 0 {
			say(FoundSafetyNet, n)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("said (-said +true):\n%s", diff)
		}
	})
}

// TestStuckCategories has tasks that a person holds, by the word of whoever, beside others.
func TestStuckCategories(t *testing.T) {
	t.Parallel()
	task := func(c fleet.Category, s fleet.TaskState, waits string) fleet.Task {
		return fleet.Task{Category: c, State: s, WaitingFor: waits}
	}
	got := StuckCategories([]fleet.Task{
		task("one", fleet.StateWaiting, ""), task("one", fleet.StateDone, ""),
		task("two", fleet.StateTodo, "the vendor"), task("two", fleet.StateActive, "a person: why"), task("two", fleet.StateReview, ""),
		task("moves", fleet.StateWaiting, ""), task("moves", fleet.StateTodo, ""),
		task("done", fleet.StateDone, "the vendor"), task("review", fleet.StateReview, ""),
	})
	var said []string
	for _, s := range got {
		said = append(said, s.Why())
	}
	want := []string{"the only open task of one waits for a person", "all 2 open tasks of two wait for a person"}
	if !slices.Equal(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}
