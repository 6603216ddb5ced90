package book

import (
	"maps"
	"slices"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/table"
)

// maxEvents bounds the events that a ranking folds: beyond it, the next write stores their state. Reading and folding so
// many takes 0.3 ms, as long as reading the state of twenty categories.
const maxEvents = 64

// ranking returns the present ranking: the state stored last, and the events since.
func (p Tx) ranking() *rank.State {
	if p.State != nil {
		return p.State
	}
	var stored rank.State
	for _, r := range p.Rankings.Where(newestRanking()) {
		if r.State.Seq >= stored.Seq {
			stored = r.State
		}
	}
	st := stored.Clone()
	if stored.Seq == 0 {
		st.Settings = p.Learn
	}
	for _, e := range p.Events.Where(newEvents()) {
		if e.Seq > st.Seq {
			st.Fold(e)
		}
	}
	p.State, p.Stored = st, stored.Seq
	return st
}

// asksRanking asks for the rows that the ranking folds.
func (p Tx) asksRanking() []table.Ask {
	return []table.Ask{p.Rankings.Ask(newestRanking()), p.Events.Ask(newEvents())}
}

func newestRanking() table.Only {
	return table.Only{SQL: "seq = (select max(seq) from rankings)"}
}

func newEvents() table.Only {
	return table.Only{SQL: "seq > (select coalesce(max(seq), 0) from rankings)"}
}

// learn gives the ranking an event, and returns the figures that the session's row keeps.
func (p Tx) learn(e rank.Event) rank.Mark {
	st := p.ranking()
	e.Seq, e.At = st.Seq+1, p.Now()
	p.Events.Put(e)
	m := st.Fold(e)
	if p.Stored == 0 || st.Seq >= p.Stored+maxEvents {
		p.Rankings.Put(table.Ranking{Day: p.Today(), State: *st})
	}
	return m
}

// learnFrom takes a run's end into the ranking: a grade, or the lack of work. Any other end tells nothing, and a
// deferred failure does not count yet.
func (p Tx) learnFrom(r fleet.Run) {
	v := r.Verdict
	if r.Deferred || v.Fault == fleet.FaultAgent {
		return
	}
	p.countLessons(r)
	switch {
	case v.Grade != nil:
		p.learnGrade(r.ID, *v.Grade)
	case v.Empty():
		p.learn(rank.Event{Kind: rank.Empty, Category: r.Category, Run: r.ID, Task: r.Task, Last: r.Left.Last})
	case v.Internal && r.Key != "": // stint could not begin it: it would fail again
		p.learn(rank.Event{Kind: rank.Fruitless, Category: r.Category, Run: r.ID, Task: r.Task, Last: r.Left.Last})
	case v.Outcome == fleet.Idle && r.Source != fleet.FromHand: // a fire saw work to do; a person may not have
		p.learn(rank.Event{Kind: rank.Slept, Category: r.Category, Run: r.ID})
	}
}

// learnGrade counts a grade. The run's row keeps its weight.
func (p Tx) learnGrade(id fleet.RunID, grade float64) {
	r, _ := p.run(id)
	m := p.learn(rank.Event{Kind: rank.Ended, Category: r.Category, Run: id, Agent: r.Agent, Grade: grade, Mark: r.Mark()})
	r.Counted = m.Counted
	if m.Became != 0 {
		r.Alarm = fleet.GradeChange{At: p.Now(), Was: m.Was, Became: m.Became}
	}
	p.Runs.Put(r)
	p.learnLessons(id, r.Category, p.arm(r.Category), rank.Graded{Round: r.Round, Grade: grade})
	if r.Grade != nil { // the work had a review outcome while the grade was deferred
		p.correct(r, grade, *r.Grade)
	}
}

// correct replaces a session's grade in the ranking.
func (p Tx) correct(r table.Run, was, is float64) {
	if was == is || r.Counted == 0 {
		return
	}
	p.learn(rank.Event{Kind: rank.Corrected, Category: r.Category, Run: r.ID, Agent: r.Agent, Was: was, Grade: is, Mark: r.Mark()})
	p.countUses(r.ID, r.Category, func(l *store.Lesson, injected bool) {
		p.ranking().Settings.Correct(&l.Trial, injected, p.arm(r.Category).Round, rank.Graded{Round: r.Round, Grade: is}, was)
	})
}

