package book

import (
	"cmp"
	"slices"

	"stint/internal/agent/grade"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store/table"
)

// AddFates records review outcomes, and corrects grades and the ranking. It returns the new ones, with the grades.
func (p Tx) AddFates(list []fleet.ReviewOutcome) (news []fleet.ReviewOutcome) {
	runs := p.Runs.Ask("id", table.In(plain.Each(list, func(f fleet.ReviewOutcome) fleet.RunID { return f.Run })))
	p.Ahead(runs, p.Lessons.Ask("category", runs.Col("category")))
	p.Ahead(p.asksRanking()...)
	for _, f := range list {
		if r, found := p.run(f.Run); found {
			if f, isNew := p.addFate(f, r); isNew {
				news = append(news, f)
			}
		}
	}
	return news
}

// addFate records one review outcome, and reports whether it is new.
func (p Tx) addFate(f fleet.ReviewOutcome, r table.Run) (fleet.ReviewOutcome, bool) {
	if f.At.IsZero() || f.At.After(p.Now()) {
		f.At = p.Now()
	}
	f.At = table.Whole(f.At)
	if slices.ContainsFunc(r.Fates, func(k fleet.ReviewOutcome) bool { return k.Kind == f.Kind && k.Witness == f.Witness }) {
		return f, false
	}
	f.Grade = Graded(r.Verdict.Grade, r.Fates, f)
	was := cmp.Or(r.Grade, r.Verdict.Grade)
	r.Fates, r.Grade = append(slices.Clone(r.Fates), f), f.Grade
	if r.FatedAt.IsZero() || f.At.Before(r.FatedAt) {
		r.FatedAt = f.At
	}
	if f.Kind.Landed() && f.At.After(r.LandedAt) {
		r.LandedAt = f.At
	}
	p.Runs.Put(r)
	if f.Grade != nil {
		p.correct(r, *was, *f.Grade)
	}
	return f, true
}

// Graded returns a run's grade after one more review outcome. First is the grade at its end.
func Graded(first *float64, before []fleet.ReviewOutcome, f fleet.ReviewOutcome) *float64 {
	if first == nil {
		return nil
	}
	return new(grade.Final(*first, append(slices.Clone(before), f)))
}
