package storetest

import (
	"testing"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// sums are those of grades of weight 1 each.
func sums(grades ...float64) (s rank.Sums) {
	for _, g := range grades {
		s.W, s.S, s.G2 = s.W+1, s.S+g, s.G2+g*g
	}
	return s
}

// tried are the graded sessions of one arm of a trial.
func tried(grades ...float64) rank.Tried {
	return rank.Tried{Sums: sums(grades...), Graded: len(grades)}
}

func (contract) Lessons(t *testing.T, b bundle) {
	with := func(id fleet.LessonID) fleet.LessonUse { return fleet.LessonUse{Lesson: id, Injected: true} }
	without := func(id fleet.LessonID) fleet.LessonUse { return fleet.LessonUse{Lesson: id} }
	r := b.begun(t, "0r1", with("a"), without("b"))
	same(t, "before the grade", b.mustSnapshot(t).Lessons, []store.Lesson(nil))
	must.Do(t, b.Complete(t.Context(), graded(r, 0.5)))
	want := []store.Lesson{
		{ID: "a", Category: "code", Trial: rank.Trial{With: tried(0.5)}, Exposure: 1},
		{ID: "b", Category: "code", Trial: rank.Trial{Without: tried(0.5)}},
	}
	same(t, "after one grade", b.mustSnapshot(t).Lessons, want)
	must.Do(t, b.Complete(t.Context(), graded(r, 0.5)))
	same(t, "after the same grade", b.mustSnapshot(t).Lessons, want)

	// The second of the sessions behind the belief moves a mean by half the way.
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r2", with("b"), with("c")), 1)))
	want = []store.Lesson{
		{ID: "a", Category: "code", Trial: rank.Trial{With: tried(0.5)}, Exposure: 0.5},
		{ID: "b", Category: "code", Trial: rank.Trial{With: tried(1), Without: tried(0.5)}, Exposure: 0.5},
		{ID: "c", Category: "code", Trial: rank.Trial{With: tried(1)}, Exposure: 0.5},
	}
	same(t, "after two grades", b.mustSnapshot(t).Lessons, want)
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r3"), 1)))
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r4", with("a"), without("b"), with("c")), 0.25)))
	third := 0.5 + (0-0.5)/3
	want[0].With, want[0].Exposure = tried(0.5, 0.25), third+(1-third)/4
	want[1].Without, want[1].Exposure = tried(0.5, 0.25), third+(0-third)/4
	want[2].With, want[2].Exposure = tried(1, 0.25), third+(1-third)/4
	same(t, "after four grades", b.mustSnapshot(t).Lessons, want)
}

func (contract) LessonsByCategory(t *testing.T, b bundle) {
	use := fleet.LessonUse{Lesson: "a", Injected: true}
	must.Do(t, b.Complete(t.Context(), graded(b.begunIn(t, "docs", "0r1", use), 0.5)))
	must.Do(t, b.Complete(t.Context(), graded(b.begunIn(t, "code", "0r2", use, fleet.LessonUse{Lesson: "B"}), 1)))
	must.Do(t, b.Complete(t.Context(), graded(b.begunIn(t, "triage", "0r3"), 1)))
	want := []store.Lesson{
		{ID: "B", Category: "code", Trial: rank.Trial{Without: tried(1)}},
		{ID: "a", Category: "code", Trial: rank.Trial{With: tried(1)}, Exposure: 1},
		{ID: "a", Category: "docs", Trial: rank.Trial{With: tried(0.5)}, Exposure: 1},
	}
	same(t, "lessons", b.mustSnapshot(t).Lessons, want)
}

// LessonsReplaced has a run that tries several tasks, each with lessons of its own.
func (contract) LessonsReplaced(t *testing.T, b bundle) {
	ctx := t.Context()
	uses := func(ids ...fleet.LessonID) (list []fleet.LessonUse) {
		for _, id := range ids {
			list = append(list, fleet.LessonUse{Lesson: id, Injected: true})
		}
		return list
	}
	must.Do(t, b.AddRun(ctx, plannedRun("0r1")))
	b.mustTakeForRun(t, takeFor("0r1", "first", uses("a", "b")...), fleet.Granted)
	b.mustTakeForRun(t, takeFor("0r1", "first", uses("b", "c")...), fleet.Granted)
	must.Do(t, b.Complete(ctx, graded(b.mustRun(t, "0r1"), 0.5)))
	one := rank.Trial{With: tried(0.5)}
	want := []store.Lesson{{ID: "b", Category: "code", Trial: one, Exposure: 1}, {ID: "c", Category: "code", Trial: one, Exposure: 1}}
	same(t, "lessons", b.mustSnapshot(t).Lessons, want)
}

// LessonsEdited has a lesson whose text changes: it starts anew, and the evidence of the
// one before stays that one's.
func (contract) LessonsEdited(t *testing.T, b bundle) {
	use := func(version string) fleet.LessonUse {
		return fleet.LessonUse{Lesson: "a", Version: version, Injected: true}
	}
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r1", use("first")), 0.5)))
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r2", use("second")), 1)))
	same(t, "lessons", b.mustSnapshot(t).Lessons, []store.Lesson{
		{ID: "a", Version: "first", Category: "code", Trial: rank.Trial{With: tried(0.5)}, Exposure: 0.5},
		{ID: "a", Version: "second", Category: "code", Trial: rank.Trial{With: tried(1)}, Exposure: 0.5},
	})
}

// LessonsUngraded has runs without a grade: sessions that did nothing or failed are
// counted beside the grades, and of what nobody can judge nothing is.
func (contract) LessonsUngraded(t *testing.T, b bundle) {
	with, without := fleet.LessonUse{Lesson: "a", Injected: true}, fleet.LessonUse{Lesson: "a"}
	must.Do(t, b.Complete(t.Context(), graded(b.begun(t, "0r1", with), 0.5)))
	want := b.mustSnapshot(t).Lessons
	same(t, "number", len(want), 1)

	lost := graded(b.begun(t, "0r2", without), 1)
	lost.Verdict.Outcome = fleet.Lost
	must.Do(t, b.Complete(t.Context(), lost))
	must.Get(b.Abandon(t.Context(), store.Gone{Run: b.begun(t, "0r3", without).ID, Reason: "found dead"}))(t)
	same(t, "lessons", b.mustSnapshot(t).Lessons, want)

	for i, outcome := range []fleet.Outcome{fleet.Noop, fleet.Nothing, fleet.Failed} {
		r := b.begun(t, fleet.RunID("0s"+string(rune('1'+i))), with, fleet.LessonUse{Lesson: "b"})
		r.Verdict.Outcome = outcome
		must.Do(t, b.Complete(t.Context(), r))
	}
	failed := graded(b.begun(t, "0t1", without), 0)
	failed.Verdict.Outcome = fleet.Failed
	must.Do(t, b.Complete(t.Context(), failed))
	works := b.begun(t, "0t2") // so that the failures count
	works.Verdict.Outcome = fleet.Noop
	must.Do(t, b.Complete(t.Context(), works))
	want[0].With.Empty, want[0].With.Failed = 2, 1
	want[0].Without = tried(0)
	want[0].Without.Failed = 1
	want[0].Exposure = 0.5
	want = append(want, store.Lesson{ID: "b", Category: "code", Trial: rank.Trial{Without: rank.Tried{Empty: 2, Failed: 1}}})
	same(t, "lessons", b.mustSnapshot(t).Lessons, want)
}
