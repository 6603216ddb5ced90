package book_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// TestRows puts, deletes and finds rows: what is written and deleted at the end is what was decided
// last, and rows come in the order of their keys, so that the last bit of a sum over them does not
// depend on chance.
func TestRows(t *testing.T) {
	t.Parallel()
	p := written(noon)
	row := func(c string) fleet.Pause { return fleet.Pause{Category: fleet.Category(c)} }
	names := func(list []fleet.Pause) (all []fleet.Category) {
		for _, a := range list {
			all = append(all, a.Category)
		}
		return all
	}
	p.Pauses.Know(row("d"), row("b"), row("a"))
	p.Pauses.Put(row("c"))
	p.Pauses.Put(row("b"))
	p.Pauses.Put(row("c"))
	for c, want := range map[string]bool{"a": true, "b": true, "none": false} {
		if got := p.Pauses.Delete(row(c)); got != want {
			t.Errorf("delete %s: got %v, want %v", c, got, want)
		}
	}
	p.Pauses.Put(row("a"))
	for what, tt := range map[string]struct{ got, want []fleet.Category }{
		"all":     {names(p.Pauses.Where()), []fleet.Category{"a", "c", "d"}},
		"one":     {names(p.Pauses.Where("category", "c", "reason", "")), []fleet.Category{"c"}},
		"of some": {names(p.Pauses.Where("category", table.In([]string{"a", "b", "d"}))), []fleet.Category{"a", "d"}},
		"written": {names(p.Pauses.Written()), []fleet.Category{"c", "a"}},
		"gone":    {names(p.Pauses.Gone()), []fleet.Category{"b"}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", what, tt.got, tt.want)
		}
	}
	if got, found := p.Pauses.Get(row("b")); found {
		t.Errorf("got %v, want it deleted", got)
	}
}

// TestAsks answers questions of a write: each is asked once, together with what was asked ahead if that costs a trip, and
// what is not there is remembered. A question without an answer ends the rule.
func TestAsks(t *testing.T) {
	t.Parallel()
	var asked []string
	broken := errors.New("broken")
	for name, far := range map[string]string{"near": "", "far": "'2026-06-26'"} {
		asked = nil
		tx := table.NewTx(rank.Defaults(), func(list []table.Statement) error {
			for _, s := range list {
				asked = append(asked, fmt.Sprint(s.SQL[strings.Index(s.SQL, " from "):], s.Args))
				if strings.Contains(s.SQL, "pauses") {
					return broken
				}
			}
			asked = append(asked, ";")
			return nil
		})
		tx.Begin(noon, time.Time{})
		tx.Far(far)
		err := tx.Decide(func() error {
			run := tx.Runs.Like(table.Run{Run: fleet.Run{ID: "0r1"}})
			tx.Ahead(run, tx.Agents.Ask("agent", run.Col("agent")), tx.Rankings.Ask("day", table.In([]string{"code", "docs"})))
			for range 2 {
				tx.Runs.Get(table.Run{Run: fleet.Run{ID: "0r1"}})
				tx.Rankings.Get(table.Ranking{Day: "docs"})
				tx.Claims.Where("holder", "bob", "released_at", nil)
			}
			tx.Claims.Put(table.Claim{Claim: fleet.Claim{Key: "k", Holder: "bob"}})
			if len(tx.Claims.Where("holder", "bob", "released_at", nil)) != 1 || len(tx.Claims.Where("holder", "bob", "released_at", 1)) != 0 {
				t.Error("what was put is not found by what it is")
			}
			tx.Pauses.Where()
			return nil
		})
		if err != broken { //nolint:errorlint // nothing is to be about it
			t.Errorf("got %v, want that the question has no answer", err)
		}
		run, days := " from runs where id = $1[0r1]", " from rankings where day "
		holds := " from claims where holder = $1 and released_at "
		want := []string{run, ";", days + "= $1[docs]", ";", holds + "is null[bob]", ";", holds + "= $2[bob 1]", ";", " from pauses []"}
		if far != "" {
			want = []string{
				run, " from agents where agent = (select agent from runs where id = $1)[0r1]", days + "in ($1, $2)[code docs]", ";",
				holds + "is null[bob]", ";", holds + "= $2[bob 1]", ";", " from pauses []",
			}
		}
		must.Equal(t, name, asked, want)
	}
}

// scanned is a row as an engine reads it.
type scanned func(dest []any)

func (s scanned) Scan(dest ...any) error {
	s(dest)
	return nil
}

// TestDecidedRows reads rows that were decided on before: the decision stands.
func TestDecidedRows(t *testing.T) {
	t.Parallel()
	tx := table.NewTx(rank.Defaults(), func(list []table.Statement) error {
		for _, name := range []fleet.Category{"put", "dropped", "read"} {
			if err := list[0].Scan(scanned(func(dest []any) { *dest[0].(*fleet.Category) = name })); err != nil { //nolint:forcetypeassert // it is of that type
				return err
			}
		}
		return nil
	})
	tx.Begin(noon, time.Time{})
	put := fleet.Pause{Category: "put", Reason: "decided"}
	tx.Pauses.Put(put)
	tx.Pauses.Delete(fleet.Pause{Category: "dropped"})
	must.Equal(t, "rows", tx.Pauses.Where(), []fleet.Pause{put, {Category: "read"}})
}
