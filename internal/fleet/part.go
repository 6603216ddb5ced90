package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// TermPrefix begins the names of the parts of a verdict that its grade is the sum of.
const TermPrefix = "grade_"

// Part is one of the parts of a verdict: what a grade is made of, or a count.
type Part struct {
	Name  string // without [TermPrefix]
	Value float64
}

// Terms are the parts that the grade is the sum of, the greatest first, in units of grade;
// facts are other figures of the session, by name, each in a unit of its own.
func (v Verdict) Terms() (terms, facts []Part) {
	for _, name := range slices.Sorted(maps.Keys(v.Parts)) {
		if term, is := strings.CutPrefix(name, TermPrefix); is {
			terms = append(terms, Part{term, v.Parts[name]})
		} else {
			facts = append(facts, Part{name, v.Parts[name]})
		}
	}
	slices.SortStableFunc(terms, func(a, b Part) int { return cmp.Compare(b.Value, a.Value) })
	return terms, facts
}
