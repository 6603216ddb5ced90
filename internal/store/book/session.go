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
)

// AddRun stores a run that is to begin. That the very same is there already, and has not begun, is
// fine.
func (p *Page) AddRun(r fleet.Run) error {
	if there, found := p.run(r.ID); found && reflect.DeepEqual(there, p.planned(r)) {
		return nil
	}
	return p.plan(r)
}

// plan stores a run that is to begin.
func (p *Page) plan(r fleet.Run) error {
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
func (p *Page) planned(r fleet.Run) Run {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = p.Now
	}
	return Run{Run: fleet.Run{
		ID: r.ID, Seat: r.Seat, Fire: r.Fire, Category: r.Category, Rank: r.Rank, ChainDepth: r.ChainDepth, Source: r.Source, Unit: r.Unit,
		Agent: r.Agent, Task: r.Task, CreatedAt: whole(r.CreatedAt), NotBefore: whole(r.NotBefore),
	}}
}

// BeginRun marks a run as begun by a process, once. That the process says it again changes nothing.
// A run that is not on record, which its process has read there, was lost by a store that went back.
func (p *Page) BeginRun(id fleet.RunID, pid int) error {
	r, found := p.run(id)
	switch {
	case !found:
		return fmt.Errorf("run %s is not on record any more: %w", id, fleet.ErrLost)
	case !r.EndedAt.IsZero(), !r.StartedAt.IsZero() && r.PID != pid:
		return fmt.Errorf("run %s has begun or ended already: %w", id, fleet.ErrUsage)
	case r.StartedAt.IsZero():
		r.StartedAt, r.PID = p.Now, pid
		p.Runs.Put(r)
	}
	return nil
}

