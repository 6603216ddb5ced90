package sqlite

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// leaf is a field of an arm that holds no others, under its names in JSON.
type leaf struct {
	path  string
	value reflect.Value
}

func leaves(path string, v reflect.Value) (list []leaf) {
	if v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]() {
		return []leaf{{strings.TrimPrefix(path, "_"), v}}
	}
	for field, value := range v.Fields() {
		below := path
		if !field.Anonymous {
			below += "_" + field.Tag.Get("json")
		}
		list = append(list, leaves(below, value)...)
	}
	return list
}

// columnOf is the column that keeps a field: most are named as in JSON.
func columnOf(path string) string {
	if path == "at" {
		return "at_round"
	}
	return strings.NewReplacer("up_since_", "up_", "down_since_", "down_").Replace(path)
}

// setAll gives each field of an arm a value of its own. A bandit's figures are never below
// zero.
func setAll(t *testing.T, a *bandit.Arm, number func(i int) float64) (columns map[string]any) {
	t.Helper()
	columns = map[string]any{"category": "code"}
	for i, l := range leaves("", reflect.ValueOf(a).Elem()) {
		name := columnOf(l.path)
		switch {
		case l.value.CanFloat():
			l.value.SetFloat(number(i))
			columns[name] = l.value.Float()
		case l.value.Kind() == reflect.String:
			l.value.SetString("text " + name)
			columns[name] = l.value.String()
		case l.value.CanInt():
			l.value.SetInt(math.MaxInt64 - int64(i))
			columns[name] = l.value.Int()
		default:
			at := storetest.Start().Add(time.Millisecond)
			l.value.Set(reflect.ValueOf(at)) // the only other type there is, else it panics
			columns[name] = at.UnixMilli()
		}
	}
	return columns
}

// putAndRead stores an arm and reads it back.
func putAndRead(t *testing.T, d *DB, c fleet.Category, a bandit.Arm) bandit.Arm {
	t.Helper()
	must.Do(t, d.Change(t.Context(), book.Any, func(p book.Tx) error {
		p.Arms.Put(table.Arm{Category: c, Arm: a})
		return nil
	}))
	s := must.Get(d.Snapshot(t.Context()))(t)
	return s.Arms[c].Arm
}

func exactly() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// TestArmColumns shows that every field of an arm has the column that its name says, and
// that there is no column besides.
func TestArmColumns(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	var a bandit.Arm
	want := setAll(t, &a, func(i int) float64 { return float64(i) + 0.1 })
	must.Equal(t, "arm", putAndRead(t, d, "code", a), a, exactly())
	must.Equal(t, "row", rowsOf(t, d, "select * from arms"), []map[string]any{want}, exactly())
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
	if got := putAndRead(t, d, "zero", bandit.Arm{}); got != (bandit.Arm{}) {
		t.Errorf("got %+v of an arm that never ran, want it empty", got)
	}
	odd := []float64{0, math.SmallestNonzeroFloat64, math.Nextafter(1, 2), 1<<53 + 2, 0.1 + math.Nextafter(0.2, 1), 1 << 62, math.MaxFloat64, math.Pi}
	rapid.Check(t, func(rt *rapid.T) {
		var a bandit.Arm
		number := rapid.OneOf(rapid.SampledFrom(odd), rapid.Float64Range(0, 1), rapid.Float64Range(0, math.MaxFloat64))
		setAll(t, &a, func(i int) float64 { return math.Abs(number.Draw(rt, fmt.Sprint(i))) })
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
		r := fleet.Run{ID: id, Category: "code", CreatedAt: clock.Now(), Seat: fleet.Seat{Host: host}}
		err := a.AddRun(t.Context(), r)
		if err == nil {
			_, _, err = a.TakeForRun(t.Context(), store.RunTake{
				TakeRequest: store.TakeRequest{Key: fleet.Key(id), Holder: id.Holder(), TTL: time.Hour}, Run: id, Task: fleet.TaskID(id),
			})
		}
		if r.Verdict.Outcome = fleet.Lost; err == nil {
			err = a.EndRun(t.Context(), r)
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
