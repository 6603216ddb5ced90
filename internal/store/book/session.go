package book

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// AddRun stores a run that is to begin. That the very same is there already, and has not begun, is
// fine.
func (p Tx) AddRun(r fleet.Run) error {
	p.Ahead(p.seat(r.Seat)...)
	if there, found := p.run(r.ID); found && reflect.DeepEqual(there, p.planned(r)) {
		return nil
	}
	return p.plan(r)
}

// plan stores a run that is to begin.
func (p Tx) plan(r fleet.Run) error {
	if err := p.isCurrent(r.Seat); err != nil {
		return err
	}
	if _, found := p.run(r.ID); found {
		return fmt.Errorf("a run of this id is on record already: %w", fleet.ErrUsage)
	}
	p.Runs.Put(p.planned(r))
	return nil
}

// planned is the row of a run that is to begin, with the task that it is to try first.
func (p Tx) planned(r fleet.Run) table.Run {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = p.Now()
	}
	return table.Run{Run: fleet.Run{
		ID: r.ID, Seat: r.Seat, Fire: r.Fire, Category: r.Category, Rank: r.Rank, ChainDepth: r.ChainDepth, Source: r.Source, Unit: r.Unit,
		Agent: r.Agent, Task: r.Task, CreatedAt: table.Whole(r.CreatedAt), NotBefore: table.Whole(r.NotBefore),
	}}
}

// BeginRun marks a run as begun by a process, once. That the process says it again changes nothing.
// A run that is not on record, which its process has read there, was lost by a store that went back.
func (p Tx) BeginRun(id fleet.RunID, pid int) error {
	r, found := p.run(id)
	switch {
	case !found:
		return fmt.Errorf("run %s is not on record any more: %w", id, fleet.ErrLost)
	case !r.EndedAt.IsZero(), !r.StartedAt.IsZero() && r.PID != pid:
		return fmt.Errorf("run %s has begun or ended already: %w", id, fleet.ErrUsage)
	case r.StartedAt.IsZero():
		r.StartedAt, r.PID = p.Now(), pid
		p.Runs.Put(r)
	}
	return nil
}

// OnBranch records the branch that a run works on.
func (p Tx) OnBranch(id fleet.RunID, branch string) error {
	r, err := p.open(id)
	if err != nil {
		return err
	}
	r.Branch = branch
	p.Runs.Put(r)
	return nil
}

// TakeLane takes the claim of a lane for a run, and unless it is denied records that the run holds
// the lane, whose category it works from then on.
func (p Tx) TakeLane(l store.LaneTake) (fleet.Grant, fleet.Claim, error) {
	p.Ahead(p.Runs.Like(runRow(l.Run)), p.Holds.Ask("category", l.Category, "released_at", nil))
	grant, c, err := p.Take(store.TakeRequest{Key: fleet.LaneKey(l.Category, l.Lane), Holder: l.Run.Holder(), Renews: true, TTL: l.TTL})
	if err != nil || grant == fleet.Denied {
		return grant, c, err
	}
	r, err := p.open(l.Run)
	if err != nil {
		return "", fleet.Claim{}, err
	}
	has := false
	for _, h := range p.Holds.Where("category", l.Category, "released_at", nil) {
		has = has || h.Run == l.Run && h.Lane == l.Lane
	}
	if !has {
		p.Holds.Put(table.Hold{LaneHold: fleet.LaneHold{Run: l.Run, Category: l.Category, Lane: l.Lane, AcquiredAt: p.Now()}, Host: r.Host})
	}
	r.Category, r.Lane = l.Category, l.Lane
	p.Runs.Put(r)
	return grant, c, nil
}

