package engine_test

import (
	"context"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// waiting are gates of which those with a reason are closed.
type waiting map[fleet.Category]string

func (w waiting) Full(context.Context) (full map[fleet.Category]string, failed map[fleet.Category]error) {
	return w, nil
}

// TestStatusTellsWhatHoldsNow has a fire of each pool find some categories closed and paused,
// and then another state of things: the status shows nothing that is over as if it held, and
// shows answers that it did not ask for again as the fire's.
func TestStatusTellsWhatHoldsNow(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[pool.monitoring]\n[category.code]\n[category.docs]\n[category.triage]\nself_directed = true\n"+
		"[category.ops]\npool = \"monitoring\"\nself_directed = true\n[category.alerts]\npool = \"monitoring\"\nself_directed = true\n")
	b.addTask("a-docs", "docs", fleet.StateTodo)
	bars := func() map[fleet.Category]string {
		t.Helper()
		s := must.Get(b.explain().Status(t.Context(), inspect.StatusOptions{Fires: 2}))(t)
		got := map[fleet.Category]string{}
		for c, g := range s.Bars {
			got[c] = g.String()
		}
		for _, g := range s.Closed {
			if g.Category != "" && got[g.Category] != g.String() {
				t.Errorf("got %s closed by %q and barred by %q", g.Category, g, got[g.Category])
			}
		}
		return got
	}
	check := func(when string, want map[fleet.Category]string) {
		t.Helper()
		must.Equal(t, when, bars(), want)
	}
	pause := func(c fleet.Category) {
		t.Helper()
		must.Do(t, b.db.Pause(t.Context(), fleet.Pause{Category: c, Reason: "bob", Until: b.clock().Add(30 * time.Second)}))
	}
	b.Gates = waiting{"docs": "5 results wait", "alerts": "2 results wait"}
	pause("triage")
	pause("alerts")
	if _, err := b.fire(engine.FanoutOptions{}); err == nil {
		t.Fatal("want nothing started: everything is out")
	}
	if _, err := b.fire(engine.FanoutOptions{Pool: "monitoring", Workers: 1}); err != nil {
		t.Fatal(err) // ops
	}
	check("now", map[fleet.Category]string{
		"code": "no workable task, as fire 1 found", "docs": "5 results wait, as fire 1 found",
		"triage": "paused: bob (until 2026-06-01T12:00:30Z)", "alerts": "paused: bob (until 2026-06-01T12:00:30Z)",
		"ops": bars()["ops"], // its lane is taken
	})
	b.later(30 * time.Second)
	pause("docs")
	check("after the pauses", map[fleet.Category]string{
		"code": "no workable task, as fire 1 found", "docs": "paused: bob (until 2026-06-01T12:01:00Z)", "ops": bars()["ops"],
	})
	b.later(time.Hour) // ops never began
	check("an hour later", map[fleet.Category]string{"code": "no workable task, as fire 1 found", "docs": "5 results wait, as fire 1 found"})
	b.Gates = waiting{}
	must.Get(b.fire(engine.FanoutOptions{}))(t)
	got := bars()
	if got["code"] != "no workable task, as fire 3 found" || got["docs"] == "5 results wait, as fire 1 found" {
		t.Errorf("after the next fire: got %v", got)
	}
}

// endsInLook is a store whose run ends right after the first snapshot was taken.
type endsInLook struct {
	store.Store
	end func()
}

func (s *endsInLook) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snapshot, err := s.Store.Snapshot(ctx)
	if s.end != nil {
		s.end()
		s.end = nil
	}
	return snapshot, err
}

// TestRunEndsInALook: a look sees a run before its end or after it, with its grade, and never as
// one that crashed.
func TestRunEndsInALook(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	r, lock := b.dead("code", "fix")
	b.Store = &endsInLook{Store: b.db, end: func() {
		end := b.stored(r.ID)
		end.EndedAt, end.Verdict = b.clock(), fleet.Verdict{Outcome: fleet.Productive, Grade: new(0.5), Reason: "well"}
		if err := b.db.Complete(t.Context(), end); err != nil {
			t.Error(err)
		}
		b.closeAll(lock)
	}}
	st := must.Get(b.explain().Status(t.Context(), inspect.StatusOptions{}))(t)
	graded := 0
	for _, belief := range st.Beliefs {
		graded += belief.Graded
	}
	if len(st.Open) != 0 || len(st.Claims) != 0 || graded != 1 {
		t.Errorf("got %d open runs, %d claims and %d grades, want the one grade alone", len(st.Open), len(st.Claims), graded)
	}
}
