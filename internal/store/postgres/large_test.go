package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// A record of so many runs of three agents and three machines. A fourth agent has not worked since the beginning.
const largeRecord = `
insert into runs (id, category, rank, source, agent, host, key, created_at, started_at, ended_at, outcome, nth, counted, grade, tokens, cost)
select '00' || to_char(n, 'FM000000'), 'c' || n % 20, 0, 'selected', case when n < 500 then 'retired' else 'a' || n % 3 end, 'h' || n % 3, 't' || n,
	n, n, n, 'productive', n / 20 + 1, n / 20 + 1, 0.5, 100, 'reported' from generate_series(1, 40000) n;
insert into agents (agent, until, since, reason, failures, limits, fault, faults, probe, bills) select distinct agent, null::bigint, null::bigint, '', 0, 0, '', 0, '', '[{"Tokens":100}]' from runs;
insert into runs (id, category, rank, source, agent, created_at) values ('00050000', 'c0', 0, 'selected', 'a1', 50000), ('00050001', 'c0', 0, 'selected', 'retired', 50000);`

// rowsRead counts the rows of runs, and the entries of their indexes, that this transaction has read.
const rowsRead = `select (pg_stat_get_xact_tuples_returned('runs'::regclass) + pg_stat_get_xact_tuples_fetched('runs'::regclass) +
	(select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index where indrelid = 'runs'::regclass))::bigint`

// captured is a store that keeps the statements by which it is read.
type captured struct{ list []table.Statement }

func (c *captured) Read(_ context.Context, ask func(time.Time) []table.Statement) error {
	c.list = append(c.list, ask(time.UnixMilli(1_000_000))...)
	return nil
}

// TestLargeRecord counts what is read of a large record on a machine that has run nothing yet, where an agent has not
// worked for long: as little as on any other.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t))
	administer(t, "set search_path = "+d.schema, ";", largeRecord, "analyze runs; analyze agents")
	var look captured
	must.Get(table.Reader{Source: &look, Host: func() string { return "new" }}.Snapshot(t.Context()))(t)
	const given, known = fleet.RunID("00050000"), fleet.RunID("00050001")
	begins := func(run fleet.RunID, agent string) func(book.Tx) {
		return func(p book.Tx) {
			if begun, err := p.Begin(store.Begin{
				Run: run, TTL: time.Hour, Offers: []store.Offer{{Key: "k"}},
				Agents: []fleet.Terms{{Agent: agent, Budgets: []fleet.Budget{{Scope: fleet.FleetScope, Tokens: 1e9}}}},
			}); begun.Claim.Key == "" || err != nil {
				t.Errorf("run %s: %+v, %v", run, begun, err)
			}
			must.Equal(t, "tokens", p.Runs.Written()[0].ReservedTokens, int64(100))
		}
	}
	for name, reads := range map[string]struct {
		decide func(book.Tx)
		most   int64
	}{
		"look":    {nil, 500},
		"session": {begins(given, "retired"), 100},
		"agent":   {begins(known, ""), 100},
	} {
		var sum int64
		counted := func(list []table.Statement) error {
			var before, after int64
			count := func(n *int64) table.Statement {
				return table.Statement{SQL: rowsRead, Scan: func(row table.Scanner) error { return row.Scan(n) }}
			}
			err := d.Read(t.Context(), func(time.Time) []table.Statement {
				return slices.Concat([]table.Statement{count(&before)}, list, []table.Statement{count(&after)})
			})
			sum += after - before
			return err
		}
		p := book.Tx{Tx: table.NewTx(rank.Defaults(), counted)}
		p.Tx.Begin(time.UnixMilli(1_000_000), time.Time{})
		p.Far(today)
		if name == "look" {
			must.Do(t, counted(look.list))
		} else {
			reads.decide(p)
		}
		if sum == 0 || sum > reads.most {
			t.Errorf("%s: %d rows read, want at most %d", name, sum, reads.most)
		}
	}
}