// TakeForRun takes a claim for a run and, unless it is denied, has its session begin.
func (p Tx) TakeForRun(t store.RunTake) (fleet.Grant, fleet.Claim, error) {
	p.begins(t)
	grant, c, err := p.Take(t.TakeRequest)
	if err != nil || grant == fleet.Denied {
		return grant, c, err
	}
	r, err := p.open(t.Run)
	if err != nil {
		return "", fleet.Claim{}, err
	}
	counted := r.Key == c.Key && r.Epoch == c.Epoch // the run is at work under this very claim
	r.Task, r.Key, r.Epoch = t.Task, c.Key, c.Epoch
	for _, u := range p.Uses.Where("run", t.Run) { // of a task tried before
		p.Uses.Delete(u)
	}
	for _, u := range t.Lessons {
		p.Uses.Put(table.LessonUse{Run: t.Run, LessonUse: u})
	}
	if !counted {
		if err := p.begin(t, &r); err != nil {
			return "", fleet.Claim{}, err
		}
	}
	p.Runs.Put(r)
	return grant, c, nil
}

// begins asks for all that a session begins by.
func (p Tx) begins(t store.RunTake) {
	run := p.Runs.Like(runRow(t.Run))
	agent := run.Col("agent")
	if t.Agent != "" {
		agent = table.In([]string{t.Agent})
	}
	p.Ahead(run, p.Uses.Ask("run", t.Run), p.Tasks.Like(fleet.TaskMemory{Task: t.Task}), p.Open.Ask("ended_at", nil),
		p.Agents.Ask("agent", agent), p.Billed.Ask("agent", agent, lastBilled(agent)), p.Spent.Ask("day", p.Day()))
	p.Ahead(p.asksRanking()...)
	if t.Room.Takes { // a run that worked before may have its place
		p.Ahead(p.Places.Like(table.Place{Run: t.Run}), p.Places.Ask("given_at", nil), p.Away.Ask())
	}
}

// begin counts the session that a run begins, unless something has come in its way, and notes in the
// run's row which one it is, in what round and under what load.
func (p Tx) begin(t store.RunTake, r *table.Run) error {
	if err := AsPicked(t, p.task(t.Task)); err != nil {
		return err
	}
	for _, o := range p.underWay() { // at a task that no other run may be at: it came there since this one looked
		if o.ID != t.Run && o.Key != "" && slices.Contains(t.Apart, o.Task) {
			return NotApart(o.ID, o.Task)
		}
	}
	if r.Nth > 0 { // the worker never heard of its grant, which has expired: the session is on account
		return nil
	}
	m := p.learn(bandit.Event{Kind: bandit.Began, Category: r.Category, Run: r.ID})
	r.Round, r.Load, r.Nth = m.Round, m.Load, m.Nth
	return p.admit(t, r)
}

// admit refuses a run whose agent cannot work or whose budget is used up, and reserves
// for one that may go on, from every scope that it is of, what a session of its agent is expected
// to use.
func (p Tx) admit(t store.RunTake, r *table.Run) error {
	t.Agent = cmp.Or(t.Agent, r.Agent)
	a := p.agent(t.Agent)
	a.Bills = p.bills(a)
	ask := Admission{Terms: t.Terms, Now: p.Now(), State: a.On(r.Host)}
	if t.Room.Takes {
		away, _ := p.Away.Get(fleet.Away{})
		ask.Taken, ask.Away = len(p.Places.Where("given_at", nil)), away.At(p.Now())
	}
	for _, o := range p.underWay() {
		if o.ID == t.Run {
			continue
		}
		ask.Probing = ask.Probing || o.ID == ask.State.Probe
		if o.Agent == t.Agent && o.Key != "" {
			ask.Busy++
		}
	}
	for _, b := range t.Budgets {
		ask.Spent = append(ask.Spent, p.spent(p.Today(), b.Scope).Spent)
	}
	if refusals := ask.Refusals(); len(refusals) > 0 {
		return refusals[0]
	}
	if ask.State.Tried() {
		a.Probe = t.Run
		p.putAgent(a)
	}
	tokens, usd := a.Expected(t.Budgets)
	for _, scope := range scopes(t.Agent, r.Category) {
		p.spend(p.Today(), fleet.Spent{Scope: scope, Runs: 1, Tokens: tokens, USD: usd, Guessed: usd})
	}
	r.Agent, r.Box, r.Day, r.ReservedTokens, r.ReservedUSD = t.Agent, t.Box, p.Today(), tokens, usd
	if t.Room.Takes {
		p.takePlace(t.Run, p.Now())
	}
	return nil
}

