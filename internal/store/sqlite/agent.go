package sqlite

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// billed reads the bills of an agent's last sessions that worked. The cost of other sessions
// says nothing of the next.
const billed = `select id, tokens, iif(cost in ('reported', 'computed'), usd, null) from runs
where agent = ? and id > ? and (tokens is not null or cost in ('reported', 'computed'))
and outcome in ('productive', 'noop', 'nothing', 'failed', 'timeout') order by id desc limit ?`

func (t tx) agent(ctx context.Context, name string) (a book.Agent, err error) {
	a.Agent = name
	err = t.run(ctx, table.Agents().Select(func(found book.Agent) { a = found }, "where agent = $1", name))
	return a, err
}

func (t tx) bills(ctx context.Context, a book.Agent) ([]fleet.Bill, error) {
	return collect(ctx, t, func(row scanner) (b fleet.Bill, err error) {
		err = row.Scan(&b.Run, &b.Tokens, &b.USD)
		return b, err
	}, billed, a.Agent, a.BilledAfter, fleet.BillsKept)
}

func (t tx) putAgent(ctx context.Context, a book.Agent) error {
	if a.Until.IsZero() {
		a.Since = time.Time{}
	}
	return t.run(ctx, table.Agents().Put(a))
}

func (t tx) agents(ctx context.Context) (list []fleet.AgentState, err error) {
	var rows []book.Agent
	err = t.run(ctx, table.Agents().Select(func(a book.Agent) { rows = append(rows, a) }, "order by agent"))
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
	if j.Works || j.Spares {
		if err := t.letGo(ctx, r.Agent, j.Spares); err != nil {
			return err
		}
	}
	a.AgentState, *r = j.Agent, j.Run
	return t.putAgent(ctx, a)
}

// letGo has the failures of an agent that were held back count for the work, or makes them the
// agent's own.
func (t tx) letGo(ctx context.Context, agent string, own bool) error {
	held, err := t.runs(ctx, "where agent = ? and held = 1 order by id", agent)
	if err != nil {
		return err
	}
	for _, r := range held {
		if r.Held = false; own {
			err = t.spare(ctx, r.Task)
		} else {
			err = t.learnFrom(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, "update runs set held = 0, grade = iif(?2, null, grade), fault = iif(?2, 'agent', fault) where agent = ?1 and held = 1", agent, own)
	return err
}

// spare takes a failure that was the agent's own out of what is remembered of a task.
func (t tx) spare(ctx context.Context, id fleet.TaskID) error {
	m, err := t.task(ctx, id)
	if err != nil || id == "" {
		return err
	}
	m, remembered := book.Spare(m)
	if remembered {
		return t.putTask(ctx, m)
	}
	_, err = t.ExecContext(ctx, "delete from tasks where task = ?", id)
	return err
}
