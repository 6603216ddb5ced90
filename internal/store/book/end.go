package book

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/table"
)

// Complete ends a run. A run without a claim, or that lost it, counts no grade.
func (p Tx) Complete(r fleet.Run) error {
	p.ends(r.ID)
	if r.NoWork {
		p.Ahead(p.Reviews.Like(reviewRow(r.ID)))
	}
	p.Ahead(p.Claims.Like(claimRow(r.Key)))
	fenced := r.Key != "" && r.Verdict.Outcome != fleet.Lost
	if !fenced {
		r.Verdict.Grade = nil
	}
	if p.repeatsEnd(r) {
		return nil
	}
	if fenced {
		if err := p.Fence(store.Hold{Key: r.Key, Holder: r.ID.Holder(), Epoch: r.Epoch}, p.endOf(r)); err != nil {
			return err
		}
	}
	return p.end(r)
}

// ends asks for all rows that a run's end needs.
func (p Tx) ends(id fleet.RunID) {
	run := p.Runs.Like(runRow(id))
	held := p.Runs.Ask("agent", run.Col("agent"), "held", 1)
	p.Ahead(p.Claims.Ask("holder", id.Holder(), "released_at", nil))
	p.Ahead(run, held, p.Agents.Ask("agent", run.Col("agent")), p.Spent.Ask("day", run.Col("day")))
	p.Ahead(p.Tasks.Ask("task", run.Col("task")), p.Lessons.Ask("category", run.Col("category")))
	p.Ahead(p.asksRanking()...)
}

// repeatsEnd reports whether the run has ended on record with this verdict.
func (p Tx) repeatsEnd(r fleet.Run) bool {
	recorded, found := p.run(r.ID)
	return found && !recorded.EndedAt.IsZero() && RepeatsEnd(recorded.Run, r)
}

// RepeatsEnd reports whether a run has ended on record with the verdict of this end: the caller got no answer, and
// repeats it.
func RepeatsEnd(recorded, end fleet.Run) bool {
	was, v := recorded.Verdict, end.Verdict
	grade := same(was.Grade, v.Grade) ||
		was.Grade == nil && was.Fault == fleet.FaultAgent // the record removed its grade, see [Judge]
	return recorded.ID == end.ID && recorded.Key == end.Key && recorded.Epoch == end.Epoch &&
		was.Outcome == v.Outcome && was.Reason == store.Text(v.Reason) && was.TaskState == v.TaskState && same(was.ExitStatus, v.ExitStatus) && grade
}

// same reports whether two values, of which either may be unknown, are equal.
func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// endOf returns a run's end, which is in the past if it could not be recorded then.
func (p Tx) endOf(r fleet.Run) time.Time {
	if r.EndedAt.IsZero() || r.EndedAt.After(p.Now()) {
		return p.Now()
	}
	return r.EndedAt
}

func (p Tx) end(r fleet.Run) error {
	row, found := p.run(r.ID)
	late := found && p.overran(&row, r)
	if late && !row.EndedAt.IsZero() { // others closed the run meanwhile; this is the word of its own machine
		p.Runs.Put(row)
		return nil
	}
	if !found || !row.EndedAt.IsZero() {
		return fmt.Errorf("it has ended already: %w", fleet.ErrLost)
	}
	if row.Key == "" {
		row.Task = "" // the task that it was to try, and did not
	}
	// The record names the session's task and agent.
	r.Category, r.Source, r.Agent, r.Task, r.Key, r.Epoch = row.Category, row.Source, row.Agent, row.Task, row.Key, row.Epoch
	p.judgeAgent(&r)
	row.EndedAt, row.Verdict, row.Deferred = table.Whole(p.endOf(r)), r.Verdict, r.Deferred
	row.Usage, row.Commits, row.Branch, row.QuotaUntil = r.Usage, r.Commits, r.Branch, table.Whole(r.QuotaUntil)
	row.Conversation = r.Conversation
	if row.StartedAt.IsZero() { // its worker found no session
		row.StartedAt = row.EndedAt
	}
	row.LeaveLane(p.Now())
	p.settle(&row)
	p.price(row.Run)
	p.bill(r)
	if a := p.agent(r.Agent); len(r.Usage.Windows) > 0 {
		a.Heard(r.Usage.Windows, row.Host, p.Now())
		p.putAgent(a)
	}
	p.Runs.Put(row)
	p.keepTail(r.ID, r.Tail)
	p.judgeTask(r)
	p.learnFrom(r)
	if r.NoWork {
		p.emptyPlace(r.ID)
	}
	p.giveBack(r.ID, "", func(key fleet.Key) fleet.Ending {
		if !key.IsLane() && r.Left.State.Settled() {
			return fleet.EndingDone
		}
		return fleet.EndingReleased
	})
	return nil
}

