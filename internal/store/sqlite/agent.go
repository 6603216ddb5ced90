package sqlite

import (
	"context"

	"stint/internal/fleet"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// billed reads the bills of an agent's last sessions that worked. The cost of other sessions
// says nothing of the next.
const billed = `select id, tokens, iif(cost in ('reported', 'computed'), usd, null) from runs
where agent = ? and id > ? and (tokens is not null or cost in ('reported', 'computed'))
and outcome in ('productive', 'noop', 'nothing', 'failed', 'timeout') order by id desc limit ?`

func (t tx) bills(ctx context.Context, a book.Agent) ([]fleet.Bill, error) {
	return collect(ctx, t, func(row scanner) (b fleet.Bill, err error) {
		err = row.Scan(&b.Run, &b.Tokens, &b.USD)
		return b, err
	}, billed, a.Agent, a.BilledAfter, fleet.BillsKept)
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
