package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// past draws runs and stores them, each check in a year of its own, so that one store
// does for all of them.
type past struct {
	bundle
	years int
	runs  int
}

// next moves the clock to the next year's beginning.
func (h *past) next() time.Time {
	h.years++
	from := Start().AddDate(h.years, 0, 0)
	h.clock.Advance(from.Sub(h.clock.Now()))
	return from
}

// drawRun stores a run of any kind at any stage, created within the two minutes from a
// time on. Its end, if it has one, is later than that.
func (h *past) drawRun(t *testing.T, rt *rapid.T, from time.Time, fire fleet.FireID) {
	t.Helper()
	h.runs++
	at := from.Add(time.Duration(rapid.IntRange(0, 120_000).Draw(rt, "created")) * time.Millisecond)
	r := fleet.Run{
		ID: fleet.NewRunID(at, uint32(h.runs)), CreatedAt: at, //nolint:gosec // a count of what one test draws
		Location: fleet.Location{Host: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "host")},
		Category: rapid.SampledFrom([]fleet.Category{"code", "docs"}).Draw(rt, "category"),
		Agent:    rapid.SampledFrom([]string{"", "claude", "codex"}).Draw(rt, "agent"),
		Source:   rapid.SampledFrom([]fleet.Source{fleet.FromHand, fleet.FromSelected, fleet.FromRespawn}).Draw(rt, "source"),
	}
	if r.Source != fleet.FromHand {
		r.Fire = fire
	}
	must.Do(t, h.AddRun(t.Context(), r))
	stage := rapid.SampledFrom([]string{"planned", "begun", "claimed", "ended early", "ended"}).Draw(rt, "stage")
	if stage == "planned" {
		return
	}
	h.clock.Advance(time.Duration(rapid.IntRange(-9_000, 9_000).Draw(rt, "took")) * time.Millisecond)
	r.Verdict.Internal = true // no agent is stopped for what it did
	r.Verdict.Outcome = rapid.SampledFrom([]fleet.Outcome{fleet.Productive, fleet.Failed, fleet.Idle}).Draw(rt, "outcome")
	r.Usage = fleet.Usage{Tokens: rapid.Ptr(rapid.Int64Range(0, 1e6), true).Draw(rt, "tokens"), USD: rapid.Ptr(rapid.Float64Range(0, 9), true).Draw(rt, "usd")}
	if r.Usage.USD != nil {
		r.Usage.Cost = rapid.SampledFrom([]fleet.Cost{fleet.CostReported, fleet.CostComputed, fleet.CostAssumed}).Draw(rt, "cost")
	}
	switch stage {
	case "claimed":
		h.mustTakeForRun(t, takeFor(r.ID, h.task()), fleet.Granted)
	case "ended early":
		must.Do(t, h.Complete(t.Context(), r))
	case "ended":
		h.mustTakeForRun(t, takeFor(r.ID, h.task()), fleet.Granted)
		r.Task, r.Key, r.Epoch = h.task(), h.task().Key(), 1
		r.Verdict.Grade = rapid.Ptr(rapid.Float64Range(0, 1), true).Draw(rt, "grade")
		r.Commits = rapid.SampledFrom([][]string{nil, {"a1"}}).Draw(rt, "commits")
		r.Branch = rapid.SampledFrom([]string{"", "stint/" + string(r.ID)}).Draw(rt, "branch")
		must.Do(t, h.Complete(t.Context(), r))
	}
}

// task is the one that the last run works on: no two work on the same.
func (h *past) task() fleet.TaskID { return fleet.TaskID(fmt.Sprintf("task-%d", h.runs)) }

// drawFire stores a fire without runs.
func (h *past) drawFire(t *testing.T) fleet.FireID {
	t.Helper()
	f, err := h.RecordFire(t.Context(), store.Firing{Fire: fleet.Fire{At: h.clock.Now(), Inputs: []byte("{}"), Selection: []byte("{}")}})
	must.Do(t, err)
	return f.ID
}

