package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// testRestarts holds any log of events, on a store that is closed and opened between
// them, against the same events counted in memory. The memory is the same to the last bit.
func testRestarts(t *testing.T, b bundle) {
	rapid.Check(t, func(rt *rapid.T) {
		s := bandit.Defaults()
		s.HalfLife = rapid.SampledFrom([]float64{0, 1, 7, s.HalfLife}).Draw(rt, "half-life")
		s.SlowHalfLife = rapid.SampledFrom([]float64{0, 3, s.SlowHalfLife}).Draw(rt, "slow half-life")
		s.Alarm = rapid.SampledFrom([]float64{0, 0.5, s.Alarm}).Draw(rt, "alarm")
		h := history{t: t, bundle: b.fresh(t, s), memory: memory{Settings: s, arms: map[fleet.Category]*bandit.Arm{}}}
		rt.Repeat(map[string]func(*rapid.T){
			"fire":    h.fire,
			"begin":   several(h.begin),
			"end":     several(h.end),
			"idle":    h.idle,
			"resume":  h.resume,
			"again":   h.again,
			"wait":    h.wait,
			"restart": h.restart,
		})
		h.restart(rt)
	})
}

// memory is what a store is to remember of its categories, without one.
type memory struct {
	bandit.Settings
	fires   fleet.FireID
	arms    map[fleet.Category]*bandit.Arm
	lessons []store.Lesson
}

func (m *memory) arm(c fleet.Category) *bandit.Arm {
	if m.arms[c] == nil {
		m.arms[c] = &bandit.Arm{}
	}
	return m.arms[c]
}

func (m *memory) grade(s session, grade float64) {
	var arms []*bandit.Arm
	for _, c := range slices.Sorted(maps.Keys(m.arms)) {
		arms = append(arms, m.arms[c])
	}
	arm := m.arm(s.run.Category)
	x := bandit.Graded{Round: s.round, Load: s.load, Turn: bandit.Turn(s.run.CreatedAt), Grade: grade}
	m.Learn(arm, m.Prior(arms), x)
	injected := map[fleet.LessonID]bool{}
	for _, u := range s.lessons {
		l := m.lesson(u.Lesson, s.run.Category)
		m.Try(&l.Trial, u.Injected, arm.Round, x)
		injected[u.Lesson] = u.Injected
	}
	for i := range m.lessons {
		if l := &m.lessons[i]; l.Category == s.run.Category {
			l.Exposure = bandit.Expose(l.Exposure, injected[l.ID], arm.Fast.W)
		}
	}
}

// empty counts a session without work for its category and its lessons.
func (h *history) empty(s session) {
	arm := h.memory.arm(s.run.Category)
	arm.Vain(s.run.Task, s.run.Left.Last, arm.Round, h.clock.Now())
	for _, u := range s.lessons {
		h.memory.lesson(u.Lesson, s.run.Category).Of(u.Injected).Empty++
	}
}

func (m *memory) lesson(id fleet.LessonID, c fleet.Category) *store.Lesson {
	is := func(l store.Lesson) bool { return l.ID == id && l.Category == c }
	if !slices.ContainsFunc(m.lessons, is) {
		m.lessons = append(m.lessons, store.Lesson{ID: id, Category: c})
	}
	return &m.lessons[slices.IndexFunc(m.lessons, is)]
}

// session is a run that was granted a claim, and what was so at its start.
type session struct {
	run     fleet.Run
	round   fleet.Round
	load    float64
	lessons []fleet.LessonUse
}

// history is a store and what is to be in it.
type history struct {
	bundle
	memory

	t     *testing.T
	runs  int
	open  []session
	ended []session
}

func anyCategory(rt *rapid.T) fleet.Category {
	return rapid.SampledFrom([]fleet.Category{"code", "docs", "triage"}).Draw(rt, "category")
}

func (h *history) planned(rt *rapid.T) fleet.Run {
	h.runs++
	r := plannedRun(fleet.RunID(fmt.Sprintf("0r%04d", h.runs)))
	r.Category, r.CreatedAt = anyCategory(rt), h.clock.Now()
	must(h.t, h.AddRun(h.t.Context(), r))
	return r
}

func (h *history) fire(rt *rapid.T) {
	due := rapid.MapOf(rapid.Custom(anyCategory), rapid.Float64Range(0, 1)).Draw(rt, "due")
	moves := rapid.SliceOfDistinct(rapid.Custom(anyCategory), rapid.ID).Draw(rt, "moves")
	id, err := h.RecordFire(h.t.Context(), fleet.Fire{Due: due, Moves: moves}, nil)
	must(h.t, err)
	h.fires++
	same(h.t, "fire", id, h.fires)
	for _, c := range moves {
		arm := h.memory.arm(c)
		arm.Round++
		if d, ok := due[c]; ok {
			arm.Entitle(h.Settings, d)
		}
	}
}

// several does so for up to three sessions at once.
func several(do func(rt *rapid.T)) func(rt *rapid.T) {
	return func(rt *rapid.T) {
		for range rapid.IntRange(1, 3).Draw(rt, "sessions") {
			do(rt)
		}
	}
}

