package engine_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/survey"
	"stint/internal/testkit/must"
)

// dated are tasks that all changed when the test says, as files have the real time.
type dated struct {
	survey.Tasks
	at   time.Time
	seen string
}

func (d *dated) List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	tasks, problems, err := d.Tasks.List(ctx)
	for i := range tasks {
		tasks[i].Modified, tasks[i].Seen = d.at, tasks[i].Seen+d.seen
	}
	return tasks, problems, err
}

// reason says why a fire now would leave a category out; empty: it would not.
func (b *bench) reason(c fleet.Category) string {
	b.Helper()
	s := must.Get(b.explain().Select(b.Context(), inspect.SelectOptions{}))(b)
	for _, score := range s.Scores {
		if score.Category == c {
			return score.Out
		}
	}
	b.Fatalf("category %s is not in the ranking", c)
	return ""
}

// TestCooldown has every kind of session rest its category, and nothing else.
func TestCooldown(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n[category.docs]\ncooldown = \"10m\"\n[category.triage]\n")
	b.addTask("a-code", "code", fleet.StateTodo)
	b.addTask("a-docs", "docs", fleet.StateTodo)
	ended := b.clock()
	b.Runner = says(`{"outcome":"nothing"}`) // no grade, and a session all the same
	must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
	r, lock := b.dead("docs", "a-docs")
	b.closeAll(lock)
	b.reap() // ends now, too
	if got := b.stored(r.ID).EndedAt; !got.Equal(ended) {
		t.Fatalf("reaped at %v", got)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "triage"}); outcome(err) != fleet.Idle {
		t.Fatal(err) // and this came to no session
	}
	b.addTask("a-triage", "triage", fleet.StateTodo) // is new, and ends the back-off
	for _, tt := range []struct {
		after      time.Duration
		code, docs bool
	}{
		{0, true, true},
		{3*time.Minute - time.Millisecond, true, true},
		{time.Millisecond, false, true},
		{7*time.Minute - time.Millisecond, false, true},
		{time.Millisecond, false, false},
	} {
		b.later(tt.after)
		for c, rests := range map[fleet.Category]bool{"code": tt.code, "docs": tt.docs, "triage": false} {
			if reason := b.reason(c); strings.HasPrefix(reason, "cooldown until 2026-06-01T12:") != rests {
				t.Errorf("%s later, %s is left out because %q; want it to rest: %t", b.clock().Sub(ended), c, reason, rests)
			}
		}
	}
}

// TestBackoffDoubles fires a category whose sessions do nothing, and counts the fires
// that leave it out: 2ⁿ-1, for the first that may start it is 2ⁿ after the one before.
func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\ncooldown = \"0s\"\n")
	b.addTask("fix", "code", fleet.StateActive)
	tasks := &dated{Tasks: b.Tasks, at: b.clock()}
	b.Tasks = tasks
	var left []int
	for skipped := 0; len(left) < 8; {
		r, err := b.fire(engine.FanoutOptions{})
		if errors.Is(err, fleet.ErrNothing) {
			skipped++
			continue
		}
		must.Do(t, err)
		must.Get(b.Run(t.Context(), engine.RunOptions{Run: b.runOf(r, "code")}))(t)
		left, skipped = append(left, skipped), 0
	}
	must.Equal(t, "fires that left it out", left, []int{0, 1, 3, 7, 15, 31, 63, 63})
	b.wantsGrades("code", 8)

	// A change as old as the back-off is no news; a newer one is, and ends the rest of a task that
	// changed.
	if got := b.reason("code"); !strings.HasPrefix(got, `every workable task rests, "fix" for 63 more fires of its pool: its last 8 sessions brought nothing`) {
		t.Errorf("left out because %q", got)
	}
	tasks.seen = "changed"
	if got := b.reason("code"); !strings.HasPrefix(got, "backs off for 63 more fires of its pool, ") || !strings.HasSuffix(got, ": its sessions brought nothing, 8 times") {
		t.Errorf("left out because %q", got)
	}
	tasks.at = b.clock().Add(time.Millisecond)
	if got := b.reason("code"); got == "" {
		t.Error("a time that is to come ends the back-off")
	}
	b.later(time.Millisecond)
	if got := b.reason("code"); got != "" {
		t.Errorf("a changed task leaves it out: %q", got)
	}
}

