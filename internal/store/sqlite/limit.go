package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// admit refuses a run whose agent cannot work or whose budget is used up, and reserves
// for one that may go on, from every scope that it is of, what a session of its agent is expected
// to use.
func (t tx) admit(ctx context.Context, r store.RunTake) error {
	var (
		c     fleet.Category
		agent string
	)
	if err := t.QueryRowContext(ctx, "select category, agent from runs where id = ?", r.Run).Scan(&c, &agent); err != nil {
		return err
	}
	r.Agent = cmp.Or(r.Agent, agent)
	ask := book.Admission{Terms: r.Terms, Now: t.now}
	a, err := t.agent(ctx, r.Agent)
	if err != nil {
		return err
	}
	if a.Bills, err = t.bills(ctx, a); err != nil {
		return err
	}
	ask.State = a.AgentState
	err = t.QueryRowContext(ctx, `select count(*) filter (where id = ?2), count(*) filter (where agent = ?1 and key <> '') from runs
where ended_at is null and id <> ?3`, r.Agent, a.Probe, r.Run).Scan(&ask.Probing, &ask.Busy)
	if err != nil {
		return err
	}
	for _, b := range r.Budgets {
		s, err := t.spentOf(ctx, t.today(), b.Scope)
		if err != nil {
			return err
		}
		ask.Spent = append(ask.Spent, s)
	}
	if r.Room.Takes {
		if ask.Taken, ask.Away, err = t.room(ctx); err != nil {
			return err
		}
	}
	if refusals := ask.Refusals(); len(refusals) > 0 {
		return refusals[0]
	}
	if a.Tried() {
		a.Probe = r.Run
		if err := t.putAgent(ctx, a); err != nil {
			return err
		}
	}
	tokens, usd := a.Expected(r.Budgets)
	for _, scope := range scopes(r.Agent, c) {
		if err := t.spend(ctx, t.today(), fleet.Spent{Scope: scope, Runs: 1, Tokens: tokens, USD: usd, Guessed: usd}); err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, "update runs set agent = ?, box = ?, day = ?, reserved_tokens = ?, reserved_usd = ? where id = ?",
		r.Agent, r.Box, t.today(), tokens, usd, r.Run)
	if err != nil || !r.Room.Takes {
		return err
	}
	return t.takePlace(ctx, r.Run, t.now)
}

// today is the day of whose budgets a session is.
func (t tx) today() string { return t.now.UTC().Format(time.DateOnly) }

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

// ResetBudget strikes out what a scope used today. The sessions under way settle their reserves
// when they end.
func (d *DB) ResetBudget(ctx context.Context, scope fleet.Scope, reason string) (before fleet.Spent, err error) {
	err = d.update(ctx, func(t tx) error {
		if before, err = t.spentOf(ctx, t.today(), scope); err != nil {
			return err
		}
		for _, write := range []string{
			`update spent set (runs, tokens, usd, guessed) =
(select count(*), coalesce(sum(reserved_tokens), 0), coalesce(sum(reserved_usd), 0.0), coalesce(sum(reserved_usd), 0.0) from runs
where ended_at is null and day = :day and :scope in ('fleet', 'agent:' || agent, 'category:' || category)) where day = :day and scope = :scope`,
			`insert into resets (at, scope, runs, tokens, usd, kept_runs, kept_tokens, kept_usd, reason)
select :now, :scope, :runs, :tokens, :usd, coalesce(sum(runs), 0), coalesce(sum(tokens), 0), coalesce(sum(usd), 0.0), :reason
from spent where day = :day and scope = :scope`,
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
	return before, wrap(err, "reset budget of %s", scope)
}

// BudgetResets reads what people struck out since a time, oldest first.
func (d *DB) BudgetResets(ctx context.Context, since time.Time) ([]fleet.Reset, error) {
	return read(ctx, d, "resets of budgets", func(row scanner) (r fleet.Reset, err error) {
		err = row.Scan(table.When(&r.At), &r.Scope, &r.Runs, &r.Tokens, &r.USD, &r.Reason)
		return r, err
	}, "select at, scope, runs, tokens, usd, reason from resets where at >= ? order by id", millis(since))
}

// spend adds to what a scope used in a day.
func (t tx) spend(ctx context.Context, day string, s fleet.Spent) error {
	_, err := t.ExecContext(ctx, `insert into spent (day, scope, runs, tokens, usd, guessed) values (?, ?, ?, ?, ?, ?)
on conflict (day, scope) do update set runs = runs + excluded.runs, tokens = tokens + excluded.tokens, usd = usd + excluded.usd,
guessed = guessed + excluded.guessed`,
		day, s.Scope, s.Runs, s.Tokens, s.USD, s.Guessed)
	return err
}

// settle puts what a session used in place of what was reserved for it.
func (t tx) settle(ctx context.Context, r fleet.Run) error {
	var (
		day      string
		agent    string
		category fleet.Category
		reserved fleet.Spent
	)
	err := t.QueryRowContext(ctx, "select day, agent, category, reserved_tokens, reserved_usd from runs where id = ?", r.ID).
		Scan(&day, &agent, &category, &reserved.Tokens, &reserved.USD)
	if err != nil || day == "" {
		return err
	}
	change, assumed := book.Settle(reserved, r)
	for _, change.Scope = range scopes(agent, category) {
		if err := t.spend(ctx, day, change); err != nil {
			return err
		}
	}
	if assumed {
		_, err := t.ExecContext(ctx, "update runs set usd = ?, cost = ? where id = ?", reserved.USD, fleet.CostAssumed, r.ID)
		if err != nil {
			return err
		}
	}
	if change.Runs < 0 { // it is on no account any more
		_, err = t.ExecContext(ctx, "update runs set day = '', reserved_tokens = 0, reserved_usd = 0 where id = ?", r.ID)
	}
	return err
}

// NoticeDue notes that a notice goes out, unless the same news did a short while ago. If many
// workers bring it at once, it is due for one of them. A note from the future is of a clock
// that was set back, and holds nothing up.
func (d *DB) NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (due bool, err error) {
	err = d.update(ctx, func(t tx) error {
		changed, err := t.exec(ctx, `insert into notices (event, subject, at) values (?1, ?2, ?3)
on conflict (event, subject) do update set at = excluded.at where at > ?3 or at <= ?3 - ?4`,
			n.Event, n.Subject(), millis(t.now), every.Milliseconds())
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
	return wrap(err, "forget notice")
}