// bill keeps a session's use, to predict the cost of its agent's next one.
func (p Tx) bill(r fleet.Run) {
	b := fleet.Bill{Run: r.ID, Usage: fleet.Usage{Tokens: r.Usage.Tokens}}
	if r.Usage.Cost == fleet.CostReported || r.Usage.Cost == fleet.CostComputed {
		b.USD = r.Usage.USD
	}
	if !worked(r) || idle(r) || b.Tokens == nil && b.USD == nil {
		return
	}
	a := p.agent(r.Agent)
	a.Bills = append([]fleet.Bill{b}, a.Bills...)
	slices.SortFunc(a.Bills, func(a, b fleet.Bill) int { return cmp.Compare(b.Run, a.Run) })
	a.Bills = a.Bills[:min(len(a.Bills), fleet.BillsKept)]
	p.putAgent(a)
}

// worked reports whether an agent worked to its end.
func worked(r fleet.Run) bool {
	return slices.Contains([]fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Timeout}, r.Verdict.Outcome)
}

// idle reports whether the use of a run is known to be nothing, without an agent that said so: none began.
func idle(r fleet.Run) bool { return r.Usage.USD != nil && *r.Usage.USD == 0 && r.Usage.Cost == "" }

// overran notes that a session ended after its lease, by the word of its own machine.
func (p Tx) overran(r *table.Run, of fleet.Run) bool {
	over, end := r.LeaseOver, p.endOf(of)
	switch c := p.claim(r.Key); {
	case !over.IsZero() || r.Key == "" || r.Key != of.Key:
	case c.Holder == r.ID.Holder() && c.Epoch == r.Epoch:
		over = c.ExpiresAt
	case c.Epoch == r.Epoch+1:
		over = c.TookOver
	}
	if over.IsZero() || !end.After(over) {
		return false
	}
	r.LeaseOver, r.OverranTo = over, table.Whole(end)
	return true
}

// Abandon releases what a run still holds after its session is gone, and books the session's known use. The run ended
// when its session died; it holds its claims and lane until now. It reports whether anything was left.
func (p Tx) Abandon(g store.Gone) (left bool, err error) {
	p.ends(g.Run)
	p.Ahead(p.seat(g.By)...)
	if err := p.isCurrent(g.By); err != nil {
		return false, err
	}
	if row, _ := p.run(g.Run); g.Silent && !row.Silent(plain.Each(p.claims(g.Run.Holder()), func(c table.Claim) fleet.Claim { return c.Claim }), p.Now()) {
		return false, nil
	}
	return p.abandon(g), nil
}

func (p Tx) abandon(g store.Gone) (left bool) {
	if row, err := p.open(g.Run); err == nil {
		row.EndedAt, row.Verdict.Outcome, row.Verdict.Reason, row.Usage = table.Whole(p.endOf(fleet.Run{EndedAt: g.Died})), fleet.Abandoned, g.Reason, g.Used
		for _, c := range p.claims(g.Run.Holder()) {
			if c.Key == row.Key && !c.ExpiresAt.After(p.Now()) {
				row.LeaseOver = c.ExpiresAt
			}
		}
		row.Conversation.ID = cmp.Or(g.Spoke, row.Conversation.ID)
		row.LeaveLane(p.Now())
		p.settle(&row) // before the row is closed: then it has no account
		p.price(row.Run)
		p.Runs.Put(row)
		p.keepTail(g.Run, g.Tail)
		p.judgeTask(row.Run)
		left = true
	}
	return p.giveBack(g.Run, g.Reason, func(fleet.Key) fleet.Ending { return fleet.EndingAbandoned }) || left
}

// settle replaces a session's reserve by its use.
func (p Tx) settle(r *table.Run) {
	if r.Day == "" {
		return
	}
	change, assumed := Settle(fleet.Spent{Tokens: r.ReservedTokens, USD: r.ReservedUSD}, r.Run)
	for _, change.Scope = range scopes(r.Agent, r.Category) {
		p.spend(r.Day, change)
	}
	if assumed {
		r.Usage.USD, r.Usage.Cost = &r.ReservedUSD, fleet.CostAssumed
	}
	if change.Runs < 0 { // it no longer counts on any account
		r.Day, r.ReservedTokens, r.ReservedUSD = "", 0, 0
	}
}

// price tells the ranking the use of a session that had its claim, with or without a grade.
func (p Tx) price(r fleet.Run) {
	if r.Key == "" || r.Verdict.Internal || idle(r) {
		return
	}
	unknown := rank.Amounts{-1, -1, -1}
	use := unknown
	if worked(r) {
		use[rank.Hours] = r.EndedAt.Sub(r.StartedAt).Hours()
	}
	if r.Usage.USD != nil {
		use[rank.USD] = *r.Usage.USD
	}
	if r.Usage.Tokens != nil {
		use[rank.Tokens] = float64(*r.Usage.Tokens)
	}
	if use != unknown {
		p.learn(rank.Event{Kind: rank.Used, Category: r.Category, Agent: r.Agent, Use: use, Assumed: r.Usage.Cost == fleet.CostAssumed})
	}
}
