package book

import (
	"cmp"
	"maps"
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/table"
)

// AddFates records what became of the work of runs, and corrects what was learnt of them. It returns
// those that are news, with the grades.
func (p Tx) AddFates(list []fleet.Fate) (news []fleet.Fate) {
	p.become(plain.Each(list, func(f fleet.Fate) fleet.RunID { return f.Run }))
	corrected := map[fleet.Category]bool{}
	for _, f := range list {
		if r, found := p.run(f.Run); found {
			if f, isNew := p.addFate(f, r, corrected); isNew {
				news = append(news, f)
			}
		}
	}
	for _, c := range slices.Sorted(maps.Keys(corrected)) {
		if corrected[c] {
			p.relearn(c)
		}
	}
	return news
}

// become asks for all that is learnt anew where the work of runs became something.
func (p Tx) become(ids []fleet.RunID) {
	runs := p.Runs.Ask("id", table.In(ids))
	category := runs.Col("category")
	counted := p.Counted.Ask("category", category, countedSince())
	p.Ahead(runs, p.Fates.Ask("run", table.In(ids)), p.Uses.Ask("run", table.In(ids)), p.Lessons.Ask("category", category), p.Arms.Ask(),
		p.Checkpoints.Ask("category", category, sinceAlarm()), counted, p.Fates.Ask("belief", 1, "run", counted.Col("id")))
}

// addFate records one thing that became of a run's work, and reports whether it is news.
func (p Tx) addFate(f fleet.Fate, r table.Run, corrected map[fleet.Category]bool) (fleet.Fate, bool) {
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
	points := p.points(r.Category)
	belief := len(points) > 0 && r.Counted > points[0].Arm.Graded
	p.Fates.Put(table.Fate{Fate: f, Seq: len(before) + 1, Belief: belief})
	r.Grade = f.Grade
	p.Runs.Put(r)
	if f.Grade == nil || r.Counted == 0 {
		return f, true
	}
	changed := *f.Grade != *was
	corrected[r.Category] = corrected[r.Category] || belief && changed
	if changed {
		p.countUses(r.ID, r.Category, func(l *store.Lesson, injected bool) {
			p.Learn.Correct(&l.Trial, injected, p.arm(r.Category).Round, bandit.Graded{Round: r.Round, Grade: *f.Grade}, *was)
		})
	}
	return f, true
}

// points are the checkpoints of a category from the last alarm on: those grades that were counted
// before it are corrected no more.
func (p Tx) points(c fleet.Category) (list []table.Checkpoint) {
	for _, point := range p.Checkpoints.Where("category", c, sinceAlarm()) {
		if point.Alarm {
			list = nil
		}
		list = append(list, point)
	}
	return list
}

// graded are the grades that a category counted after so many, in that order, as its evidence goes by them.
func (p Tx) graded(c fleet.Category, after int) (list []store.Entry) {
	runs := p.Counted.Ask("category", c, countedSince())
	final := map[fleet.RunID]*float64{}
	counted := p.Counted.Where("category", c, countedSince())
	for _, f := range p.Fates.Where("belief", 1, "run", runs.Col("id")) { // in their order
		final[f.Run] = f.Grade
	}
	for _, r := range counted {
		if r.Counted <= after {
			continue
		}
		e := store.Entry{
			ID: r.ID, Category: c, Round: r.Round, Load: r.Load, Began: r.BeganAt(), First: r.Verdict.Grade, Grade: r.Verdict.Grade,
			Counted: r.Counted, In: r.CountedIn,
		}
		if grade, corrected := final[r.ID]; corrected {
			e.Grade = cmp.Or(grade, e.Grade)
		}
		list = append(list, e)
	}
	sorted(list, func(e store.Entry) int { return e.Counted })
	return list
}

// relearn works the evidence of a category out anew.
func (p Tx) relearn(c fleet.Category) {
	rows := p.points(c)
	points := plain.Each(rows, func(r table.Checkpoint) store.Checkpoint { return r.Checkpoint })
	points, arm := Relearnt(points, p.arm(c), p.graded(c, points[0].Arm.Graded))
	for i := range rows {
		rows[i].Checkpoint = points[i]
		p.Checkpoints.Put(rows[i])
	}
	p.Arms.Put(table.Arm{Category: c, Arm: arm})
}

// Graded is a run's grade after one more thing became of its work: first is the one at its end.
func Graded(first *float64, before []fleet.Fate, f fleet.Fate) *float64 {
	if first == nil {
		return nil
	}
	return new(grade.Final(*first, append(slices.Clone(before), f)))
}

// alarmed reports whether an alarm ended the time between two checkpoints.
func alarmed(was, is bandit.Arm) bool { return is.Alarms == was.Alarms+1 }

// Relearnt are an arm, and its checkpoints from one on that no alarm came after, with the evidence
// worked out anew from grades that were corrected. The grades are all that were counted since that
// checkpoint, in that order. Each keeps the place and the round in which it was counted, so that the
// evidence is that of the corrected grades to the last bit, whenever and in whatever order the
// corrections came. The change detector is not fed by corrections: it goes by what sessions do now.
func Relearnt(points []store.Checkpoint, arm bandit.Arm, grades []store.Entry) ([]store.Checkpoint, bandit.Arm) {
	points = slices.Clone(points)
	counted := points[0].Arm.Graded
	for i := range points {
		next := &arm
		if i+1 < len(points) {
			next = &points[i+1].Arm
		}
		e := points[i].Settings.Relearn(points[i].Arm.Evidence, learnt(part(grades, points[i].Arm.Graded-counted, next.Graded-counted)))
		next.Fast, next.Slow, next.Slope, next.Season, next.Shift = e.Fast, e.Slow, e.Slope, e.Season, e.Shift
	}
	return points, arm
}

// learnt are grades as an arm learns them.
func learnt(list []store.Entry) (all []bandit.Learnt) {
	for _, e := range list {
		x := bandit.Graded{Round: e.Round, Turn: bandit.Turn(e.Began), Load: e.Load, Grade: *e.Grade, Shift: *e.Grade - *e.First}
		all = append(all, bandit.Learnt{Graded: x, In: e.In})
	}
	return all
}
