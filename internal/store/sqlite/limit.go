package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

const (
	// firstWall is how long an agent rests that met a usage limit and did not say for
	// how long; each further one doubles it, up to mostWall.
	firstWall, mostWall = 15 * time.Minute, 6 * time.Hour
	// lastingRest is how long an agent rests whose login or model needs a person: then one
	// session tries whether somebody came.
	lastingRest = time.Hour
	// firstFault is how long an agent rests whose service failed in a way that passes;
	// each further one doubles it, up to mostFault.
	firstFault, mostFault = 2 * time.Minute, time.Hour
	// openTime is how long an agent rests that failed again and again.
	openTime = 30 * time.Minute
)

// agentRow is what is known of an agent, as it learns.
type agentRow struct {
	fleet.AgentState
	billedAfter fleet.RunID // bills of runs up to this one count no more
}

const agentColumns = "agent, until, since, reason, failures, walls, fault, faults, probe, billed_after"

// billed reads the bills of an agent's last sessions that worked. The cost of other sessions
// says nothing of the next.
const billed = `select id, tokens, iif(cost in ('reported', 'computed'), usd, null) from runs
where agent = ? and id > ? and (tokens is not null or cost in ('reported', 'computed'))
and outcome in ('productive', 'noop', 'nothing', 'failed', 'timeout') order by id desc limit ?`

func scanAgent(row scanner) (a agentRow, err error) {
	var until, since int64
	err = row.Scan(&a.Agent, &until, &since, &a.Reason, &a.Failures, &a.Walls, &a.Fault, &a.Faults, &a.Probe, &a.billedAfter)
	if until > 0 {
		a.Until, a.Since = fromMillis(until), fromMillis(since)
	}
	return a, err
}

func (t tx) agent(ctx context.Context, name string) (agentRow, error) {
	a, err := scanAgent(t.QueryRowContext(ctx, "select "+agentColumns+" from agents where agent = ?", name))
	if errors.Is(err, sql.ErrNoRows) {
		return agentRow{AgentState: fleet.AgentState{Agent: name}}, nil
	}
	return a, err
}

func (t tx) bills(ctx context.Context, a agentRow) ([]fleet.Bill, error) {
	return collect(ctx, t, func(row scanner) (b fleet.Bill, err error) {
		err = row.Scan(&b.Run, &b.Tokens, &b.USD)
		return b, err
	}, billed, a.Agent, a.billedAfter, fleet.BillsKept)
}