// learnLessons counts a grade for the lessons that matched its run, and moves the exposure of all lessons in the
// category, by the weight of the evidence.
func (p Tx) learnLessons(id fleet.RunID, c fleet.Category, arm rank.Arm, x rank.Graded) {
	type version struct {
		id   fleet.LessonID
		text string
	}
	injected := map[version]bool{}
	p.countUses(id, c, func(l *store.Lesson, with bool) {
		p.ranking().Settings.Try(&l.Trial, with, arm.Round, x)
		injected[version{l.ID, l.Version}] = with
	})
	for _, l := range p.Lessons.Where("category", c) {
		l.Exposure = rank.Expose(l.Exposure, injected[version{l.ID, l.Version}], arm.Fast.W)
		p.Lessons.Put(l)
	}
}

// countLessons counts a session without work, or a failed one, for the lessons that matched its run.
func (p Tx) countLessons(r fleet.Run) {
	empty := r.Verdict.Empty()
	failed := r.Verdict.Outcome == fleet.Failed || r.Verdict.Outcome == fleet.Timeout
	if !empty && !failed {
		return
	}
	p.countUses(r.ID, r.Category, func(l *store.Lesson, with bool) {
		if a := l.Of(with); empty {
			a.Empty++
		} else {
			a.Failed++
		}
	})
}

// countUses calls count for each lesson that matched a run.
func (p Tx) countUses(id fleet.RunID, c fleet.Category, count func(l *store.Lesson, injected bool)) {
	run, _ := p.run(id)
	for _, u := range run.Lessons {
		l := store.Lesson{ID: u.Lesson, Version: u.Version, Category: c}
		for _, known := range p.Lessons.Where("category", c) {
			if known.ID == l.ID && known.Version == l.Version {
				l = known
			}
		}
		count(&l, u.Injected)
		p.Lessons.Put(l)
	}
}

// Resume ends a pause, and the back-off of what was paused; for the whole fleet, also whatever stops agents. It tells
// what ended.
func (p Tx) Resume(c fleet.Category) (ended []string) {
	rest := p.Tasks.Ask(resting())
	p.Ahead(p.asksRanking()...)
	p.Ahead(p.Fleet.Ask(), p.Agents.Ask(), rest, p.Runs.Ask("id", rest.Col("run")))
	if p.Pauses.Delete(fleet.Pause{Category: c}) {
		ended = append(ended, "its pause")
	}
	if row := p.fleet(); c == "" && row.Lineage.Bars(p.Now()) {
		row.Lineage.GrantsFrom = p.Now()
		p.Fleet.Put(row)
		ended = append(ended, "the wait of a store that went back")
	}
	arms := p.ranking().Arms
	asleep := plain.Kept(slices.Sorted(maps.Keys(arms)), func(name fleet.Category) bool {
		return (c == "" || name == c) && (arms[name].AsleepUntil > 0 || arms[name].VainAt != "")
	})
	for _, name := range asleep {
		ended = append(ended, "the back-off of "+string(name))
	}
	if len(asleep) > 0 {
		p.learn(rank.Event{Kind: rank.Woken, Category: c})
	}
	for _, m := range p.Tasks.Where(resting()) {
		if r, _ := p.run(m.Run); m.Rests > 0 && (c == "" || r.Category == c) {
			m.Rests = 0
			p.Tasks.Put(m)
			ended = append(ended, "the rest of task "+string(m.Task))
		}
	}
	for _, a := range p.Agents.Where() {
		if c == "" && (!a.Until.IsZero() || a.Failures > 0 || a.Faults > 0) {
			p.Agents.Put(fleet.AgentState{Agent: a.Agent, Bills: a.Bills, Windows: a.Windows})
			ended = append(ended, "the rest of agent "+a.Agent)
		}
	}
	return ended
}

// resting selects tasks that rest, or did.
func resting() table.Only { return table.Only{SQL: "rests > 0"} }

// wake ends the back-off of categories whose last session had no result at a task, and reports whether there were any.
func (p Tx) wake(task fleet.TaskID) (woken bool) {
	for _, a := range p.ranking().Arms {
		woken = woken || a.VainAt == task
	}
	if woken {
		p.learn(rank.Event{Kind: rank.Woken, Task: task})
	}
	return woken
}
