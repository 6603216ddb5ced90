package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// testTwice makes each write twice, as a caller does who has not heard the first one's answer: the
// second changes nothing. Some are refused then, because there is nothing left to do.
func testTwice(t *testing.T, b bundle) {
	const id, task = fleet.RunID("0r1"), fleet.TaskID("fix")
	run := plannedRun(id)
	take := store.TakeRequest{Key: "hers", Holder: alice, Renews: true, TTL: time.Hour}
	known := func(b bundle) fleet.TaskMemory {
		for _, m := range b.mustSnapshot(t).Tasks {
			return m
		}
		return fleet.TaskMemory{}
	}
	answered := func(_ any, err error) error { return err }
	refused := []string{"AddRun"}
	var end, other fleet.Run
	for _, w := range []struct {
		name  string
		write func(b bundle) error
	}{
		{"Take", func(b bundle) error { _, _, err := b.Take(t.Context(), take); return err }},
		{"Renew", func(b bundle) error {
			return answered(b.Renew(t.Context(), store.Hold{Key: "hers", Holder: alice, Epoch: 1}, time.Hour))
		}},
		{"Release", func(b bundle) error {
			return answered(b.Release(t.Context(), store.Hold{Key: "hers", Holder: alice, Epoch: 1}, fleet.EndingDone, "why"))
		}},
		{"AddRun", func(b bundle) error { return b.AddRun(t.Context(), run) }},
		{"BeginRun", func(b bundle) error { return b.BeginRun(t.Context(), id, 7) }},
		{"LaneTaken", func(b bundle) error { _, _, err := b.LaneTaken(t.Context(), laneTake(id, "code", 1)); return err }},
		{"OnBranch", func(b bundle) error { return b.OnBranch(t.Context(), id, "work") }},
		{"TakeForRun", func(b bundle) error { _, _, err := b.TakeForRun(t.Context(), takeFor(id, task)); return err }},
		{"Complete", func(b bundle) error {
			end = graded(b.mustRun(t, id), 0.5)
			end.EndedAt = b.clock.Now()
			return b.Complete(t.Context(), end)
		}},
		{"ReleaseHolder", func(b bundle) error { return b.ReleaseHolder(t.Context(), id.Holder(), fleet.EndingDone) }},
		{"LaneReleased", func(b bundle) error { return b.LaneReleased(t.Context(), id) }},
		{"AddFates", func(b bundle) error {
			return answered(b.AddFates(t.Context(), []fleet.Fate{{Run: id, Kind: fleet.FateReverted, Witness: "a commit"}}))
		}},
		{"Respawn", func(b bundle) error {
			other = plannedRun("0r2")
			return func() error { _, _, err := b.Respawn(t.Context(), id, &other, "rest", store.Bounds{}); return err }()
		}},
		{"Abandon", func(b bundle) error {
			return answered(b.Abandon(t.Context(), "0r2", "found dead", fleet.Usage{}, time.Time{}))
		}},
		{"LeaveTask", func(b bundle) error {
			_, c, err := b.Take(t.Context(), store.TakeRequest{Key: task.Key(), Holder: bob, Renews: true, TTL: time.Hour})
			m := fleet.TaskMemory{Task: task, TaskLeft: fleet.TaskLeft{State: fleet.StateDone, Source: "tracker", Owed: "done"}}
			return errors.Join(err, b.LeaveTask(t.Context(), store.Hold{Key: c.Key, Holder: bob, Epoch: c.Epoch}, m))
		}},
		{"SeeTasks", func(b bundle) error {
			return b.SeeTasks(t.Context(), []store.TaskSight{{TaskMemory: known(b), Was: known(b).Seen}})
		}},
		{"Retry", func(b bundle) error { return answered(b.Retry(t.Context(), task)) }},
		{"SaveReview", func(b bundle) error {
			return b.SaveReview(t.Context(), fleet.Review{Run: id, Tip: "tip", Decision: fleet.DecisionRejected, Reason: "no", DecidedAt: b.clock.Now()})
		}},
		{"SaveFeedback", func(b bundle) error {
			return b.SaveFeedback(t.Context(), fleet.Feedback{Run: id, Task: task, Said: "again", At: b.clock.Now()})
		}},
		{"SeePlaces", func(b bundle) error {
			return b.SeePlaces(t.Context(), b.clock.Now(), []fleet.PlaceSight{{Run: id, State: fleet.PlaceOut}})
		}},
		{"ResetBudget", func(b bundle) error { return answered(b.ResetBudget(t.Context(), fleet.FleetScope, "why")) }},
		{"Pause", func(b bundle) error { return b.Pause(t.Context(), fleet.Pause{Category: "code", Reason: "why"}) }},
		{"Resume", func(b bundle) error { return answered(b.Resume(t.Context(), "")) }},
		{"GoAway", func(b bundle) error { return b.GoAway(t.Context(), fleet.Away{Reason: "why"}) }},
		{"ComeBack", func(b bundle) error { return answered(b.ComeBack(t.Context())) }},
	} {
		must(t, w.write(b))
		before := b.state(t)
		if err := w.write(b); err != nil && !slices.Contains(refused, w.name) {
			t.Errorf("%s again: %v", w.name, err)
		}
		same(t, w.name+" again", b.state(t), before)
	}
}

// state is what decisions are made by, and what is on record.
func (b bundle) state(t *testing.T) []any {
	t.Helper()
	runs, err := b.RunsSince(t.Context(), time.Time{})
	must(t, err)
	list, err := b.List(t.Context(), store.Listing{All: true})
	must(t, err)
	l, err := b.Ledger(t.Context())
	must(t, err)
	said, err := b.Feedback(t.Context())
	must(t, err)
	l.Resets = nil // of nothing, the second time
	return []any{b.mustSnapshot(t), runs, list, l, said}
}

// testText has an agent write what is no text: the end of its session is recorded all the same.
func testText(t *testing.T, b bundle) {
	for text, want := range map[string]string{
		"a\x00b": "a\uFFFDb", "a\xff\xfeb": "a\uFFFDb", "a\xc3": "a\uFFFD", "ä → 漢": "ä → 漢", "'; drop table runs; --": "'; drop table runs; --",
	} {
		b := b.fresh(t, bandit.Defaults())
		r := b.begun(t, "0r1")
		r.Verdict = fleet.Verdict{Outcome: fleet.Failed, Reason: text}
		must(t, b.Complete(t.Context(), r))
		stored := b.mustRun(t, "0r1")
		same(t, "reason", stored.Verdict.Reason, want)
		c := b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour, Note: text}, fleet.Granted)
		_, err := b.Release(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: c.Epoch}, fleet.EndingDone, text)
		must(t, err)
		c, _, err = b.check(t.Context(), "k")
		must(t, err)
		same(t, "note and reason", []string{c.Note, c.Reason}, []string{want, want})
	}
	// Keys are in the order of their bytes, whatever a language's order is.
	long := fleet.Key(strings.Repeat("k", 512))
	want := []fleet.Key{"B", "a", long, "~", "ä"}
	for _, key := range []fleet.Key{"ä", long, "a", "~", "B"} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: bob, TTL: time.Hour}, fleet.Granted)
	}
	list, err := b.List(t.Context(), store.Listing{})
	must(t, err)
	var got []fleet.Key
	for _, c := range list.Claims {
		got = append(got, c.Key)
	}
	same(t, "order", got, want)
}
