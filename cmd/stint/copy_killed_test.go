package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/postgres"
	"stint/internal/testkit/must"
)

// TestCopyKilled copies a record to a server and back, as the fleet's role there, and kills the copying
// process after longer and longer times: the next one goes on, and both ways each row arrives once.
func TestCopyKilled(t *testing.T) {
	t.Parallel()
	f := newCrashFleet(t)
	f.work()
	f.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
insert into runs (id, category, rank, chain_depth, source, agent, created_at, ended_at, outcome) select '0' || (1000000 + i), 'code', 0, 0, 'by hand', 'fake', i, i, 'idle' from n`)
	f.exec("insert into denials (run, category, key, holder, at) select id, category, 'k', 'bob', created_at from runs where outcome = 'idle'")
	file := f.database()
	want := everyRow(t, file)

	c := must.Get(cluster.Get())(t)
	address := "postgres:///postgres?host=" + c.Dir + "&user="
	role := postgres.Role("crash")
	must.Do(t, c.SQL(`create role "`+role+`" login`))
	f.exits(0, "store", "migrate", address+"stint")
	f.copies("sqlite", address+role)
	if status, _, stderr := f.status("claim", "list"); status != 2 || !strings.Contains(stderr, "the store was moved to postgres:") {
		t.Errorf("got status %d, %s; want that the file was moved", status, stderr)
	}

	must.Do(t, os.Rename(file, file+".was"))
	f.copies(address+role, "sqlite")
	if got := everyRow(t, file); !slices.Equal(got, want) {
		t.Errorf("got %d rows that are not the %d of before", len(got), len(want))
	}
	f.exits(0, "audit")
	d := must.Get(postgres.Open(postgres.Options{DSN: address + role, Fleet: fleet.Name("crash")}))(t)
	defer func() { _ = d.Close() }()
	if _, err := d.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "the store was moved to sqlite") {
		t.Errorf("got %v, want that the server's was moved", err)
	}
}

// copies copies a store, and kills that again and again until one is quicker.
func (f *crashFleet) copies(from, to string) {
	f.Helper()
	after := 20 * time.Millisecond
	for kills := 0; ; kills++ {
		after += after / 4 // the next gets further
		cmd, stderr := f.command("store", "copy", from, to)
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		must.Do(f, cmd.Start())
		kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			if f.Logf("after %d kills", kills); kills < 3 {
				f.Error("want that it was killed more often")
			}
			return
		}
		if cmd.ProcessState.Exited() {
			if strings.Contains(stderr.String(), "the store was moved to "+to) {
				f.Logf("after %d kills, the last after all was done", kills)
				return
			}
			f.Fatalf("%v\n%s%s", err, &stdout, stderr)
		}
	}
}

// everyRow is all rows of a store that are copied, as text.
func everyRow(t *testing.T, file string) (list []string) {
	t.Helper()
	query := func(q string) []string {
		t.Helper()
		rows := must.Get(queryRows(t.Context(), file, "ro", q))(t)
		return rows
	}
	for _, table := range query("select name from sqlite_master where type = 'table' and name <> 'fleet' order by name") {
		list = append(list, query("select '"+table+"', *, '.' from "+table)...) // nothing is trimmed between the two
	}
	list = append(list, query("select fires from fleet")...)
	slices.Sort(list)
	return list
}
