package postgres

import (
	"context"
	"testing"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// A record of so many runs of three agents and three machines. A fourth agent has not worked since the beginning.
const largeRecord = `
insert into runs (id, category, rank, source, agent, host, key, created_at, started_at, ended_at, outcome, nth, counted, grade, tokens, cost)
select '00' || to_char(n, 'FM000000'), 'c' || n % 20, 0, 'selected', case when n < 500 then 'retired' else 'a' || n % 3 end, 'h' || n % 3, 't' || n,
	n, n, n, 'productive', n / 20 + 1, n / 20 + 1, 0.5, 100, 'reported' from generate_series(1, 40000) n;
insert into arms (category, round, at_round, fast_w, fast_s, fast_g2, shift, awaiting, slow_w, slow_s, slow_g2, slope_n, slope_l, slope_g, slope_ll, slope_lg,
	season_n, season_x, season_y, season_g, season_xx, season_yy, season_xy, season_xg, season_yg, up_level, up_w, up_s, up_g2, down_level, down_w, down_s,
	down_g2, graded, alarms, fires, sessions, entitled, deficit, surplus, forgiven, due, since, load, load_at, noops, noops_ever, asleep_until, vain_at)
select 'c' || n, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ''
	from generate_series(0, 19) n;
insert into checkpoints (category, seq, alarm, settings, sessions, graded, arm) select 'c' || n, 1, 0, '{}', 1000000, 1000000, '{}' from generate_series(0, 19) n;
insert into agents (agent, until, since, reason, failures, limits, fault, faults, probe) select distinct agent, 0, 0, '', 0, 0, '', 0, '' from runs;`

// rowsRead is how many rows of runs, and entries of their indexes, this transaction has read.
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
	administer(t, "set search_path = "+d.schema, ";", largeRecord, "analyze runs; analyze agents; analyze arms; analyze checkpoints")
	var look captured
	must.Get(table.Reader{Source: &look, Host: func() string { return "new" }}.Snapshot(t.Context()))(t)
	page := book.NewPage(time.UnixMilli(1_000_000), bandit.Defaults())
	for name, reads := range map[string]struct {
		list []table.Statement
		most int64
	}{
		"look":    {look.list, 500},
		"session": {table.Load(book.Need{Begins: "00040000", Agent: "retired"}, page, "'1970-01-01'"), 100},
		"agent":   {table.Load(book.Need{Begins: "00000001"}, page, "'1970-01-01'"), 100},
		"forget":  {table.Load(book.Need{Forget: storetest.Start()}, page, "'1970-01-01'"), 60_000}, // a thousand runs, by five statements
	} {
		var before, after int64
		count := func(n *int64) table.Statement {
			return table.Statement{SQL: rowsRead, Scan: func(row table.Scanner) error { return row.Scan(n) }}
		}
		list := append([]table.Statement{count(&before)}, reads.list...)
		must.Do(t, d.Read(t.Context(), func(time.Time) []table.Statement { return append(list, count(&after)) }))
		if got := after - before; got == 0 || got > reads.most {
			t.Errorf("%s: %d rows read, want at most %d", name, got, reads.most)
		}
	}
	must.Equal(t, "forgotten", len(page.Old), 1000)
	must.Equal(t, "bills", len(page.Bills), 2*fleet.BillsKept)
}