// begin starts a session, now and then of another category than was planned.
func (h *history) begin(rt *rapid.T) {
	s := session{run: h.planned(rt)}
	if rapid.Bool().Draw(rt, "pivot") {
		s.run.Category = anyCategory(rt)
		must(h.t, h.LaneTaken(h.t.Context(), s.run.ID, s.run.Category, 1))
	}
	for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom([]fleet.LessonID{"a", "b", "c"}), rapid.ID).Draw(rt, "lessons") {
		s.lessons = append(s.lessons, fleet.LessonUse{Lesson: id, Injected: rapid.Bool().Draw(rt, "injected")})
	}
	take := takeFor(s.run.ID, fleet.TaskID(s.run.ID), s.lessons...)
	take.TTL = 1e6 * time.Hour
	h.mustTakeForRun(h.t, take, fleet.Granted)
	s.run.Task, s.run.Key, s.run.Epoch = take.Task, take.Key, 1
	arm := h.memory.arm(s.run.Category)
	s.round, s.load = arm.Round, arm.Debit(arm.Round)
	h.open = append(h.open, s)
}

// end ends a session that is open, in whatever order, or once more one that has ended.
func (h *history) end(rt *rapid.T) {
	if len(h.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.open)-1).Draw(rt, "session")
	s := h.open[i]
	h.open, h.ended = slices.Delete(h.open, i, i+1), append(h.ended, s)
	grade := rapid.Float64Range(0, 1).Draw(rt, "grade")
	complete := func(v fleet.Verdict) error {
		s.run.Verdict = v
		return h.Complete(h.t.Context(), s.run)
	}
	var err error
	switch rapid.SampledFrom([]string{"graded", "graded", "graded", "noop", "nothing", "closed", "lost", "dead"}).Draw(rt, "end") {
	case "graded":
		err = complete(fleet.Verdict{Outcome: fleet.Productive, Grade: &grade})
		h.grade(s, grade)
	case "noop":
		s.run.Left.Last = rapid.Bool().Draw(rt, "last")
		err = complete(fleet.Verdict{Outcome: fleet.Noop})
		h.empty(s)
	case "nothing":
		err = complete(fleet.Verdict{Outcome: fleet.Nothing})
		h.empty(s)
	case "closed":
		err = complete(fleet.Verdict{Outcome: fleet.Nothing, TaskState: fleet.StateDone})
	case "lost":
		err = h.EndRun(h.t.Context(), graded(s.run, grade))
	case "dead":
		_, err = h.Abandon(h.t.Context(), s.run.ID, "found dead", fleet.Usage{}, time.Time{})
	}
	must(h.t, err)
}

// again ends a session that has ended, as one would who never heard of that.
func (h *history) again(rt *rapid.T) {
	if len(h.ended) == 0 {
		rt.Skip("no session has ended")
	}
	s := rapid.SampledFrom(h.ended).Draw(rt, "session")
	mustBe(h.t, h.Complete(h.t.Context(), graded(s.run, 1)), fleet.ErrLost)
}

func (h *history) idle(rt *rapid.T) {
	r := h.planned(rt)
	r.Verdict.Outcome = fleet.Idle
	if rapid.Bool().Draw(rt, "of a fire") {
		r.Source = fleet.FromScores
	}
	must(h.t, h.EndRun(h.t.Context(), r))
	if r.Source != fleet.FromHand { // what a person asks for says nothing
		arm := h.memory.arm(r.Category)
		arm.Sleep(arm.Round, h.clock.Now())
	}
}

func (h *history) resume(rt *rapid.T) {
	c := rapid.SampledFrom([]fleet.Category{"", "code", "docs"}).Draw(rt, "category")
	_, err := h.Resume(h.t.Context(), c)
	must(h.t, err)
	for name, arm := range h.arms {
		if c == "" || c == name {
			arm.Wake()
		}
	}
}

func (h *history) wait(rt *rapid.T) {
	h.clock.Advance(time.Duration(rapid.IntRange(1, 1e8).Draw(rt, "ms")) * time.Millisecond)
}

// restart closes and opens the store, and reports what it remembers otherwise than it
// happened.
func (h *history) restart(rt *rapid.T) {
	must(h.t, h.Close())
	h.Store = h.bundle.again()
	h.addsUp(h.t)
	s := h.mustSnapshot(h.t)
	got := map[fleet.Category]*bandit.Arm{}
	for c, arm := range s.Arms {
		got[c] = &arm.Arm
	}
	want := slices.SortedFunc(slices.Values(h.lessons), func(a, b store.Lesson) int {
		return cmp.Or(strings.Compare(string(a.ID), string(b.ID)), strings.Compare(string(a.Category), string(b.Category)))
	})
	if diff := gocmp.Diff(got, h.arms, exactly()); diff != "" {
		rt.Errorf("arms (-got +want):\n%s", diff)
	}
	if diff := gocmp.Diff(s.Lessons, want, exactly(), cmpopts.EquateEmpty()); diff != "" {
		rt.Errorf("lessons (-got +want):\n%s", diff)
	}
}

// exactly has numbers equal that are the same bits.
func exactly() gocmp.Option {
	return gocmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}
