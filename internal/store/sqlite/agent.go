package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"stint/internal/fleet"
	"stint/internal/store/book"
)

// agentRow is what is known of an agent, as it is read and written.
type agentRow struct {
	fleet.AgentState
	billedAfter fleet.RunID // bills of runs up to this one count no more
}

const agentColumns = "agent, until, since, reason, failures, limits, fault, faults, probe, billed_after"

// billed reads the bills of an agent's last sessions that worked. The cost of other sessions
// says nothing of the next.
const billed = `select id, tokens, iif(cost in ('reported', 'computed'), usd, null) from runs
where agent = ? and id > ? and (tokens is not null or cost in ('reported', 'computed'))
and outcome in ('productive', 'noop', 'nothing', 'failed', 'timeout') order by id desc limit ?`

func scanAgent(row scanner) (a agentRow, err error) {
	var until, since int64
	err = row.Scan(&a.Agent, &until, &since, &a.Reason, &a.Failures, &a.Limits, &a.Fault, &a.Faults, &a.Probe, &a.billedAfter)
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
		a.Agent, until, since, a.Reason, a.Failures, a.Limits, a.Fault, a.Faults, a.Probe, a.billedAfter)
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

// judgeAgent takes the end of a session into what is known of its agent, and of the failures of
// that agent which were held back.
func (t tx) judgeAgent(ctx context.Context, r *fleet.Run) error {
	a, err := t.agent(ctx, r.Agent)
	if err != nil {
		return err
	}
	j, ok := book.Judge(a.AgentState, *r, t.now)
	if !ok {
		return nil
	}
	switch j.Held {
	case book.HeldCount:
		err = t.blame(ctx, r.Agent)
	case book.HeldSpare:
		err = t.spare(ctx, r.Agent)
	case book.HeldStay:
	}
	if err != nil {
		return err
	}
	a.AgentState, *r = j.Agent, j.Run
	return t.putAgent(ctx, a)
}

// blame has the failures that were held back count for the work.
func (t tx) blame(ctx context.Context, agent string) error {
	held, err := t.heldBack(ctx, agent)
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

// spare makes the failures that were held back their agent's own.
func (t tx) spare(ctx context.Context, agent string) error {
	held, err := t.heldBack(ctx, agent)
	if err != nil {
		return err
	}
	for _, r := range held {
		if r.Task == "" {
			continue
		}
		m, err := t.task(ctx, r.Task)
		if err != nil {
			return err
		}
		m, remembered := book.Spare(m)
		if !remembered {
			_, err = t.ExecContext(ctx, "delete from tasks where task = ?", r.Task)
		} else {
			err = t.putTask(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, "update runs set held = 0, grade = null, fault = ? where agent = ? and held = 1", fleet.FaultAgent, agent)
	return err
}

// heldBack reads the failures of an agent that are held back, oldest first.
func (t tx) heldBack(ctx context.Context, agent string) ([]fleet.Run, error) {
	return t.runs(ctx, "where agent = ? and held = 1 order by id", agent)
}
