package sqlite

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

func (t tx) spentToday(ctx context.Context) ([]fleet.Spent, error) {
	return collect(ctx, t, func(row scanner) (s fleet.Spent, err error) {
		err = row.Scan(&s.Scope, &s.Runs, &s.Tokens, &s.USD, &s.Guessed, &s.ReservedTokens, &s.ReservedUSD)
		return s, err
	}, `select s.scope, s.runs, s.tokens, s.usd, s.guessed, coalesce(sum(r.reserved_tokens), 0), coalesce(sum(r.reserved_usd), 0.0)
from spent s left join runs r on r.ended_at is null and r.day = s.day and s.scope in ('fleet', 'agent:' || r.agent, 'category:' || r.category)
where s.day = ? group by s.scope order by s.scope`, t.now.UTC().Format(time.DateOnly))
}

// BudgetResets reads what people struck out since a time, oldest first.
func (d *DB) BudgetResets(ctx context.Context, since time.Time) ([]fleet.Reset, error) {
	return read(ctx, d, "resets of budgets", func(row scanner) (r fleet.Reset, err error) {
		err = row.Scan(table.When(&r.At), &r.Scope, &r.Runs, &r.Tokens, &r.USD, &r.Reason)
		return r, err
	}, "select at, scope, runs, tokens, usd, reason from resets where at >= ? order by id", millis(since))
}
