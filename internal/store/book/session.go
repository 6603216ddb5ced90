package book

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/table"
)

// AddRun stores a run that is to begin. A repeat before the run has begun succeeds.
func (p Tx) AddRun(r fleet.Run) error {
	p.Ahead(p.seat(r.Location)...)
	if there, found := p.run(r.ID); found && reflect.DeepEqual(there, p.planned(r)) {
		return nil
	}
	return p.plan(r)
}

// plan stores a run that is to begin.
func (p Tx) plan(r fleet.Run) error {
	if err := p.isCurrent(r.Location); err != nil {
		return err
	}
	if _, found := p.run(r.ID); found {
		return fmt.Errorf("a run of this id is on record already: %w", fleet.ErrUsage)
	}
	p.Runs.Put(p.planned(r))
	return nil
}

// planned returns the row of a run that is to begin, with its first task.
func (p Tx) planned(r fleet.Run) table.Run {
	if r.CreatedAt.IsZero() {
		r.CreatedAt = p.Now()
	}
	return table.Run{Run: fleet.Run{
		ID: r.ID, Location: r.Location, Fire: r.Fire, Category: r.Category, Rank: r.Rank, ChainDepth: r.ChainDepth, Source: r.Source, Unit: r.Unit,
		Agent: r.Agent, Task: r.Task, CreatedAt: table.Whole(r.CreatedAt), NotBefore: table.Whole(r.NotBefore), Limit: r.Limit,
	}}
}

// OnBranch records the branch that a run works on, and its conversation.
func (p Tx) OnBranch(id fleet.RunID, branch string, c fleet.Conversation) error {
	r, err := p.open(id)
	if err != nil {
		return err
	}
	r.Branch, r.Conversation = branch, c
	p.Runs.Put(r)
	return nil
}

// Begin has a run begin a session.
func (p Tx) Begin(b store.Begin) (begun store.Begun, err error) {
	p.begins(b)
	r, err := p.open(b.Run)
	if err != nil {
		return begun, err
	}
	if !r.StartedAt.IsZero() && r.PID != b.PID {
		return begun, fmt.Errorf("run %s was begun by process %d: %w", b.Run, r.PID, fleet.ErrLost)
	}
	row := r
	var lane table.Claim
	if b.Lane > 0 {
		grant, c, err := p.grant(b.Take(fleet.LaneKey(b.Category, b.Lane)))
		if err != nil || grant == fleet.Denied {
			return store.Begun{Lane: c.Claim}, err
		}
		lane, r.Category, r.Lane = c, b.Category, b.Lane
	}
	for i, o := range b.Offers {
		grant, c := fleet.Granted, lane
		if o.Key != "" && o.Key != lane.Key {
			if grant, c, err = p.grant(b.Take(o.Key)); err != nil {
				return begun, err
			}
		}
		switch has := row.Key != "" && Holds(p.claim(row.Key).Claim, store.Hold{Key: row.Key, Holder: b.Run.Holder(), Epoch: row.Epoch}, p.Now()); {
		case has && row.Key != c.Key: // the run has another session: the caller got no answer
			continue
		case has:
		case grant == fleet.Denied:
			begun.Denied = append(begun.Denied, store.Denial{Claim: c.Claim, Reason: c.Denial()})
			p.deny(fleet.DeniedClaim{Run: r.ID, Category: r.Category, Key: c.Key, Holder: c.Holder})
			continue
		default:
			if reason := p.overtaken(b.Run, o); reason != "" {
				begun.Denied = append(begun.Denied, store.Denial{Reason: reason})
				continue
			}
			if begun.Refused = p.start(b, o, &r); begun.Refused.Reason != "" {
				return begun, nil
			}
		}
		r.Task, r.Key, r.Epoch = o.Task, c.Key, c.Epoch
		r.Lessons = slices.SortedFunc(slices.Values(o.Lessons), func(a, b fleet.LessonUse) int { return cmp.Compare(a.Lesson, b.Lesson) })
		p.Claims.Put(c)
		begun.Claim, begun.Offer, begun.Agent = c.Claim, i, r.Agent
		break
	}
	if len(b.Offers) == 0 {
		begun.Claim = lane.Claim
	}
	if begun.Claim.Key == "" {
		return begun, nil
	}
	if lane.Key != "" {
		p.Claims.Put(lane)
		if !row.InLane() || row.Category != b.Category || row.Lane != b.Lane {
			r.LaneAt, r.LaneLeft = p.Now(), time.Time{}
		}
	}
	if r.StartedAt.IsZero() {
		r.StartedAt, r.PID = p.Now(), b.PID
	}
	p.Runs.Put(r)
	return begun, nil
}

// begins asks for all rows that a session's begin needs.
func (p Tx) begins(b store.Begin) {
	run := p.Runs.Like(runRow(b.Run))
	if b.Lane > 0 {
		p.Ahead(p.Claims.Like(claimRow(fleet.LaneKey(b.Category, b.Lane))))
	}
	p.Ahead(run, p.Denials.Ask(latestID("denials")), p.Open.Ask("ended_at", nil), p.Spent.Ask("day", p.Day()))
	p.Ahead(p.asksRanking()...)
	for _, o := range b.Offers {
		p.Ahead(p.Tasks.Like(fleet.TaskMemory{Task: o.Task}), p.Claims.Like(claimRow(o.Key)))
	}
	for _, t := range b.Agents {
		agent := run.Col("agent")
		if t.Agent != "" {
			agent = table.In([]string{t.Agent})
		}
		p.Ahead(p.Agents.Ask("agent", agent))
		if t.Room.Takes { // a run that worked before may hold its place
			p.Ahead(p.Reviews.Like(reviewRow(b.Run)), p.Reviews.Ask("taken", 1), p.Fleet.Ask())
		}
	}
}