// Tallies compares what the store counted with what is counted here, run by run.
func (contract) Tallies(t *testing.T, b bundle) {
	h := past{bundle: b}
	fire := h.drawFire(t)
	rapid.Check(t, func(rt *rapid.T) {
		from := h.next()
		for range rapid.IntRange(0, 8).Draw(rt, "runs") {
			h.drawRun(t, rt, from, fire)
		}
		since := from.Add(time.Duration(rapid.IntRange(-1000, 125_000).Draw(rt, "since")) * time.Millisecond)
		span := store.Span{From: since}
		if rapid.Bool().Draw(rt, "ends") {
			span.To = since.Add(time.Duration(rapid.IntRange(0, 125_000).Draw(rt, "span")) * time.Millisecond)
		}
		step := rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, 45 * time.Second, time.Hour}).Draw(rt, "step")
		got := must.Get(b.Tallies(t.Context(), span, step))(t)
		runs := must.Get(storekit.RunsSince(t.Context(), b, since))(t)
		runs = slices.DeleteFunc(runs, func(r fleet.Run) bool { return span.Over(r.CreatedAt) })
		exactly := cmpopts.EquateApprox(1e-12, 1e-12) // up to the order in which they were added
		if diff := gocmp.Diff(got, tally(runs, since, step), exactly, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("tallies (-got +want):\n%s", diff)
		}
	})
}

// tally counts runs, alike ones together.
func tally(runs []fleet.Run, since time.Time, step time.Duration) (list []fleet.Tally) {
	for _, r := range runs {
		kind := fleet.Tally{
			From: since, Host: r.Host, Category: r.Category, Agent: r.Agent, Source: r.Source, Outcome: r.Verdict.Outcome,
			Fired: r.Fire != 0 && r.Source != fleet.FromRespawn, Claimed: r.Epoch > 0,
		}
		if step > 0 {
			kind.From = since.Add(r.CreatedAt.Sub(since).Truncate(step))
		}
		at := slices.IndexFunc(list, func(n fleet.Tally) bool { return compareKinds(n, kind) == 0 })
		if at < 0 {
			at, list = len(list), append(list, kind)
		}
		list[at] = plus(list[at], r)
	}
	slices.SortFunc(list, compareKinds)
	return list
}

func plus(n fleet.Tally, r fleet.Run) fleet.Tally {
	n.Runs++
	if g := r.Verdict.Grade; g != nil {
		n.Graded, n.Grades, n.Squares = n.Graded+1, n.Grades+*g, n.Squares+*g**g
	}
	if r.Usage.Tokens != nil {
		n.Tokens += *r.Usage.Tokens
	}
	if r.Usage.USD != nil {
		n.USD += *r.Usage.USD
		if r.Usage.Cost.Estimated() {
			n.Guessed += *r.Usage.USD
		}
	}
	if !r.EndedAt.IsZero() {
		n.Worked += max(0, r.EndedAt.Sub(r.StartedAt)) // a clock may be set back
	}
	return n
}

// compareKinds orders tallies by what makes runs alike.
func compareKinds(a, b fleet.Tally) int {
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Category, b.Category), cmp.Compare(a.Agent, b.Agent),
		cmp.Compare(a.Source, b.Source), cmp.Compare(a.Outcome, b.Outcome), number(a.Fired)-number(b.Fired), number(a.Claimed)-number(b.Claimed))
}

// TalliesOfNever counts runs that never began: they worked for no time at all.
func (contract) TalliesOfNever(t *testing.T, b bundle) {
	f := b.mustRecord(t, fleet.NewRunID(Start(), 1), fleet.NewRunID(Start(), 2))
	b.mustNotStart(t, f.ID, fleet.NewRunID(Start(), 1), true)
	got := must.Get(b.Tallies(t.Context(), store.Span{From: Start()}, 0))(t)
	want := fleet.Tally{From: Start(), Category: "code", Agent: "claude", Source: fleet.FromSelected, Fired: true, Runs: 1}
	dead := want
	dead.Outcome = fleet.Abandoned
	same(t, "tallies", got, []fleet.Tally{want, dead})
	later := must.Get(b.Tallies(t.Context(), store.Span{From: Start().Add(time.Millisecond)}, 0))(t)
	same(t, "a moment later", later, []fleet.Tally{})
}

