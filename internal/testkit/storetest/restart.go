package storetest

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/agent/grade"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
)

// Restarts holds any log of events, on a store that is closed and opened between
// them, against the same events counted in memory. The memory is the same to the last bit.
func (contract) Restarts(t *testing.T, b bundle) {
	rapid.Check(t, func(rt *rapid.T) {
		s := rank.Defaults()
		s.HalfLife = rapid.SampledFrom([]float64{0, 1, 7, s.HalfLife}).Draw(rt, "half-life")
		s.SlowHalfLife = rapid.SampledFrom([]float64{0, 3, s.SlowHalfLife}).Draw(rt, "slow half-life")
		s.Alarm = rapid.SampledFrom([]float64{0, 0.5, s.Alarm}).Draw(rt, "alarm")
		h := history{t: t, bundle: b.fresh(t, s), memory: memory{State: &rank.State{Settings: s}}}
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
		})
		h.restart(rt)
	})
}

// memory has the state of categories that a store should have, without a store.
type memory struct {
	*rank.State
	fires   fleet.FireID
	lessons []store.Lesson
}

// learn folds the next event.
func (h *history) learn(e rank.Event) rank.Mark {
	e.Seq, e.At = h.State.Seq+1, h.clock.Now()
	return h.State.Fold(e)
}

func (s session) mark() rank.Mark {
	return rank.Mark{Round: s.round, Load: s.load, Turn: rank.TurnAt(s.run.CreatedAt), Counted: s.counted}
}

func (h *history) grade(s *session, grade float64) {
	c := s.run.Category
	s.counted = h.learn(rank.Event{Kind: rank.Ended, Category: c, Run: s.run.ID, Agent: s.run.Agent, Grade: grade, Mark: s.mark()}).Counted
	arm := h.State.Arm(c)
	injected := map[fleet.LessonID]bool{}
	for _, u := range s.lessons {
		l := h.lesson(u.Lesson, c)
		h.Settings.Try(&l.Trial, u.Injected, arm.Round, rank.Graded{Round: s.round, Grade: grade})
		injected[u.Lesson] = u.Injected
	}
	for i := range h.lessons {
		if l := &h.lessons[i]; l.Category == c {
			l.Exposure = rank.Expose(l.Exposure, injected[l.ID], arm.Fast.W)
		}
	}
}

// correct has a session count with another grade.
func (h *history) correct(s session, was, is float64) {
	if was == is {
		return
	}
	h.learn(rank.Event{Kind: rank.Corrected, Category: s.run.Category, Run: s.run.ID, Agent: s.run.Agent, Was: was, Grade: is, Mark: s.mark()})
	for _, u := range s.lessons {
		l := h.lesson(u.Lesson, s.run.Category)
		h.Settings.Correct(&l.Trial, u.Injected, h.State.Arm(s.run.Category).Round, rank.Graded{Round: s.round, Grade: is}, was)
	}
}

