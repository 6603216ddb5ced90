package book_test

import (
	"slices"
	"testing"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store/book"
)

// TestRows puts, deletes and finds rows: what is written and deleted at the end is what was decided
// last, and rows come in the order of their keys, so that the last bit of a sum over them does not
// depend on chance.
func TestRows(t *testing.T) {
	t.Parallel()
	p := book.NewPage(noon, bandit.Defaults())
	row := func(c string) book.Arm { return book.Arm{Category: fleet.Category(c)} }
	names := func(list []book.Arm) (all []fleet.Category) {
		for _, a := range list {
			all = append(all, a.Category)
		}
		return all
	}
	for _, c := range []string{"d", "b", "a"} {
		p.Arms.Add(row(c))
	}
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
		"all":     {names(slices.Collect(p.Arms.All())), []fleet.Category{"a", "c", "d"}},
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
	if got := p.Copy(noon); len(got.Arms.Written())+len(got.Arms.Gone()) != 0 || len(slices.Collect(got.Arms.All())) != 3 {
		t.Errorf("got a copy with %v written, %v gone and %v, want the three rows alone", got.Arms.Written(), got.Arms.Gone(), slices.Collect(got.Arms.All()))
	}
}
