package sqlite

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

// setAll gives each field a value of its own. A bandit's figures are never below zero.
func setAll(v reflect.Value, number func(i int) float64) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanFloat():
			f.SetFloat(number(i))
		case f.Kind() == reflect.String:
			f.SetString("text " + v.Type().Field(i).Name)
		case f.CanInt():
			f.SetInt(1<<52 - int64(i))
		case f.Type() == reflect.TypeFor[time.Time]():
			f.Set(reflect.ValueOf(storetest.Start().Add(time.Millisecond)))
		case f.Kind() == reflect.Array:
			for i := range f.Len() {
				setAll(f.Index(i), number)
			}
		default:
			setAll(f, number) // it is a struct, else it panics
		}
	}
}

// putAndRead stores an arm and reads it back.
func putAndRead(t *testing.T, d *DB, c fleet.Category, a rank.Arm) rank.Arm {
	t.Helper()
	must.Do(t, d.Change(t.Context(), book.Any, func(p book.Tx) error {
		p.Rankings.Put(table.Ranking{Day: "2026-06-26", State: rank.State{Seq: 1, Arms: map[fleet.Category]*rank.Arm{c: &a}}})
		return nil
	}))
	s := must.Get(d.Snapshot(t.Context()))(t)
	return s.Arms[c].Arm
}

func exactly() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// rowsOf are the rows of a query, each by column.
func rowsOf(t *testing.T, d *DB, query string) (list []map[string]any) {
	t.Helper()
	rows := must.Get(d.sql.QueryContext(t.Context(), query))(t) //nolint:rowserrcheck // it is checked below
	defer func() {
		must.Do(t, rows.Err(), rows.Close())
	}()
	names := must.Get(rows.Columns())(t)
	for rows.Next() {
		values, places := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			places[i] = &values[i]
		}
		must.Do(t, rows.Scan(places...))
		row := map[string]any{}
		for i, name := range names {
			row[name] = values[i]
		}
		list = append(list, row)
	}
	return list
}

// TestArmToTheBit keeps numbers that a rendering in decimal, or a smaller type, would
// change: a restart must not change a ranking.
func TestArmToTheBit(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	if got := putAndRead(t, d, "zero", rank.Arm{}); got != (rank.Arm{}) {
		t.Errorf("got %+v of an arm that never ran, want it empty", got)
	}
	odd := []float64{0, math.SmallestNonzeroFloat64, math.Nextafter(1, 2), 1<<53 + 2, 0.1 + math.Nextafter(0.2, 1), 1 << 62, math.MaxFloat64, math.Pi}
	rapid.Check(t, func(rt *rapid.T) {
		var a rank.Arm
		number := rapid.OneOf(rapid.SampledFrom(odd), rapid.Float64Range(0, 1), rapid.Float64Range(0, math.MaxFloat64))
		setAll(reflect.ValueOf(&a).Elem(), func(i int) float64 { return math.Abs(number.Draw(rt, fmt.Sprint(i))) })
		must.Equal(rt, "arm", putAndRead(t, d, "code", a), a, exactly())
	})
}

// TestRestOfOneMachine has a session end on one machine: a category rests there alone, and after a
// session of which nobody knows the machine everywhere.
func TestRestOfOneMachine(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	o := testOptions(t, clock.Now)
	open := func(host string) *DB {
		o.Host = func() string { return host }
		return mustOpen(t, o)
	}
	a, b := open("a"), open("b")
	ends := func(id fleet.RunID, host string) {
		t.Helper()
		clock.Advance(time.Minute)
		r := fleet.Run{ID: id, Category: "code", CreatedAt: clock.Now(), Location: fleet.Location{Host: host}}
		err := a.AddRun(t.Context(), r)
		if err == nil {
			_, _, err = storekit.TakeForRun(t.Context(), a, storekit.RunTake{
				TakeRequest: store.TakeRequest{Key: fleet.Key(id), Holder: id.Holder(), TTL: time.Hour}, Run: id, Task: fleet.TaskID(id),
			})
		}
		if r.Verdict.Outcome = fleet.Lost; err == nil {
			err = a.Complete(t.Context(), r)
		}
		must.Do(t, err)
	}
	rests := func(name string, d *DB, minute int) {
		t.Helper()
		s, err := d.Snapshot(t.Context())
		if want := storetest.Start().Add(time.Duration(minute) * time.Minute); err != nil || !s.Arms["code"].Ended.Equal(want) {
			t.Errorf("%s: its last session ended at %v (%v), want %v", name, s.Arms["code"].Ended, err, want)
		}
	}
	ends("0r1", "")
	ends("0r2", "a")
	rests("where it ended", a, 2)
	rests("elsewhere", b, 1)
	ends("0r3", "b")
	rests("where the one before ended", a, 2)
	rests("where it ended", b, 3)
}