// empty counts a session without work for its category and its lessons.
func (h *history) empty(s session) {
	h.learn(rank.Event{Kind: rank.Empty, Category: s.run.Category, Task: s.run.Task, Last: s.run.Left.Last})
	for _, u := range s.lessons {
		h.lesson(u.Lesson, s.run.Category).Of(u.Injected).Empty++
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
	counted int
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
	full := rapid.Bool().Draw(rt, "full")
	budget := rank.Amounts{rank.USD: rapid.SampledFrom([]float64{0, 7}).Draw(rt, "budget")}
	pool := rapid.SampledFrom([]string{"default", "quick"}).Draw(rt, "pool")
	extra := rapid.Bool().Draw(rt, "extra")
	f := must.Get(h.RecordFire(h.t.Context(), store.Firing{Fire: fleet.Fire{Due: due, Moves: moves, Full: full, Pool: pool}, Host: fleet.Host{ID: host}, Budget: budget, Extra: extra}))(h.t)
	h.fires++
	same(h.t, "fire", f.ID, h.fires)
	if len(moves) > 0 || full {
		h.learn(rank.Event{
			Kind: rank.Fired, Host: host, Moves: moves, Due: due, Floor: h.Settings.Floor, Cap: h.Settings.Cap, Budget: budget, Pool: pool, Full: full, Extra: extra,
		})
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
	m := h.learn(rank.Event{Kind: rank.Began, Category: s.run.Category})
	s.round, s.load = m.Round, m.Load
	h.open = append(h.open, s)
}

// end ends a session that is open, in whatever order, or once more one that has ended.
func (h *history) end(rt *rapid.T) {
	if len(h.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.open)-1).Draw(rt, "session")
	s := h.open[i]
	h.open = slices.Delete(h.open, i, i+1)
	defer func() { h.ended = append(h.ended, s) }()
	grade := rapid.Float64Range(0, 1).Draw(rt, "grade")
	if rapid.Bool().Draw(rt, "late") { // nobody heard of it when it was
		s.run.EndedAt = h.clock.Now().Add(-time.Duration(rapid.Int64Range(0, int64(h.clock.Now().Sub(s.run.CreatedAt))).Draw(rt, "ago")))
	}
	if rapid.Bool().Draw(rt, "billed") {
		s.run.Usage = fleet.Usage{Tokens: new(int64(1e5)), USD: new(rapid.Float64Range(0, 9).Draw(rt, "usd")), Cost: fleet.CostReported}
	}
	complete := func(v fleet.Verdict) error {
		s.run.Verdict = v
		err := h.Complete(h.t.Context(), s.run)
		h.used(s)
		return err
	}
	var err error
	switch rapid.SampledFrom([]string{"graded", "graded", "graded", "noop", "nothing", "closed", "lost", "dead"}).Draw(rt, "end") {
	case "graded":
		err = complete(fleet.Verdict{Outcome: fleet.Productive, Grade: &grade})
		h.grade(&s, grade)
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
		err = h.Complete(h.t.Context(), lost(graded(s.run, grade)))
		h.used(s)
	case "dead":
		_, err = h.Abandon(h.t.Context(), store.Gone{Run: s.run.ID, Reason: "found dead", Used: s.run.Usage})
		h.used(s)
	}
	must.Do(h.t, err)
}

// used counts what a session used that has ended.
func (h *history) used(s session) {
	r, use := h.mustRun(h.t, s.run.ID), rank.Amounts{-1, -1, -1}
	if r.Verdict.Outcome != fleet.Lost && r.Verdict.Outcome != fleet.Abandoned {
		use[rank.Hours] = r.EndedAt.Sub(r.StartedAt).Hours()
	}
	if r.Usage.USD != nil { // also an assumed one
		use[rank.USD] = *r.Usage.USD
	}
	if r.Usage.Tokens != nil {
		use[rank.Tokens] = float64(*r.Usage.Tokens)
	}
	if use != (rank.Amounts{-1, -1, -1}) {
		h.learn(rank.Event{Kind: rank.Used, Category: r.Category, Agent: r.Agent, Use: use, Assumed: r.Usage.Cost == fleet.CostAssumed})
	}
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
	f := fleet.ReviewOutcome{
		Run: r.ID, Witness: rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "witness"),
		At:   h.clock.Now().Add(-time.Duration(rapid.IntRange(0, 1e6).Draw(rt, "ms ago")) * time.Millisecond),
		Kind: rapid.SampledFrom(grade.Steps()).Draw(rt, "step").Kind,
	}
	known := slices.ContainsFunc(r.Fates, func(k fleet.ReviewOutcome) bool { return k.Kind == f.Kind && k.Witness == f.Witness })
	if r.Verdict.Grade != nil {
		f.Grade = new(grade.Final(*r.Verdict.Grade, append(slices.Clone(r.Fates), f)))
	}
	news := must.Get(h.AddFates(h.t.Context(), []fleet.ReviewOutcome{f, f, {Run: "nobody", Kind: f.Kind}}))(h.t)
	if known {
		same(h.t, "news", len(news), 0)
		return
	}
	same(h.t, "news", news, []fleet.ReviewOutcome{f})
	same(h.t, "fates", h.mustRun(h.t, r.ID).Fates, append(r.Fates, f))
	if f.Grade != nil && r.Verdict.Outcome != fleet.Lost {
		h.correct(s, *r.Final(), *f.Grade)
	}
}

func (h *history) idle(rt *rapid.T) {
	r := h.planned(rt, rapid.SampledFrom([]fleet.Source{fleet.FromHand, fleet.FromScores}).Draw(rt, "source"))
	r.Verdict.Outcome = fleet.Idle
	must.Do(h.t, h.Complete(h.t.Context(), r))
	if r.Source != fleet.FromHand { // what a person asks for says nothing
		h.learn(rank.Event{Kind: rank.Slept, Category: r.Category})
	}
}

func (h *history) resume(rt *rapid.T) {
	c := rapid.SampledFrom([]fleet.Category{"", "code", "docs"}).Draw(rt, "category")
	must.Get(h.Resume(h.t.Context(), c))(h.t)
	for name, arm := range h.State.Arms {
		if (c == "" || c == name) && (arm.AsleepUntil > 0 || arm.VainAt != "") {
			h.learn(rank.Event{Kind: rank.Woken, Category: c})
			return
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
	got := map[fleet.Category]*rank.Arm{}
	for c, arm := range s.Arms {
		got[c] = &arm.Arm
	}
	want := slices.SortedFunc(slices.Values(h.lessons), func(a, b store.Lesson) int {
		return cmp.Or(strings.Compare(string(a.ID), string(b.ID)), strings.Compare(string(a.Category), string(b.Category)))
	})
	must.Equal(rt, "arms", got, h.State.Arms, exactly(), cmpopts.EquateEmpty())
	must.Equal(rt, "rounds", s.Rounds, h.State.Rounds, cmpopts.EquateEmpty())
	must.Equal(rt, "prices", s.Prices, h.State.Prices, exactly(), cmpopts.EquateEmpty())
	must.Equal(rt, "pairs", s.Pairs, h.State.Pairs, exactly(), cmpopts.EquateEmpty())
	must.Equal(rt, "lessons", s.Lessons, want, exactly(), cmpopts.EquateEmpty())
}

// exactly has numbers equal that are the same bits.
func exactly() gocmp.Option {
	return gocmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}
