package book_test

import (
	"slices"
	"testing"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// TestRows puts, deletes and finds rows: what is written and deleted at the end is what was decided
// last, and rows come in the order of their keys, so that the last bit of a sum over them does not
// depend on chance.
func TestRows(t *testing.T) {
	t.Parallel()
	p := written(noon)
	row := func(c string) table.Arm { return table.Arm{Category: fleet.Category(c)} }
	names := func(list []table.Arm) (all []fleet.Category) {
		for _, a := range list {
			all = append(all, a.Category)
		}
		return all
	}
	p.Arms.Know(row("d"), row("b"), row("a"))
	p.Arms.Put(row("c"))
	p.Arms.Put(row("b"))
	p.Arms.Put(row("c"))
	for c, want := range map[string]bool{"a": true, "b": true, "none": false} {
		if got := p.Arms.Delete(row(c)); got != want {
			t.Errorf("delete %s: got %v, want %v", c, got, want)
		}
	}
	p.Arms.Put(row("a"))
	for what, tt := range map[string]struct{ got, want []fleet.Category }{
		"all":     {names(p.Arms.Where()), []fleet.Category{"a", "c", "d"}},
		"one":     {names(p.Arms.Where("category", "c", "vain_at", "")), []fleet.Category{"c"}},
		"of some": {names(p.Arms.Where("category", table.In([]string{"a", "b", "d"}))), []fleet.Category{"a", "d"}},
		"written": {names(p.Arms.Written()), []fleet.Category{"c", "a"}},
		"gone":    {names(p.Arms.Gone()), []fleet.Category{"b"}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", what, tt.got, tt.want)
		}
	}
	if got, found := p.Arms.Get(row("b")); found {
		t.Errorf("got %v, want it deleted", got)
	}
	if got := p.Copy(noon); len(got.Arms.Written())+len(got.Arms.Gone()) != 0 || len(got.Arms.Where()) != 3 {
		t.Errorf("got a copy with %v written, %v gone and %v, want the three rows alone", got.Arms.Written(), got.Arms.Gone(), got.Arms.Where())
	}
}
