package book

import (
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// changeArm lets change work on what is remembered of a category.
func (p *Page) changeArm(c fleet.Category, change func(a *bandit.Arm)) {
	a := p.arm(c)
	p.checkpoint(c, a, false)
	change(&a)
	p.Arms.Put(Arm{c, a})
}

// checkpoint keeps an arm as it is, before it learns under other settings than it has, or after an
// alarm.
func (p *Page) checkpoint(c fleet.Category, a bandit.Arm, alarm bool) {
	last := Checkpoint{}
	for point := range p.Checkpoints.All() {
		if point.Category == c && point.Seq > last.Seq {
			last = point
		}
	}
	if alarm || last.Seq == 0 || last.Settings != p.Learn {
		p.Checkpoints.Put(Checkpoint{c, last.Seq + 1, alarm, store.Checkpoint{Settings: p.Learn, Arm: a}})
	}
}

// learnFrom takes what a run's end says of its category into account: a grade, or that
// there was nothing to do. Anything else says nothing, and a failure that is held not yet.
func (p *Page) learnFrom(r fleet.Run) {
	v := r.Verdict
	if r.Held || v.Fault == fleet.FaultAgent {
		return
	}
	p.countLessons(r)
	switch {
	case v.Grade != nil:
		p.learnGrade(r.ID, *v.Grade)
	case v.Empty(), v.Ours && r.Key != "": // one that stint cannot begin is no more use to begin again
		p.changeArm(r.Category, func(a *bandit.Arm) {
			if v.Empty() {
				a.NoopsEver++
			}
			a.Vain(r.Task, r.Left.Last, a.Round, p.Now)
		})
	case v.Outcome == fleet.Idle && r.Source != fleet.FromHand: // a fire had seen something to do, which a person need not have
		p.changeArm(r.Category, func(a *bandit.Arm) { a.Sleep(a.Round, p.Now) })
	}
}

// learnGrade counts a grade. The run's row says what the grade counts for.
func (p *Page) learnGrade(id fleet.RunID, grade float64) {
	r, _ := p.run(id)
	x := bandit.Graded{Grade: grade, Round: r.Round, Load: r.Load, Turn: bandit.Turn(r.Began()), Awaits: r.Awaits}
	arm, pool := p.arm(r.Category), p.prior()
	was := p.Learn.Belief(&arm, pool).Mean()
	p.checkpoint(r.Category, arm, false)
	alarm := p.Learn.Learn(&arm, pool, x)
	p.Arms.Put(Arm{r.Category, arm})
	r.Counted, r.CountedIn = arm.Graded, arm.Round
	p.Runs.Put(r)
	if alarm {
		p.checkpoint(r.Category, arm, true)
		p.Changes.Put(fleet.GradeChange{Run: id, At: p.Now, Was: was, Became: p.Learn.Belief(&arm, p.prior()).Mean()})
	}
	p.learnLessons(id, r.Category, arm, x)
}

// Began is when a run's session began.
func (r Run) Began() (at time.Time) {
	if r.StartedAt.IsZero() {
		return r.CreatedAt
	}
	return r.StartedAt
}

// prior is that of all arms, in their order: the order of a sum decides its last bit.
func (p *Page) prior() bandit.Prior {
	var list []*bandit.Arm
	for a := range p.Arms.All() {
		list = append(list, &a.Arm)
	}
	return p.Learn.Prior(list)
}

// learnLessons counts a grade for the lessons that matched its run, and moves the
// exposure of all that the category knows, by the weight of the evidence with it.
func (p *Page) learnLessons(id fleet.RunID, c fleet.Category, arm bandit.Arm, x bandit.Graded) {
	injected := map[string]bool{}
	p.countUses(id, c, func(l *store.Lesson, with bool) {
		p.Learn.Try(&l.Trial, with, arm.Round, x)
		injected[p.Lessons.key(*l)] = with
	})
	for l := range p.Lessons.All() {
		if l.Category == c {
			l.Exposure = bandit.Expose(l.Exposure, injected[p.Lessons.key(l)], arm.Fast.W)
			p.Lessons.Put(l)
		}
	}
}

// countLessons counts a session without work, or a failed one, for the lessons that matched
// its run.
func (p *Page) countLessons(r fleet.Run) {
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

// countUses has a session count for each of the lessons that matched its run.
func (p *Page) countUses(id fleet.RunID, c fleet.Category, count func(l *store.Lesson, injected bool)) {
	for u := range p.Uses.All() {
		if u.Run == id {
			l, _ := p.Lessons.Get(store.Lesson{ID: u.Lesson, Version: u.Version, Category: c})
			count(&l, u.Injected)
			p.Lessons.Put(l)
		}
	}
}

// Resume ends a pause, and the back-off of what was paused; with the whole fleet, also what
// keeps agents from working. It says what ended.
func (p *Page) Resume(c fleet.Category) (ended []string) {
	if p.Pauses.Delete(fleet.Pause{Category: c}) {
		ended = append(ended, "its pause")
	}
	if l := p.lineage(); c == "" && l.Bars(p.Now) {
		l.GrantsFrom = p.Now
		p.Lineage.Put(l)
		ended = append(ended, "the wait of a store that went back")
	}
	for a := range p.Arms.All() {
		if (c == "" || a.Category == c) && (a.AsleepUntil > 0 || a.VainAt != "") {
			a.Wake()
			p.Arms.Put(a)
			ended = append(ended, "the back-off of "+string(a.Category))
		}
	}
	for m := range p.Tasks.All() {
		if r, _ := p.run(m.Run); m.Rests > 0 && (c == "" || r.Category == c) {
			m.Rests = 0
			p.Tasks.Put(m)
			ended = append(ended, "the rest of task "+string(m.Task))
		}
	}
	for a := range p.Agents.All() {
		if c == "" && (!a.Until.IsZero() || a.Failures > 0 || a.Faults > 0) {
			p.Agents.Put(Agent{fleet.AgentState{Agent: a.Agent}, a.BilledAfter})
			ended = append(ended, "the rest of agent "+a.Agent)
		}
	}
	return ended
}

// wake ends the back-off of categories whose last session was in vain at a task, and reports
// whether there were any.
func (p *Page) wake(task fleet.TaskID) (woken bool) {
	for a := range p.Arms.All() {
		if a.VainAt == task {
			a.Wake()
			p.Arms.Put(a)
			woken = true
		}
	}
	return woken
}