// OnBranch records the branch that a run works on.
func (p *Page) OnBranch(id fleet.RunID, branch string) error {
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
func (p *Page) TakeLane(l store.LaneTake) (fleet.Grant, fleet.Claim, error) {
	grant, c, err := p.Take(store.TakeRequest{Key: fleet.LaneKey(l.Category, l.Lane), Holder: l.Run.Holder(), Renews: true, TTL: l.TTL})
	if err != nil || grant == fleet.Denied {
		return grant, c, err
	}
	r, err := p.open(l.Run)
	if err != nil {
		return "", fleet.Claim{}, err
	}
	taken, has := 0, false // on the run's machine, by others
	for h := range p.Holds.All() {
		switch {
		case !h.ReleasedAt.IsZero() || h.Category != l.Category:
		case h.Run == l.Run:
			has = has || h.Lane == l.Lane
		case h.Host == r.Host:
			taken++
		}
	}
	if err := RoomForLane(l, taken); err != nil {
		return "", fleet.Claim{}, err
	}
	if !has {
		p.Holds.Put(Hold{fleet.LaneHold{Run: l.Run, Category: l.Category, Lane: l.Lane, AcquiredAt: p.Now}, r.Host})
	}
	r.Category, r.Lane = l.Category, l.Lane
	p.Runs.Put(r)
	return grant, c, nil
}

// TakeForRun takes a claim for a run and, unless it is denied, has its session begin.
func (p *Page) TakeForRun(t store.RunTake) (fleet.Grant, fleet.Claim, error) {
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
	p.Uses.DeleteAll(func(u LessonUse) bool { return u.Run == t.Run }) // of a task tried before
	for _, u := range t.Lessons {
		p.Uses.Put(LessonUse{t.Run, u})
	}
	if !counted {
		if err := p.begin(t, &r); err != nil {
			return "", fleet.Claim{}, err
		}
	}
	p.Runs.Put(r)
	return grant, c, nil
}

// begin counts the session that a run begins, unless something has come in its way, and notes in the
// run's row which one it is, in what round and under what load.
func (p *Page) begin(t store.RunTake, r *Run) error {
	if err := AsPicked(t, p.task(t.Task)); err != nil {
		return err
	}
	for _, o := range p.Open { // at a task that no other run may be at: it came there since this one looked
		if o.ID != t.Run && o.Key != "" && slices.Contains(t.Apart, o.Task) {
			return NotApart(o.ID, o.Task)
		}
	}
	if r.Nth > 0 { // the worker never heard of its grant, which has expired: the session is on account
		return nil
	}
	p.changeArm(r.Category, func(a *bandit.Arm) {
		r.Load = a.Debit(a.Round)
		r.Round, r.Nth = a.Round, a.Sessions
	})
	return p.admit(t, r)
}

// admit refuses a run whose agent cannot work or whose budget is used up, and reserves
// for one that may go on, from every scope that it is of, what a session of its agent is expected
// to use.
func (p *Page) admit(t store.RunTake, r *Run) error {
	t.Agent = cmp.Or(t.Agent, r.Agent)
	a := p.agent(t.Agent)
	a.Bills = p.Bills
	ask := Admission{Terms: t.Terms, Now: p.Now, State: a.On(r.Host), Taken: p.Taken}
	for _, o := range p.Open {
		if o.ID == t.Run {
			continue
		}
		ask.Probing = ask.Probing || o.ID == ask.State.Probe
		if o.Agent == t.Agent && o.Key != "" {
			ask.Busy++
		}
	}
	for _, b := range t.Budgets {
		ask.Spent = append(ask.Spent, p.spent(p.today(), b.Scope).Spent)
	}
	away, _ := p.Away.Get(fleet.Away{})
	ask.Away = away.At(p.Now)
	if refusals := ask.Refusals(); len(refusals) > 0 {
		return refusals[0]
	}
	if ask.State.Tried() {
		a.Probe = t.Run
		p.putAgent(a)
	}
	tokens, usd := a.Expected(t.Budgets)
	for _, scope := range scopes(t.Agent, r.Category) {
		p.spend(p.today(), fleet.Spent{Scope: scope, Runs: 1, Tokens: tokens, USD: usd, Guessed: usd})
	}
	r.Agent, r.Box, r.Day, r.ReservedTokens, r.ReservedUSD = t.Agent, t.Box, p.today(), tokens, usd
	if t.Room.Takes {
		p.takePlace(t.Run, p.Now)
	}
	return nil
}

func scopes(agent string, c fleet.Category) []fleet.Scope {
	return []fleet.Scope{fleet.FleetScope, fleet.AgentScope(agent), fleet.CategoryScope(c)}
}

func (p *Page) spent(day string, scope fleet.Scope) Spent {
	s, _ := p.Spent.Get(Spent{Day: day, Spent: fleet.Spent{Scope: scope}})
	return s
}

// spend adds to what a scope used in a day.
func (p *Page) spend(day string, more fleet.Spent) {
	s := p.spent(day, more.Scope)
	s.Runs += more.Runs
	s.Tokens += more.Tokens
	s.USD += more.USD
	s.Guessed += more.Guessed
	p.Spent.Put(s)
}

// ResetBudget strikes out what a scope used today, and returns it. The sessions under way settle
// their reserves when they end. A reset that changes nothing is not recorded.
func (p *Page) ResetBudget(scope fleet.Scope, reason string) (before fleet.Spent) {
	row, found := p.Spent.Get(Spent{Day: p.today(), Spent: fleet.Spent{Scope: scope}})
	before = row.Spent
	kept := fleet.Spent{Scope: scope}
	for _, o := range p.Open {
		if found && o.Day == p.today() && slices.Contains(scopes(o.Agent, o.Category), scope) {
			kept.Runs++
			kept.Tokens += o.ReservedTokens
			kept.USD += o.ReservedUSD
			kept.Guessed += o.ReservedUSD
		}
	}
	changed := kept != before
	if changed {
		p.Spent.Put(Spent{p.today(), kept})
	}
	for a := range p.Agents.All() {
		if fleet.AgentScope(a.Agent) == scope && a.BilledAfter != p.Newest {
			a.BilledAfter, changed = p.Newest, true
			p.Agents.Put(a)
		}
	}
	if changed {
		p.Resets.Add(Reset{
			At: p.Now, Scope: scope, Reason: reason, Runs: before.Runs, Tokens: before.Tokens, USD: before.USD,
			KeptRuns: kept.Runs, KeptTokens: kept.Tokens, KeptUSD: kept.USD,
		})
	}
	return before
}

// Due notes that a notice goes out, unless the same news did a short while ago. If many
// workers bring it at once, it is due for one of them. A note from the future is of a clock
// that was set back, and holds nothing up.
func (p *Page) Due(n Notice, every time.Duration) bool {
	last, found := p.Notices.Get(n)
	if found && !last.At.After(p.Now) && last.At.After(p.Now.Add(-every)) {
		return false
	}
	n.At = p.Now
	p.Notices.Put(n)
	return true
}