// TestPauses has a category and the whole fleet paused, until a time and for good.
func TestPauses(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	for _, c := range b.Config.CategoryNames() {
		b.addTask("a-"+string(c), c, fleet.StateTodo)
	}
	pause := func(p fleet.Pause) {
		t.Helper()
		must.Do(t, b.db.Pause(t.Context(), p))
	}
	wants := func(code, docs string) {
		t.Helper()
		must.Equal(t, "left out because", []string{b.reason("code"), b.reason("docs")}, []string{code, docs})
	}
	pause(fleet.Pause{Category: "code", Reason: "flaky", Until: b.clock().Add(time.Hour)})
	wants("paused: flaky (until 2026-06-01T13:00:00Z)", "")
	pause(fleet.Pause{Reason: "holiday"})
	wants("paused: the whole fleet, holiday", "paused: the whole fleet, holiday")
	if _, err := b.fire(engine.FanoutOptions{}); !errors.Is(err, fleet.ErrNothing) {
		t.Errorf("a paused fleet fires: %v", err)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil {
		t.Errorf("by hand: %v", err)
	}
	if ended, err := b.db.Resume(t.Context(), ""); err != nil || len(ended) == 0 {
		t.Errorf("resume: %q, %v", ended, err)
	}
	wants("paused: flaky (until 2026-06-01T13:00:00Z)", "")
	b.later(time.Hour)
	wants("", "")
}

// TestLessonsOnRecord has an agent whose grade is 1 with the lesson and 0 without: what
// is on record must be what stood in the prompts.
func TestLessonsOnRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n")
	b.Withhold = 0.5
	b.addTask("fix", "code", fleet.StateActive)
	lessons := b.Config.Lessons.Dir
	must.Do(t, os.Mkdir(lessons, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(lessons, "measure.md"), []byte("---\n---\nMeasure first.\n"), 0o600))
	given := 0
	b.Runner = agent(func(_ context.Context, s fleet.SessionSpec) fleet.SessionExit {
		grade := "0"
		if strings.Contains(s.Prompt, "Measure first.") {
			given++
			grade = "1"
		}
		return fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"grade":` + grade + `}`)}
	})
	const sessions = 40
	for range sessions {
		b.later(time.Second)
		must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
	}
	effects, err := b.LessonEffects(t.Context())
	if err != nil || len(effects) != 1 {
		t.Fatalf("effects: %+v, %v", effects, err)
	}
	if e := effects[0]; e.With.Graded != given || e.Without.Graded != sessions-given || given == 0 || given == sessions || e.Effect.Raw != 1 || !e.Active {
		t.Errorf("%d of %d had it, on record: %+v", given, sessions, e)
	}
}

// TestOddsAddUp has more categories than workers.
func TestOddsAddUp(t *testing.T) {
	t.Parallel()
	b := newBench(t, sixCategories)
	for _, c := range b.Config.CategoryNames() {
		b.addTask("a-"+string(c), c, fleet.StateTodo)
	}
	r := must.Get(b.fire(engine.FanoutOptions{Workers: 2}))(t)
	odds, due := 0.0, 0.0
	for _, c := range r.Choices {
		if c.Odds == nil || *c.Odds <= 0 || *c.Odds >= 1 {
			t.Fatalf("odds of %s: %v, want a chance", c.Category, c.Odds)
		}
		odds += *c.Odds
		due += b.arm(c.Category).Entitled
	}
	if math.Abs(odds-2) > 1e-9 || math.Abs(due-2) > 1e-9 {
		t.Errorf("odds add up to %v, entitlement to %v; want 2", odds, due)
	}
}

// stopping is a selector during which the fire is asked to stop.
type stopping context.CancelFunc

func (s stopping) Ask(ctx context.Context, _ []byte, _ ...string) ([]byte, error) {
	s()
	return nil, ctx.Err()
}

func TestFireToldToStopWhileAnotherSelectorRanks(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	ctx, cancel := context.WithCancel(t.Context())
	b.Ranker = stopping(cancel)
	if _, err := b.Fanout(ctx, engine.FanoutOptions{Workers: 1, Units: starter{}, Binary: "/b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want it stopped", err)
	}
	if fires, err := b.db.LastFires(t.Context(), store.FireQuery{Limit: 9}); err != nil || len(fires) != 0 {
		t.Errorf("fires on record: %+v, %v", fires, err)
	}
}