// bills are those of an agent's last sessions, newest first.
func (p Tx) bills(a table.Agent) (list []fleet.Bill) {
	for _, r := range slices.Backward(p.Billed.Where("agent", a.Agent, lastBilled(table.In([]string{a.Agent})))) {
		if r.Bill <= a.BilledAfter || len(list) == fleet.BillsKept {
			continue
		}
		b := fleet.Bill{Run: r.ID, Usage: fleet.Usage{Tokens: r.Usage.Tokens}}
		if r.Usage.Cost == fleet.CostReported || r.Usage.Cost == fleet.CostComputed {
			b.USD = r.Usage.USD
		}
		list = append(list, b)
	}
	return list
}

func scopes(agent string, c fleet.Category) []fleet.Scope {
	return []fleet.Scope{fleet.FleetScope, fleet.AgentScope(agent), fleet.CategoryScope(c)}
}

func (p Tx) spent(day string, scope fleet.Scope) table.Spent {
	for _, s := range p.Spent.Where("day", day) {
		if s.Scope == scope {
			return s
		}
	}
	return table.Spent{Day: day, Spent: fleet.Spent{Scope: scope}}
}

// spend adds to what a scope used in a day.
func (p Tx) spend(day string, more fleet.Spent) {
	s := p.spent(day, more.Scope)
	s.Runs += more.Runs
	s.Tokens += more.Tokens
	s.USD += more.USD
	s.Guessed += more.Guessed
	p.Spent.Put(s)
}

// newestRun bounds runs by the one that was made last, and latestID a table's rows by the one with the last number.
func newestRun() table.Only { return table.Only{SQL: "order by id desc limit 1"} }

func latestID(of string) table.Only { return table.Only{SQL: "id = (select max(id) from " + of + ")"} }

// ResetBudget strikes out what a scope used today, and returns it. The sessions under way settle
// their reserves when they end. A reset that changes nothing is not recorded.
func (p Tx) ResetBudget(scope fleet.Scope, reason string) (before fleet.Spent) {
	p.Ahead(p.Open.Ask("ended_at", nil), p.Spent.Ask("day", p.Day()), p.Agents.Ask(), p.Billed.Ask(newestRun()), p.Resets.Ask(latestID("resets")))
	before = p.spent(p.Today(), scope).Spent
	found := before != fleet.Spent{Scope: scope}
	kept := fleet.Spent{Scope: scope}
	for _, o := range p.underWay() {
		if found && o.Day == p.Today() && slices.Contains(scopes(o.Agent, o.Category), scope) {
			kept.Runs++
			kept.Tokens += o.ReservedTokens
			kept.USD += o.ReservedUSD
			kept.Guessed += o.ReservedUSD
		}
	}
	changed := kept != before
	if changed {
		p.Spent.Put(table.Spent{Day: p.Today(), Spent: kept})
	}
	newest := p.Billed.Last(newestRun()).ID
	for _, a := range p.Agents.Where() {
		if fleet.AgentScope(a.Agent) == scope && a.BilledAfter != newest {
			a.BilledAfter, changed = newest, true
			p.Agents.Put(a)
		}
	}
	if changed {
		p.Resets.Put(table.Reset{
			ID: p.Resets.Last(latestID("resets")).ID + 1, At: p.Now(), Scope: scope, Reason: reason, Runs: before.Runs, Tokens: before.Tokens, USD: before.USD,
			KeptRuns: kept.Runs, KeptTokens: kept.Tokens, KeptUSD: kept.USD,
		})
	}
	return before
}

// Due notes that a notice goes out, unless the same news did a short while ago. If many
// workers bring it at once, it is due for one of them. A note from the future is of a clock
// that was set back, and holds nothing up.
func (p Tx) Due(n table.Notice, every time.Duration) bool {
	last, found := p.Notices.Get(n)
	if found && !last.At.After(p.Now()) && last.At.After(p.Now().Add(-every)) {
		return false
	}
	n.At = p.Now()
	p.Notices.Put(n)
	return true
}
