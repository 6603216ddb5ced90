package book

import (
	"cmp"
	"slices"

	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/plain"
	"stint/internal/store/table"
)

// AddFates records what became of the work of runs, and corrects what was learnt of them. It returns
// those that are news, with the grades.
func (p Tx) AddFates(list []fleet.Fate) (news []fleet.Fate) {
	ids := table.In(plain.Each(list, func(f fleet.Fate) fleet.RunID { return f.Run }))
	runs := p.Runs.Ask("id", ids)
	p.Ahead(runs, p.Fates.Ask("run", ids), p.Lessons.Ask("category", runs.Col("category")))
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

// addFate records one thing that became of a run's work, and reports whether it is news.
func (p Tx) addFate(f fleet.Fate, r table.Run) (fleet.Fate, bool) {
	if f.At.IsZero() || f.At.After(p.Now()) {
		f.At = p.Now()
	}
	f.At = table.Whole(f.At)
	var before []fleet.Fate
	for _, known := range p.Fates.Where("run", f.Run) {
		if known.Kind == f.Kind && known.Witness == f.Witness {
			return f, false
		}
		before = append(before, known.Fate)
	}
	f.Grade = Graded(r.Verdict.Grade, before, f)
	was := cmp.Or(r.Grade, r.Verdict.Grade)
	p.Fates.Put(table.Fate{Fate: f, Seq: len(before) + 1})
	r.Grade = f.Grade
	p.Runs.Put(r)
	if f.Grade != nil {
		p.correct(r, *was, *f.Grade)
	}
	return f, true
}

// Graded is a run's grade after one more thing became of its work: first is the one at its end.
func Graded(first *float64, before []fleet.Fate, f fleet.Fate) *float64 {
	if first == nil {
		return nil
	}
	return new(grade.Final(*first, append(slices.Clone(before), f)))
}
