package storetest

import (
	"cmp"
	"errors"
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
	"stint/internal/grade"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

// Restarts holds any log of events, on a store that is closed and opened between
// them, against the same events counted in memory. The memory is the same to the last bit.
func (contract) Restarts(t *testing.T, b bundle) {
	rapid.Check(t, func(rt *rapid.T) {
		s := bandit.Defaults()
		s.HalfLife = rapid.SampledFrom([]float64{0, 1, 7, s.HalfLife}).Draw(rt, "half-life")
		s.SlowHalfLife = rapid.SampledFrom([]float64{0, 3, s.SlowHalfLife}).Draw(rt, "slow half-life")
		s.Alarm = rapid.SampledFrom([]float64{0, 0.5, s.Alarm}).Draw(rt, "alarm")
		h := history{t: t, bundle: b.fresh(t, s), memory: memory{
			Settings: s, arms: map[fleet.Category]*bandit.Arm{}, learnt: map[fleet.Category]*learnt{}, fired: map[machine]fleet.Round{},
		}}
		rt.Repeat(map[string]func(*rapid.T){
			"fire":    h.fire,
			"begin":   several(h.begin),
			"end":     several(h.end),
			"become":  several(h.become),
			"idle":    h.idle,
			"resume":  h.resume,
			"again":   h.again,
			"wait":    h.wait,
			"restart": h.restart,
			"cut":     h.cutSomewhere,
			"forget":  h.forgets,
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
	learnt  map[fleet.Category]*learnt
	fired   map[machine]fleet.Round // in which each last did
}

// learnt are the grades of a category since an alarm, in the order in which they came, and the
// evidence at that.
type learnt struct {
	since  bandit.Evidence
	runs   []fleet.RunID
	grades []bandit.Learnt
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
	of := m.learnt[s.run.Category]
	if of == nil {
		of = &learnt{}
		m.learnt[s.run.Category] = of
	}
	of.runs, of.grades = append(of.runs, s.run.ID), append(of.grades, bandit.Learnt{Graded: x, In: arm.Round})
	if m.Learn(arm, m.Prior(arms), x) {
		*of = learnt{since: arm.Evidence}
	}
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

// correct has a session count with another grade, as a batch of all grades would.
func (m *memory) correct(s session, first, was, is float64) {
	arm, of := m.arm(s.run.Category), m.learnt[s.run.Category]
	if x := (bandit.Graded{Round: s.round, Grade: is}); was != is {
		for _, u := range s.lessons {
			m.Correct(&m.lesson(u.Lesson, s.run.Category).Trial, u.Injected, arm.Round, x, was)
		}
	}
	i := slices.Index(of.runs, s.run.ID)
	if i < 0 { // an alarm had it forgotten
		return
	}
	x := &of.grades[i]
	if was == is {
		return
	}
	x.Grade, x.Shift = is, is-first
	batch := m.Relearn(of.since, of.grades)
	batch.Up, batch.Down = arm.Up, arm.Down
	arm.Evidence = batch
}

// empty counts a session without work for its category and its lessons.
func (h *history) empty(s session) {
	arm := h.memory.arm(s.run.Category)
	arm.NoopsEver++
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
	lanes int // that were taken; each session has one of its own
	runs  int
	open  []session
	ended []session
}

func anyCategory(rt *rapid.T) fleet.Category {
	return rapid.SampledFrom([]fleet.Category{"code", "docs", "triage"}).Draw(rt, "category")
}

func (h *history) planned(rt *rapid.T, by fleet.Source) fleet.Run {
	h.runs++
	r := plannedRun(fleet.NewRunID(h.clock.Now(), uint32(h.runs))) //nolint:gosec // a count of what one test draws
	r.Category, r.CreatedAt, r.Source = anyCategory(rt), h.clock.Now(), by
	must.Do(h.t, h.AddRun(h.t.Context(), r))
	return r
}

func (h *history) fire(rt *rapid.T) {
	due := rapid.MapOf(rapid.Custom(anyCategory), rapid.Float64Range(0, 1)).Draw(rt, "due")
	moves := rapid.SliceOfDistinct(rapid.Custom(anyCategory), rapid.ID).Draw(rt, "moves")
	host := rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "machine")
	f := must.Get(h.RecordFire(h.t.Context(), store.Firing{Fire: fleet.Fire{Due: due, Moves: moves}, Host: fleet.Host{ID: host}}))(h.t)
	h.fires++
	same(h.t, "fire", f.ID, h.fires)
	for _, c := range moves {
		arm, last := h.memory.arm(c), machine{host, c}
		d, entitled := due[c]
		arm.Fires++
		if host == "" || h.memory.fired[last] == arm.Round {
			arm.Round++
			if entitled {
				arm.Entitle(h.Settings, d)
			}
		} else if entitled {
			arm.Due += d
			arm.Entitled += d
		}
		if host != "" {
			h.memory.fired[last] = arm.Round
		}
	}
}

// machine is what a machine last fired for.
type machine struct {
	host     string
	category fleet.Category
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
	s := session{run: h.planned(rt, fleet.FromHand)}
	if rapid.Bool().Draw(rt, "pivot") {
		s.run.Category = anyCategory(rt)
		h.lanes++
		h.mustLane(h.t, s.run.ID, s.run.Category, h.lanes, fleet.Granted)
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
	if rapid.Bool().Draw(rt, "late") { // nobody heard of it when it was
		s.run.EndedAt = h.clock.Now().Add(-time.Duration(rapid.Int64Range(0, int64(h.clock.Now().Sub(s.run.CreatedAt))).Draw(rt, "ago")))
	}
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
		_, err = h.Abandon(h.t.Context(), store.Gone{Run: s.run.ID, Reason: "found dead"})
	}
	must.Do(h.t, err)
	if rapid.Bool().Draw(rt, "gives back") {
		must.Do(h.t, h.LaneReleased(h.t.Context(), s.run.ID))
		must.Do(h.t, h.ReleaseHolder(h.t.Context(), s.run.ID.Holder(), fleet.EndingDone))
	}
}

// cutSomewhere has the record begin at some time since the store was made. Grades that the bases cover
// are corrected no more.
func (h *history) cutSomewhere(rt *rapid.T) {
	l := must.Get(h.Ledger(h.t.Context()))(h.t)
	from := Start().Add(time.Duration(rapid.Int64Range(1, int64(h.clock.Now().Sub(Start()))+2).Draw(rt, "from")))
	if len(h.ended) > 0 && rapid.Bool().Draw(rt, "at an end") {
		from = h.mustRun(h.t, rapid.SampledFrom(h.ended).Draw(rt, "whose").run.ID).EndedAt.Add(time.Millisecond)
	}
	if !from.Truncate(time.Millisecond).After(l.Edge.From) {
		return
	}
	h.cut(h.t, from)
	l = must.Get(h.Ledger(h.t.Context()))(h.t)
	for c, of := range h.learnt {
		covered := l.Checkpoints[c][0].Arm.Graded - (h.memory.arm(c).Graded - len(of.grades))
		if covered > 0 {
			of.since = h.Relearn(of.since, of.grades[:covered])
			of.runs, of.grades = of.runs[covered:], of.grades[covered:]
		}
	}
}

// forgets deletes what the record does not begin with.
func (h *history) forgets(*rapid.T) {
	e := must.Get(h.Edge(h.t.Context()))(h.t)
	must.Get(h.Forget(h.t.Context(), e.From))(h.t)
	h.ended = slices.DeleteFunc(h.ended, func(s session) bool {
		_, err := h.Run(h.t.Context(), s.run.ID)
		return errors.Is(err, fleet.ErrNotFound)
	})
}

// again ends a session that has ended, as one would who never heard of that.
func (h *history) again(rt *rapid.T) {
	if len(h.ended) == 0 {
		rt.Skip("no session has ended")
	}
	s := rapid.SampledFrom(h.ended).Draw(rt, "session")
	end := graded(s.run, 1)
	want := fleet.ErrLost
	if book.RepeatsEnd(h.mustRun(h.t, s.run.ID), end) {
		want = nil
	}
	mustBe(h.t, h.Complete(h.t.Context(), end), want)
}

// become has something become of the work of a session, or the same once more.
func (h *history) become(rt *rapid.T) {
	if len(h.ended) == 0 {
		return
	}
	s := rapid.SampledFrom(h.ended).Draw(rt, "session")
	r := h.mustRun(h.t, s.run.ID)
	f := fleet.Fate{
		Run: r.ID, Witness: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "witness"),
		At:   h.clock.Now().Add(-time.Duration(rapid.IntRange(0, 1e6).Draw(rt, "ms ago")) * time.Millisecond),
		Kind: rapid.SampledFrom(grade.Steps()).Draw(rt, "step").Kind,
	}
	known := slices.ContainsFunc(r.Fates, func(k fleet.Fate) bool { return k.Kind == f.Kind && k.Witness == f.Witness })
	if r.Verdict.Grade != nil {
		f.Grade = new(grade.Final(*r.Verdict.Grade, append(slices.Clone(r.Fates), f)))
	}
	news := must.Get(h.AddFates(h.t.Context(), []fleet.Fate{f, f, {Run: "nobody", Kind: f.Kind}}))(h.t)
	if known {
		same(h.t, "news", len(news), 0)
		return
	}
	same(h.t, "news", news, []fleet.Fate{f})
	same(h.t, "fates", h.mustRun(h.t, r.ID).Fates, append(r.Fates, f))
	if f.Grade != nil && r.Verdict.Outcome != fleet.Lost {
		h.correct(s, *r.Verdict.Grade, *r.Final(), *f.Grade)
	}
}

func (h *history) idle(rt *rapid.T) {
	r := h.planned(rt, rapid.SampledFrom([]fleet.Source{fleet.FromHand, fleet.FromScores}).Draw(rt, "source"))
	r.Verdict.Outcome = fleet.Idle
	must.Do(h.t, h.EndRun(h.t.Context(), r))
	if r.Source != fleet.FromHand { // what a person asks for says nothing
		arm := h.memory.arm(r.Category)
		arm.Sleep(arm.Round, h.clock.Now())
	}
}

func (h *history) resume(rt *rapid.T) {
	c := rapid.SampledFrom([]fleet.Category{"", "code", "docs"}).Draw(rt, "category")
	must.Get(h.Resume(h.t.Context(), c))(h.t)
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
	must.Do(h.t, h.Close())
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
	must.Equal(rt, "arms", got, h.arms, exactly())
	must.Equal(rt, "lessons", s.Lessons, want, exactly(), cmpopts.EquateEmpty())
}

// exactly has numbers equal that are the same bits.
func exactly() gocmp.Option {
	return gocmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}