// RunQuery asks for runs by every mixture of conditions, and looks for them among
// all that there are.
func (contract) RunQuery(t *testing.T, b bundle) {
	h := past{bundle: b}
	fires := []fleet.FireID{h.drawFire(t), h.drawFire(t)}
	var all []fleet.Run
	rapid.Check(t, func(rt *rapid.T) {
		if len(all) < 60 {
			h.drawRun(t, rt, h.next(), rapid.SampledFrom(fires).Draw(rt, "of fire"))
			all = must.Get(b.LastRuns(t.Context(), store.RunQuery{Limit: 1000}))(t)
		}
		q := store.RunQuery{
			Category: rapid.SampledFrom([]fleet.Category{"", "", "code", "ops"}).Draw(rt, "category asked"),
			Outcome:  rapid.SampledFrom([]fleet.Outcome{"", "", fleet.Productive, fleet.Lost}).Draw(rt, "outcome asked"),
			Fire:     rapid.SampledFrom([]fleet.FireID{0, 0, fires[0], 99}).Draw(rt, "fire"),
			Agent:    rapid.SampledFrom([]string{"", "", "claude", "gptme"}).Draw(rt, "agent asked"),
			Ended:    rapid.Bool().Draw(rt, "only ended"),
			Limit:    rapid.SampledFrom([]int{0, 1, 3, 1000}).Draw(rt, "limit"),
		}
		if some := rapid.SampledFrom(all).Draw(rt, "run"); rapid.Bool().Draw(rt, "before it") {
			q.Before = some.ID
		} else if rapid.Bool().Draw(rt, "its task") {
			q.Task = some.Task
		} else if rapid.Bool().Draw(rt, "by id") {
			q.IDs = []fleet.RunID{some.ID, rapid.SampledFrom(all).Draw(rt, "another").ID, "01jd8wz4v0k3m7qa"}
		}
		if some := rapid.SampledFrom(all).Draw(rt, "begins"); rapid.Bool().Draw(rt, "by a beginning") {
			q.Prefix = some.ID[:rapid.IntRange(1, len(some.ID)).Draw(rt, "letters")]
		}
		got := must.Get(b.LastRuns(t.Context(), q))(t)
		if diff := gocmp.Diff(got, asked(all, q), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("runs asked by %+v (-got +want):\n%s", q, diff)
		}
	})
}

// asked are those of the runs, newest first, that a query asks for.
func asked(runs []fleet.Run, q store.RunQuery) (list []fleet.Run) {
	for _, r := range runs {
		if (len(q.IDs) == 0 || slices.Contains(q.IDs, r.ID)) && strings.HasPrefix(string(r.ID), string(q.Prefix)) && (q.Before == "" || r.ID < q.Before) && (q.Category == "" || r.Category == q.Category) &&
			(q.Task == "" || r.Task == q.Task) && (q.Outcome == "" || r.Verdict.Outcome == q.Outcome) &&
			(q.Agent == "" || r.Agent == q.Agent) && (q.Fire == 0 || r.Fire == q.Fire) && (!q.Ended || !r.EndedAt.IsZero()) {
			list = append(list, r)
		}
	}
	return list[:min(len(list), q.Limit)]
}

// RunPages leafs through the runs of a category, a page after the other.
func (contract) RunPages(t *testing.T, b bundle) {
	var want []fleet.RunID
	for i := range 10 {
		r := plannedRun(fleet.NewRunID(Start().Add(time.Duration(i)*time.Minute), 0))
		if i%3 == 0 {
			r.Category = "docs"
		} else {
			want = append([]fleet.RunID{r.ID}, want...)
		}
		must.Do(t, b.AddRun(t.Context(), r))
	}
	var got []fleet.RunID
	for q := (store.RunQuery{Category: "code", Limit: 2}); ; {
		page := must.Get(b.LastRuns(t.Context(), q))(t)
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			got = append(got, r.ID)
		}
		q.Before = page[len(page)-1].ID
	}
	same(t, "runs", got, want)
}