func (t tx) putAgent(ctx context.Context, a agentRow) error {
	var until, since int64
	if !a.Until.IsZero() {
		until, since = millis(a.Until), millis(a.Since)
	}
	_, err := t.ExecContext(ctx, "insert or replace into agents ("+agentColumns+") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		a.Agent, until, since, a.Reason, a.Failures, a.Walls, a.Fault, a.Faults, a.Probe, a.billedAfter)
	return err
}

func (t tx) agents(ctx context.Context) (list []fleet.AgentState, err error) {
	rows, err := collect(ctx, t, scanAgent, "select "+agentColumns+" from agents order by agent")
	for _, a := range rows {
		if err == nil {
			a.Bills, err = t.bills(ctx, a)
		}
		list = append(list, a.AgentState)
	}
	return list, err
}

// isOpen reports whether a run has not ended.
func (t tx) isOpen(ctx context.Context, id fleet.RunID) (open bool, err error) {
	err = t.QueryRowContext(ctx, "select exists (select 1 from runs where id = ? and ended_at is null)", id).Scan(&open)
	return open, err
}

// admit refuses a run whose agent cannot work or whose budget is used up, and reserves
// for one that may go on.
func (t tx) admit(ctx context.Context, r store.RunTake) error {
	if r.Agent == "" {
		if err := t.QueryRowContext(ctx, "select agent from runs where id = ?", r.Run).Scan(&r.Agent); err != nil {
			return err
		}
	}
	a, err := t.agent(ctx, r.Agent)
	if err != nil {
		return err
	}
	probing, err := t.isOpen(ctx, a.Probe)
	if err != nil {
		return err
	}
	if reason := a.Blocked(t.now, probing && a.Probe != r.Run); reason != "" {
		return fleet.RefusedError{Reason: fmt.Sprintf("agent %s: %s", r.Agent, reason), Outcome: a.Refuses(t.now)}
	}
	if err := t.admitSlot(ctx, r); err != nil {
		return err
	}
	if a.Tried() {
		a.Probe = r.Run
		if err := t.putAgent(ctx, a); err != nil {
			return err
		}
	}
	if a.Bills, err = t.bills(ctx, a); err != nil {
		return err
	}
	tokens, usd := a.Expected(r.Budgets)
	return t.reserve(ctx, r, tokens, usd)
}

func (t tx) admitSlot(ctx context.Context, r store.RunTake) error {
	if r.Slots == 0 {
		return nil
	}
	var busy int
	err := t.QueryRowContext(ctx, "select count(*) from runs where ended_at is null and agent = ? and key <> '' and id <> ?",
		r.Agent, r.Run).Scan(&busy)
	if err == nil && busy >= r.Slots {
		return fleet.RefusedError{
			Reason: fmt.Sprintf("agent %s: all of its %d slots are in use", r.Agent, r.Slots), Outcome: fleet.Busy,
		}
	}
	return err
}

// today is the day of whose budgets a session is.
func (t tx) today() string { return t.now.UTC().Format(time.DateOnly) }

// reserve takes from every scope of the run what a session of its agent is expected to use.
func (t tx) reserve(ctx context.Context, r store.RunTake, tokens int64, usd float64) error {
	var c fleet.Category
	if err := t.QueryRowContext(ctx, "select category from runs where id = ?", r.Run).Scan(&c); err != nil {
		return err
	}
	day := t.today()
	for _, b := range r.Budgets {
		s, err := t.spentOf(ctx, day, b.Scope)
		if err != nil {
			return err
		}
		if reason := b.Gone(s, tokens, usd); reason != "" {
			return fleet.RefusedError{Reason: reason, Scope: b.Scope, Outcome: fleet.Quota}
		}
	}
	for _, scope := range scopes(r.Agent, c) {
		if err := t.spend(ctx, day, fleet.Spent{Scope: scope, Runs: 1, Tokens: tokens, USD: usd, Guessed: usd}); err != nil {
			return err
		}
	}
	_, err := t.ExecContext(ctx, "update runs set agent = ?, day = ?, reserved_tokens = ?, reserved_usd = ? where id = ?",
		r.Agent, day, tokens, usd, r.Run)
	return err
}

func scopes(agent string, c fleet.Category) []fleet.Scope {
	return []fleet.Scope{fleet.FleetScope, fleet.AgentScope(agent), fleet.CategoryScope(c)}
}

func (t tx) spentOf(ctx context.Context, day string, scope fleet.Scope) (fleet.Spent, error) {
	s := fleet.Spent{Scope: scope}
	err := t.QueryRowContext(ctx, "select runs, tokens, usd, guessed from spent where day = ? and scope = ?", day, scope).
		Scan(&s.Runs, &s.Tokens, &s.USD, &s.Guessed)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return s, err
}

func (t tx) spentToday(ctx context.Context) ([]fleet.Spent, error) {
	return collect(ctx, t, func(row scanner) (s fleet.Spent, err error) {
		err = row.Scan(&s.Scope, &s.Runs, &s.Tokens, &s.USD, &s.Guessed, &s.ReservedTokens, &s.ReservedUSD)
		return s, err
	}, `select s.scope, s.runs, s.tokens, s.usd, s.guessed, coalesce(sum(r.reserved_tokens), 0), coalesce(sum(r.reserved_usd), 0.0)
from spent s left join runs r on r.ended_at is null and r.day = s.day and s.scope in ('fleet', 'agent:' || r.agent, 'category:' || r.category)
where s.day = ? group by s.scope order by s.scope`, t.today())
}

// ResetBudget strikes out what a scope used today, but for the reserves of the sessions under
// way, which settle theirs when they end. An agent's earlier bills count no more.
func (d *DB) ResetBudget(ctx context.Context, scope fleet.Scope, reason string) (before fleet.Spent, err error) {
	err = d.update(ctx, func(t tx) error {
		if before, err = t.spentOf(ctx, t.today(), scope); err != nil {
			return err
		}
		for _, write := range []string{
			`insert into resets (at, scope, runs, tokens, usd, reason) values (:now, :scope, :runs, :tokens, :usd, :reason)`,
			`update spent set (runs, tokens, usd, guessed) =
(select count(*), coalesce(sum(reserved_tokens), 0), coalesce(sum(reserved_usd), 0.0), coalesce(sum(reserved_usd), 0.0) from runs
where ended_at is null and day = :day and :scope in ('fleet', 'agent:' || agent, 'category:' || category)) where day = :day and scope = :scope`,
			`update agents set billed_after = (select coalesce(max(id), '') from runs) where 'agent:' || agent = :scope`,
		} {
			_, err := t.ExecContext(ctx, write, sql.Named("now", millis(t.now)), sql.Named("day", t.today()), sql.Named("scope", scope),
				sql.Named("runs", before.Runs), sql.Named("tokens", before.Tokens), sql.Named("usd", before.USD), sql.Named("reason", reason))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fleet.Spent{}, fmt.Errorf("reset budget of %s: %w", scope, err)
	}
	return before, nil
}

// BudgetResets reads what people struck out since a time, oldest first.
func (d *DB) BudgetResets(ctx context.Context, since time.Time) (list []fleet.Reset, err error) {
	err = d.view(ctx, func(t tx) error {
		list, err = collect(ctx, t, func(row scanner) (r fleet.Reset, err error) {
			var at int64
			err = row.Scan(&at, &r.Scope, &r.Runs, &r.Tokens, &r.USD, &r.Reason)
			r.At = fromMillis(at)
			return r, err
		}, "select at, scope, runs, tokens, usd, reason from resets where at >= ? order by id", millis(since))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read resets of budgets: %w", err)
	}
	return list, nil
}

// spend adds to what a scope used in a day.
func (t tx) spend(ctx context.Context, day string, s fleet.Spent) error {
	_, err := t.ExecContext(ctx, `insert into spent (day, scope, runs, tokens, usd, guessed) values (?, ?, ?, ?, ?, ?)
on conflict (day, scope) do update set runs = runs + excluded.runs, tokens = tokens + excluded.tokens, usd = usd + excluded.usd,
guessed = guessed + excluded.guessed`,
		day, s.Scope, s.Runs, s.Tokens, s.USD, s.Guessed)
	return err
}

// settle puts what a session used in place of what was reserved for it. If it does not say, as
// after a kill, the reserve stays: it is the best guess.
func (t tx) settle(ctx context.Context, r fleet.Run) error {
	var (
		day      string
		agent    string
		category fleet.Category
		reserved struct {
			tokens int64
			usd    float64
		}
	)
	err := t.QueryRowContext(ctx, "select day, agent, category, reserved_tokens, reserved_usd from runs where id = ?", r.ID).
		Scan(&day, &agent, &category, &reserved.tokens, &reserved.usd)
	if err != nil || day == "" {
		return err
	}
	runs, tokens, usd := 0, reserved.tokens, reserved.usd
	if r.Verdict.Ours {
		runs, tokens, usd = -1, 0, 0 // no agent was at work
	}
	if r.Usage.Tokens != nil {
		tokens = *r.Usage.Tokens
	}
	if r.Usage.USD != nil {
		usd = *r.Usage.USD
	}
	guessed := usd
	if r.Usage.USD != nil && !r.Usage.Cost.Estimated() {
		guessed = 0
	}
	for _, scope := range scopes(agent, category) {
		delta := fleet.Spent{Scope: scope, Runs: runs, Tokens: tokens - reserved.tokens, USD: usd - reserved.usd, Guessed: guessed - reserved.usd}
		if err := t.spend(ctx, day, delta); err != nil {
			return err
		}
	}
	if r.Usage.USD == nil && usd > 0 {
		_, err := t.ExecContext(ctx, "update runs set usd = ?, cost = ? where id = ?", usd, fleet.CostAssumed, r.ID)
		if err != nil {
			return err
		}
	}
	if runs < 0 { // it is on no account any more
		_, err = t.ExecContext(ctx, "update runs set day = '', reserved_tokens = 0, reserved_usd = 0 where id = ?", r.ID)
	}
	return err
}

// judgeAgent takes the end of a session into what is known of its agent: a usage limit,
// a fault of its service, a failure, or that it works. A failure is held back until more is
// known: when the agent works again it counts for the work, when the agent fails as often as
// opens its breaker it is the agent's, has no grade, and is no attempt at a task. So is every
// failure from then on, until the agent works.
func (t tx) judgeAgent(ctx context.Context, r *fleet.Run) error {
	if r.Key == "" || r.Verdict.Ours { // no agent was at work
		return nil
	}
	a, err := t.agent(ctx, r.Agent)
	if err != nil {
		return err
	}
	switch r.Verdict.Outcome {
	case fleet.Quota:
		a.wall(t.now, *r)
	case fleet.Unavailable:
		a.fault(t.now, *r)
	case fleet.Failed, fleet.Timeout:
		a.answered(t.now, *r)
		if r.Verdict.Fault.OfTask() && r.Task != "" {
			break // its service works, and the task is to blame
		}
		if a.Failures++; a.Failures < fleet.FailuresToOpen {
			r.Held = true
			break
		}
		r.Verdict.Grade, r.Verdict.Fault = nil, fleet.FaultAgent
		if err := t.spare(ctx, r.Agent); err != nil {
			return err
		}
		a.rest(t.now, t.now.Add(openTime), fmt.Sprintf("it failed %d times in a row, last: %s", a.Failures, r.Verdict.Reason), fleet.FaultAgent)
	case fleet.Productive, fleet.Noop, fleet.Nothing:
		if err := t.blame(ctx, r.Agent); err != nil {
			return err
		}
		a.Failures = 0
		a.answered(t.now, *r)
		if !a.walled(t.now) && a.Faults == 0 { // one that began before the rest says nothing of it
			a.Walls, a.Until, a.Reason, a.Fault = 0, time.Time{}, "", ""
		}
		if r.QuotaUntil.After(t.now) { // it did its work, and then met one
			a.wall(t.now, *r)
		}
		if f := r.Verdict.Fault; f != "" && !f.OfTask() {
			a.fault(t.now, *r)
		}
	case fleet.Cancelled, fleet.Lost, fleet.Abandoned, fleet.Busy, fleet.RunDenied, fleet.Idle:
		return nil
	}
	if a.Probe == r.ID {
		a.Probe = ""
	}
	return t.putAgent(ctx, a)
}

// blame has the failures that were held back count for the work: their agent works.
func (t tx) blame(ctx context.Context, agent string) error {
	held, err := t.runs(ctx, "where agent = ? and held = 1 order by id", agent)
	if err != nil {
		return err
	}
	for _, r := range held {
		if _, err := t.ExecContext(ctx, "update runs set held = 0 where id = ?", r.ID); err != nil {
			return err
		}
		r.Held = false
		if err := t.learnFrom(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// spare makes the failures that were held back their agent's own: no grade, and no attempt at
// a task.
func (t tx) spare(ctx context.Context, agent string) error {
	for _, write := range []string{
		`update tasks set failures = max(0, failures - n), sessions = max(0, sessions - n), taken = max(0, taken - n), vain = max(0, vain - n)
from (select task as tried, count(*) as n from runs where agent = ?1 and held = 1 and task <> '' group by task) where task = tried`,
		`delete from tasks where state = '' and owed = '' and failures = 0 and taken = 0 and rests = 0
and task in (select task from runs where agent = ?1 and held = 1)`,
		`update runs set held = 0, grade = null, fault = 'agent' where agent = ?1 and held = 1`,
	} {
		if _, err := t.ExecContext(ctx, write, agent); err != nil {
			return err
		}
	}
	return nil
}

// wall notes a usage limit: until the agent's own word, or for twice as long as the last
// time, from 15 minutes to 6 hours. The last digits of the run's id spread the ends, so
// that fleets with one login do not all come back in the same second. Sessions that were
// under way when the first of them met it meet the same wall, not one more.
func (a *agentRow) wall(now time.Time, r fleet.Run) {
	if !a.walled(now) {
		a.Walls++
	}
	rest := min(mostWall, firstWall<<min(a.Walls-1, 10))
	until := now.Add(rest + spread(r.ID, rest/4))
	if r.QuotaUntil.After(now) {
		until = r.QuotaUntil
	}
	a.answered(now, r)
	a.rest(now, until, "usage limit: "+r.Verdict.Reason, "")
}

// walled reports whether a usage limit that was met still holds.
func (a *agentRow) walled(now time.Time) bool { return a.Walls > 0 && a.Rests(now) }

// fault notes that the agent's service or login failed: it rests for an hour where a person
// has to act, and else for twice as long as the last time, from 2 minutes to an hour.
// Sessions that were under way when the first of them met it meet the same fault.
func (a *agentRow) fault(now time.Time, r fleet.Run) {
	if a.Faults == 0 || !a.Rests(now) {
		a.Faults++
	}
	rest := min(mostFault, firstFault<<min(a.Faults-1, 10))
	if r.Verdict.Fault.Lasting() {
		rest = lastingRest
	}
	a.rest(now, now.Add(rest+spread(r.ID, rest/4)), r.Verdict.Reason, r.Verdict.Fault)
}

// answered notes that the agent's service works, by the word of the session that tries it:
// one that began before the rest says nothing of it.
func (a *agentRow) answered(now time.Time, r fleet.Run) {
	if a.Faults > 0 && a.Probe == r.ID && !a.Rests(now) {
		a.Faults, a.Fault, a.Reason, a.Until = 0, "", "", time.Time{}
	}
}

// rest keeps the agent from work until then, if nothing does so for longer.
func (a *agentRow) rest(now, until time.Time, reason string, fault fleet.FaultKind) {
	if until.After(a.Until) || !a.Rests(now) {
		a.Until, a.Since, a.Reason, a.Fault = until, now, reason, fault
	}
}

// spread is a part of most that depends on the run alone.
func spread(id fleet.RunID, most time.Duration) time.Duration {
	sum := 0
	for _, b := range []byte(id) {
		sum = (sum*31 + int(b)) % 1000
	}
	return most * time.Duration(sum) / 1000
}

// Respawn records whether a session follows a run, and the run that does.
//
// If we die before it, no session follows. If we die after it and before its timer is
// started, the next run is planned and never begins: it is closed once its time has come
// and gone.
func (d *DB) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string) (decided bool, err error) {
	err = d.update(ctx, func(t tx) error {
		res, err := t.ExecContext(ctx, "update runs set followed = ? where id = ? and followed = ''", reason, run)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		decided = true
		if next == nil {
			return nil
		}
		return t.insertRun(ctx, *next)
	})
	if err != nil {
		return false, fmt.Errorf("respawn after run %s: %w", run, err)
	}
	return decided, nil
}

// NoticeDue notes that a notice goes out, unless the same news did a short while ago. If many
// workers bring it at once, it is due for one of them. A note from the future is of a clock
// that was set back, and holds nothing up.
func (d *DB) NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (due bool, err error) {
	err = d.update(ctx, func(t tx) error {
		res, err := t.ExecContext(ctx, `insert into notices (event, subject, at) values (?1, ?2, ?3)
on conflict (event, subject) do update set at = excluded.at where at > ?3 or at <= ?3 - ?4`,
			n.Event, n.Subject(), millis(t.now), every.Milliseconds())
		if err != nil {
			return err
		}
		changed, err := res.RowsAffected()
		due = changed > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("note notice: %w", err)
	}
	return due, nil
}

// ForgetNotice takes back the note of a notice that did not go out.
func (d *DB) ForgetNotice(ctx context.Context, n fleet.Notice) error {
	err := d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, "delete from notices where event = ? and subject = ?", n.Event, n.Subject())
		return err
	})
	if err != nil {
		return fmt.Errorf("forget notice: %w", err)
	}
	return nil
}