// overtaken returns the reason against an offer that arose since the run looked, or "".
func (p Tx) overtaken(run fleet.RunID, o store.Offer) string {
	if reason := TaskChanged(o, p.task(o.Task)); reason != "" {
		return reason
	}
	for _, at := range p.underWay() { // a task on which no other run may work
		if at.ID != run && at.Key != "" && slices.Contains(o.Excluded, at.Task) {
			return fmt.Sprintf("run %s took task %q while this run looked, and [review] serialize has files of both", at.ID, at.Task)
		}
	}
	return ""
}

func (p Tx) deny(d fleet.DeniedClaim) {
	d.At = p.Now()
	p.Denials.Put(table.Denial{ID: p.Denials.Last(latestID("denials")).ID + 1, DeniedClaim: d})
}

// start charges a session to the first agent that can work, and writes agent, round and load to the run's row. If no
// agent can work, it refuses the run.
func (p Tx) start(b store.Begin, o store.Offer, r *table.Run) fleet.RefusedError {
	if r.Nth > 0 { // the worker got no answer, and its grant has expired: the session is charged already
		return fleet.RefusedError{}
	}
	var refusals []fleet.RefusedError
	agents := b.Agents
	if len(agents) == 0 {
		agents = []fleet.Terms{{}}
	}
	for _, t := range agents {
		t.Agent = cmp.Or(t.Agent, r.Agent)
		if o.Roomy {
			t.Room = fleet.Room{}
		}
		refused := p.admit(t, r)
		if refused.Reason != "" {
			refusals = append(refusals, refused)
			continue
		}
		m := p.learn(rank.Event{Kind: rank.Began, Category: r.Category, Run: r.ID})
		r.Round, r.Load, r.Nth = m.Round, m.Load, m.Nth
		r.Branch = o.Branch
		if o.Owed.Owed != "" {
			p.remember(fleet.TaskMemory{Task: o.Task, Run: r.ID, TaskLeft: o.Owed})
		}
		return fleet.RefusedError{}
	}
	return allRefused(refusals)
}

// allRefused joins the refusals of a run's agents into one.
func allRefused(list []fleet.RefusedError) fleet.RefusedError {
	all := fleet.RefusedError{Outcome: fleet.Unavailable}
	if len(list) == 1 {
		return list[0]
	}
	var reasons []string
	for _, r := range list {
		reasons = append(reasons, r.Reason)
		all.Scope = cmp.Or(all.Scope, r.Scope)
		if r.Outcome == fleet.Busy || r.Outcome == fleet.Quota && all.Outcome != fleet.Busy {
			all.Outcome = r.Outcome
		}
	}
	all.Reason = strings.Join(slices.Compact(reasons), "; ")
	return all
}

// admit refuses a run if its agent cannot work or a budget is used up. Otherwise it reserves the expected use of a
// session in all scopes of the run.
func (p Tx) admit(t fleet.Terms, r *table.Run) fleet.RefusedError {
	a := p.agent(t.Agent)
	a.Others = rank.Others(p.ranking().Pairs, t.Agent)
	ask := Admission{Terms: t, Now: p.Now(), State: a.For(r.Category, r.Host), Host: r.Host}
	if t.Room.Takes {
		ask.Taken, ask.Away = len(p.Reviews.Where("taken", 1)), p.fleet().Away.At(p.Now())
	}
	for _, o := range p.underWay() {
		if o.ID == r.ID {
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
		a.Probe = r.ID
		p.putAgent(a)
	}
	tokens, usd := a.Expected(t.Budgets)
	for _, scope := range scopes(t.Agent, r.Category) {
		p.spend(p.Today(), fleet.Spent{Scope: scope, Runs: 1, Tokens: tokens, USD: usd, Guessed: usd})
	}
	r.Agent, r.Box, r.Day, r.ReservedTokens, r.ReservedUSD = t.Agent, t.Box, p.Today(), tokens, usd
	if t.Room.Takes {
		p.takePlace(r.ID, p.Now())
	}
	return fleet.RefusedError{}
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

// spend adds to a scope's use of a day.
func (p Tx) spend(day string, more fleet.Spent) {
	s := p.spent(day, more.Scope)
	s.Runs += more.Runs
	s.Tokens += more.Tokens
	s.USD += more.USD
	s.Guessed += more.Guessed
	p.Spent.Put(s)
}

// latestID selects the row with the greatest number.
func latestID(of string) table.Only { return table.Only{SQL: "id = (select max(id) from " + of + ")"} }

// ResetBudget strikes out a scope's use of today, and returns it. Open sessions keep their reserves, and settle them at
// their end. A reset that changes nothing is not recorded.
func (p Tx) ResetBudget(scope fleet.Scope, reason string) (before fleet.Spent) {
	p.Ahead(p.Open.Ask("ended_at", nil), p.Spent.Ask("day", p.Day()), p.Agents.Ask(), p.Resets.Ask(latestID("resets")))
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
	for _, a := range p.Agents.Where() {
		if fleet.AgentScope(a.Agent) == scope && len(a.Bills) > 0 {
			a.Bills, changed = nil, true
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

// Due notes that a notice goes out, unless the same one did a short while ago. Of many workers with the same news, one
// sends it. A note from the future was made by a clock that was set back, and stops nothing.
func (p Tx) Due(n table.Notice, every time.Duration) bool {
	last, found := p.Notices.Get(n)
	if found && !last.At.After(p.Now()) && last.At.After(p.Now().Add(-every)) {
		return false
	}
	n.At = p.Now()
	p.Notices.Put(n)
	return true
}
