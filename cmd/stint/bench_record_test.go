package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// recorded is the number of fires of one half of a pair, which take long enough to be measured.
const recorded = 10

// BenchmarkRecord measures what a fire of three sessions writes, in this process: beside bare statements that write the same rows,
// and in a fleet that has run for long, beside one that has run for a day.
func BenchmarkRecord(b *testing.B) {
	old := func(runs int) bench {
		f := newBench(b, "true")
		f.categorize(b, 20)
		f.fillHistory(b, runs, 20)
		return f
	}
	few := old(1_000)
	b.Run("bare", func(b *testing.B) {
		bare := old(1_000)
		measure(b, few.records(b), bare.barely(b)).report(b)
	})
	for _, n := range []int{1_000, 1_000_000} {
		many := old(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b, many.records(b), few.records(b)).report(b)
		})
	}
}

// firing is a fire that moves all categories, and starts a session in three of them.
func firing(n int) store.Firing {
	f := store.Firing{
		Fire: fleet.Fire{
			At: time.Now(), Seed: uint64(n), Workers: 3, Inputs: []byte(strings.Repeat(`{"candidate":0.5}`, 600)),
			Selection: []byte(strings.Repeat(`{"explain":0.5}`, 500)), Own: true, Due: map[fleet.Category]float64{},
		},
		Host: fleet.Host{ID: "bench", Name: "bench"}, Budget: rank.Amounts{rank.USD: 50},
	}
	for i := range 20 {
		c := fleet.Category(fmt.Sprintf("c%d", i))
		f.Fire.Moves, f.Fire.Due[c] = append(f.Fire.Moves, c), 3.0/20
		choice := fleet.Choice{Category: c, Decision: fleet.Skip, Reason: "ranked by its grades", Rank: i + 1}
		if i < 3 {
			choice.Decision, choice.Run = fleet.Spawn, fleet.RunID(fmt.Sprintf("~%d-%d", n, i)) // behind all others
			f.Runs = append(f.Runs, fleet.Run{ID: choice.Run, Category: c, Rank: i + 1, Source: fleet.FromSelected, Agent: "fake", CreatedAt: f.Fire.At})
		}
		f.Fire.Choices = append(f.Fire.Choices, choice)
	}
	return f
}

// records are fires, whose runs are then forgotten: they would all be under way.
func (f bench) records(b *testing.B) way {
	b.Helper()
	d, n := f.openStore(b), 0
	b.Cleanup(func() { must.Do(b, d.Close()) })
	return func() time.Duration {
		defer f.execute(b, "delete from runs where id > '~'")
		start := time.Now()
		for range recorded {
			n++
			must.Get(d.RecordFire(b.Context(), firing(n)))(b)
		}
		return time.Since(start)
	}
}

// barely writes the rows of such fires by statements that were prepared before.
func (f bench) barely(b *testing.B) way {
	b.Helper()
	f.records(b)()
	d := f.openStore(b)
	must.Get(d.RecordFire(b.Context(), firing(1)))(b)
	db, err := openBeside(f.database(), "rw")
	must.Do(b, err, d.Close())
	db.SetMaxOpenConns(1)
	must.Get(db.Exec("pragma synchronous = full; pragma foreign_keys = on"))(b)
	run := func(statement string, args ...any) {
		if _, failed := db.Exec(statement, args...); failed != nil {
			b.Fatalf("%s: %v", statement, failed)
		}
	}
	fires := prepared(b, db, "fires", "id = (select max(id) from fires)")
	runs := prepared(b, db, "runs", "id > '~'")
	events := prepared(b, db, "events", "seq = (select max(seq) from events)")
	count := must.Get(db.Prepare("update fleet set fires = fires + 1"))(b)
	host := must.Get(db.Prepare("update hosts set fired_at = ?"))(b)
	tails := must.Get(db.Prepare("delete from tails where at < 1"))(b)
	b.Cleanup(func() { must.Do(b, db.Close()) })
	n := 0
	return func() time.Duration {
		run("delete from runs where id > '~'")
		start := time.Now()
		for range recorded {
			n++
			run("begin immediate")
			_, e1 := tails.Exec()
			_, e2 := count.Exec()
			_, e3 := host.Exec(n)
			must.Do(b, e1, e2, e3, fires.put(n), runs.put(n), events.put(n))
			run("commit")
		}
		return time.Since(start)
	}
}

// rows are those that a fire wrote into a table, to be written again under keys of their own.
type rows struct {
	insert *sql.Stmt
	names  []string
	values [][]any
}

func prepared(b *testing.B, db *sql.DB, table, where string) (r rows) {
	b.Helper()
	list, err := db.Query("select * from " + table + " where " + where)
	must.Do(b, err)
	defer func() { must.Do(b, list.Close()) }()
	r.names = must.Get(list.Columns())(b)
	for list.Next() {
		values, at := make([]any, len(r.names)), make([]any, len(r.names))
		for i := range values {
			at[i] = &values[i]
		}
		must.Do(b, list.Scan(at...))
		r.values = append(r.values, values)
	}
	if err := list.Err(); err != nil {
		b.Fatal(err)
	}
	marks := strings.Repeat(", ?", len(r.names))[2:]
	r.insert = must.Get(db.Prepare("insert into " + table + " values (" + marks + ")"))(b)
	return r
}

// put writes the rows of the nth fire from now.
func (r rows) put(n int) (err error) {
	for i, row := range r.values {
		values := append([]any(nil), row...)
		for at, name := range r.names {
			switch key, isNumber := values[at].(int64); {
			case name == "id" && isNumber, name == "seq", name == "fire":
				values[at] = key + int64(n)
			case name == "id":
				values[at] = fmt.Sprintf("~bare-%d-%d", n, i)
			}
		}
		_, failed := r.insert.Exec(values...)
		err = errors.Join(err, failed)
	}
	return err
}
