package main

import (
	"slices"
	"testing"
	"time"
)

// TestCrashForget kills a fire where it deletes what is older than the record is to go back, also between
// two batches: all figures add up whatever is left, and the next fires delete the rest.
func TestCrashForget(t *testing.T) {
	t.Parallel()
	const runs, fires = "2500", "250"
	for _, c := range []struct{ stop, runs, fires string }{
		{"before Store.Forget", runs, fires},
		{"after Store.Forget", "1500", "150"},
	} {
		t.Run(c.stop, func(t *testing.T) {
			t.Parallel()
			f := newCrashFleet(t)
			f.extend("[keep]\nrecord = \"30d\"\n")
			f.work()
			f.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
insert into runs (id, category, rank, chain_depth, source, agent, created_at, ended_at, outcome) select '0' || (1000000 + i), 'code', 0, 0, 'by hand', 'fake', i, i, 'idle' from n`)
			f.exec("insert into denials (run, category, key, holder, at) select id, category, 'k', 'bob', created_at from runs where outcome = 'idle'")
			f.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 250)
insert into fires (id, at, seed, pool, workers, due, inputs, selection, own, allowed, fallback)
select i + (select fires from fleet), i, '1', 'autonomous', 1, '{}', '{}', '{}', 1, '[]', '' from n`)
			f.exec("update fleet set fires = fires + 250")
			old := func(when, runs, fires string) {
				t.Helper()
				got := f.rows(`select (select count(*) from runs where created_at <= 2500) || ' runs, ' || (select count(*) from denials join runs on runs.id = run
where created_at <= 2500) || ' denials, ' || (select count(*) from fires where at <= 250 and inputs <> '')`)
				if want := []string{runs + " runs, " + runs + " denials, " + fires}; !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", when, got, want)
				}
				f.exits(0, "audit")
				f.exits(0, "status")
			}
			old("before", runs, fires)
			f.later = 40 * 24 * time.Hour
			f.dies(c.stop, "fanout", "--exec")
			f.later = 0
			old("after the death", c.runs, c.fires)
			f.later = 40 * 24 * time.Hour
			for range 2 {
				f.status("fanout", "--exec")
			}
			f.later = 0
			f.exits(0, "audit")
			if left := f.rows("select id from runs where ended_at < (select kept_from from fleet)"); len(left) > 0 {
				t.Errorf("got %q, want that no run is left", left)
			}
			if left := f.rows("select id from fires where at < (select kept_from from fleet) and inputs <> ''"); len(left) > 0 {
				t.Errorf("got the inputs of %q, want none", left)
			}
			if claims := f.rows("select key from claims where key = 'fix'"); len(claims) != 1 {
				t.Error("got that the claim of the task is gone, want its epoch")
			}
		})
	}
}
