package table

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// Ledger reads the record from which the store's figures can be computed, as of one instant.
func (r Reader) Ledger(ctx context.Context) (l store.Ledger, err error) {
	l.Claims = map[fleet.Key]fleet.Claim{}
	var (
		stored  []rank.State
		recount *rank.Recounter
	)
	err = r.Read(ctx, func(time.Time) []Statement {
		return []Statement{
			Rankings().Select(func(r Ranking) { stored = append(stored, r.State) }, "order by seq"),
			Events().Select(func(e rank.Event) {
				if recount == nil {
					recount = rank.NewRecounter(stored)
				}
				recount.Take(e)
			}, "order by seq"),
			entries(func(e store.Entry) { l.Runs = append(l.Runs, e) }),
			Fires().With("id", "choices").Select(func(f Fire) { l.Fires = append(l.Fires, f.Fire) }, "order by id"),
			Fleets().Select(func(f Fleet) { l.LastFire = f.Fires }, ""),
			{SQL: missing, Scan: func(row Scanner) error {
				var text string
				err := row.Scan(&text)
				l.Missing = append(l.Missing, text)
				return err
			}},
			Spending().Select(func(s Spent) { l.Spent = append(l.Spent, store.DaySpent{Day: s.Day, Spent: s.Spent}) }, ""),
			Resets().Select(func(s Reset) { l.Resets = append(l.Resets, struck(s)) }, ""),
			Claims().Select(func(c Claim) { l.Claims[c.Key] = c.Claim }, ""),
		}
	})
	if recount == nil {
		recount = rank.NewRecounter(stored)
	}
	l.Recount = recount.End()
	return l, wrap(err, "read ledger")
}

// struck returns the amount that a reset took from its day's account for good.
func struck(r Reset) store.DaySpent {
	return store.DaySpent{Day: r.At.UTC().Format(time.DateOnly), Spent: fleet.Spent{
		Scope: r.Scope, Runs: r.Runs - r.KeptRuns, Tokens: r.Tokens - r.KeptTokens, USD: r.USD - r.KeptUSD,
	}}
}

func entries(add func(store.Entry)) Statement {
	return Statement{
		SQL: `select id, category, agent, key, epoch, round, load, ended_at, grade, coalesce(final, grade), held, nth, counted, day,
coalesce(tokens, reserved_tokens), coalesce(usd, reserved_usd) from runs order by id`,
		Scan: func(row Scanner) error {
			var (
				e     store.Entry
				ended time.Time
			)
			err := row.Scan(&e.ID, &e.Category, &e.Agent, &e.Key, &e.Epoch, &e.Round, &e.Load, When(&ended), &e.First, &e.Final,
				Flag{&e.Held}, Maybe[int]{&e.Nth}, Maybe[int]{&e.Counted}, &e.Day, &e.Tokens, &e.USD)
			e.Open = ended.IsZero()
			add(e)
			return err
		},
	}
}

// missing lists the runs and fires that are not there, each with the row that mentions it.
const missing = `select 'run ' || followed_by || ', which followed run ' || id from runs where followed_by <> '' and followed_by not in (select id from runs)
union select 'run ' || run || ', which was denied ' || key from denials where run not in (select id from runs)
union select 'fire ' || fire || ' of run ' || id from runs where fire is not null and fire not in (select id from fires)
order by 1`