func (contract) FireQuery(t *testing.T, b bundle) {
	var fires, brief []fleet.Fire
	for _, ids := range [][2]fleet.RunID{{"0r1", "0r2"}, {"0r3", "0r4"}, {"0r5", "0r6"}} {
		f := b.mustRecord(t, ids[0], ids[1])
		fires = append([]fleet.Fire{f}, fires...)
		f.Inputs, f.Selection = nil, nil
		brief = append([]fleet.Fire{f}, brief...)
	}
	for _, tt := range []struct {
		query store.FireQuery
		want  []fleet.Fire
	}{
		{store.FireQuery{Limit: 9}, fires},
		{store.FireQuery{Before: 3, Limit: 9}, fires[1:]},
		{store.FireQuery{Before: 3, Limit: 1}, fires[1:2]},
		{store.FireQuery{Before: 1, Limit: 9}, nil},
		{store.FireQuery{Before: 99, Limit: 2}, fires[:2]},
		{store.FireQuery{Brief: true, Limit: 9}, brief},
		{store.FireQuery{Brief: true, Before: 2, Limit: 9}, brief[2:]},
	} {
		got := must.Get(b.LastFires(t.Context(), tt.query))(t)
		same(t, fmt.Sprintf("%+v", tt.query), got, tt.want)
	}
}

func (contract) Denials(t *testing.T, b bundle) {
	var all []fleet.DeniedClaim // newest first
	for _, id := range []fleet.RunID{"0r1", "0r2"} {
		must.Do(t, b.AddRun(t.Context(), plannedRun(id)))
	}
	deny := func(run fleet.RunID, key fleet.Key, holder fleet.Holder) {
		b.clock.Advance(time.Second)
		d := fleet.DeniedClaim{Run: run, Category: "code", Key: key, Holder: holder, At: b.clock.Now()}
		must.Do(t, storekit.Deny(t.Context(), b, d))
		all = append([]fleet.DeniedClaim{d}, all...)
	}
	deny("0r1", "a", bob)
	deny("0r1", "b", alice)
	deny("0r2", "a", alice)
	for _, tt := range []struct {
		query store.DenialQuery
		want  []fleet.DeniedClaim
	}{
		{store.DenialQuery{Limit: 9}, all},
		{store.DenialQuery{Limit: 2}, all[:2]},
		{store.DenialQuery{}, nil},
		{store.DenialQuery{Run: "0r1", Limit: 9}, all[1:]},
		{store.DenialQuery{Run: "0r1", Limit: 1}, all[1:2]},
		{store.DenialQuery{Key: "a", Limit: 9}, []fleet.DeniedClaim{all[0], all[2]}},
		{store.DenialQuery{Run: "0r1", Key: "a", Limit: 9}, all[2:]},
		{store.DenialQuery{Run: "0r3", Limit: 9}, nil},
	} {
		got := must.Get(b.LastDenials(t.Context(), tt.query))(t)
		same(t, fmt.Sprintf("%+v", tt.query), got, tt.want)
	}
	since := must.Get(b.DeniedClaims(t.Context(), all[1].At))(t)
	same(t, "since the second", since, []fleet.DeniedClaim{all[1], all[0]})
}

func (contract) LessonUses(t *testing.T, b bundle) {
	want := []fleet.LessonUse{{Lesson: "errors", Injected: true}, {Lesson: "style"}}
	b.begun(t, "0r1", want[1], want[0])
	b.begun(t, "0r2")
	for id, want := range map[fleet.RunID][]fleet.LessonUse{"0r1": want, "0r2": nil, "0none": nil} {
		got := must.Get(b.LessonUses(t.Context(), id))(t)
		same(t, "lessons of run "+string(id), got, want)
	}
}
