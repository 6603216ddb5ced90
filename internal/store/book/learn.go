package book

import (
	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// changeArm lets change work on what is remembered of a category.
func (p Tx) changeArm(c fleet.Category, change func(a *bandit.Arm)) {
	a := p.arm(c)
	p.checkpoint(c, a, false)
	change(&a)
	p.Arms.Put(table.Arm{Category: c, Arm: a})
}

// checkpoint keeps an arm as it is, before it learns under other settings than it has, or after an
// alarm.
func (p Tx) checkpoint(c fleet.Category, a bandit.Arm, alarm bool) {
	last := p.Checkpoints.Last("category", c, lastCheckpoint())
	if alarm || last.Seq == 0 || last.Settings != p.Learn {
		p.Checkpoints.Put(table.Checkpoint{Category: c, Seq: last.Seq + 1, Alarm: alarm, Checkpoint: store.Checkpoint{Settings: p.Learn, Arm: a}})
	}
}

// learnFrom takes what a run's end says of its category into account: a grade, or that
// there was nothing to do. Anything else says nothing, and a failure that is held not yet.
func (p Tx) learnFrom(r fleet.Run) {
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
			a.Vain(r.Task, r.Left.Last, a.Round, p.Now())
		})
	case v.Outcome == fleet.Idle && r.Source != fleet.FromHand: // a fire had seen something to do, which a person need not have
		p.changeArm(r.Category, func(a *bandit.Arm) { a.Sleep(a.Round, p.Now()) })
	}
}

// learnGrade counts a grade. The run's row says what the grade counts for.
func (p Tx) learnGrade(id fleet.RunID, grade float64) {
	r, _ := p.run(id)
	x := bandit.Graded{Grade: grade, Round: r.Round, Load: r.Load, Turn: bandit.Turn(r.BeganAt())}
	arm, pool := p.arm(r.Category), p.prior()
	was := p.Learn.Belief(&arm, pool).Mean()
	p.checkpoint(r.Category, arm, false)
	alarm := p.Learn.Learn(&arm, pool, x)
	p.Arms.Put(table.Arm{Category: r.Category, Arm: arm})
	r.Counted, r.CountedIn = arm.Graded, arm.Round
	p.Runs.Put(r)
	if alarm {
		p.checkpoint(r.Category, arm, true)
		p.Changes.Put(fleet.GradeChange{Run: id, At: p.Now(), Was: was, Became: p.Learn.Belief(&arm, p.prior()).Mean()})
	}
	p.learnLessons(id, r.Category, arm, x)
}

// prior is that of all arms, in their order: the order of a sum decides its last bit.
func (p Tx) prior() bandit.Prior {
	var list []*bandit.Arm
	for _, a := range p.Arms.Where() {
		list = append(list, &a.Arm)
	}
	return p.Learn.Prior(list)
}

// learnLessons counts a grade for the lessons that matched its run, and moves the
// exposure of all that the category knows, by the weight of the evidence with it.
func (p Tx) learnLessons(id fleet.RunID, c fleet.Category, arm bandit.Arm, x bandit.Graded) {
	type version struct {
		id   fleet.LessonID
		text string
	}
	injected := map[version]bool{}
	p.countUses(id, c, func(l *store.Lesson, with bool) {
		p.Learn.Try(&l.Trial, with, arm.Round, x)
		injected[version{l.ID, l.Version}] = with
	})
	for _, l := range p.Lessons.Where("category", c) {
		l.Exposure = bandit.Expose(l.Exposure, injected[version{l.ID, l.Version}], arm.Fast.W)
		p.Lessons.Put(l)
	}
}

// countLessons counts a session without work, or a failed one, for the lessons that matched
// its run.
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

// countUses has a session count for each of the lessons that matched its run.
func (p Tx) countUses(id fleet.RunID, c fleet.Category, count func(l *store.Lesson, injected bool)) {
	for _, u := range p.Uses.Where("run", id) {
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

// Resume ends a pause, and the back-off of what was paused; with the whole fleet, also what
// keeps agents from working. It says what ended.
func (p Tx) Resume(c fleet.Category) (ended []string) {
	rest := p.Tasks.Ask(resting())
	p.Ahead(p.Lineage.Ask(), p.Arms.Ask(), p.Agents.Ask(), rest, p.Runs.Ask("id", rest.Col("run")))
	if p.Pauses.Delete(fleet.Pause{Category: c}) {
		ended = append(ended, "its pause")
	}
	if l := p.lineage(); c == "" && l.Bars(p.Now()) {
		l.GrantsFrom = p.Now()
		p.Lineage.Put(l)
		ended = append(ended, "the wait of a store that went back")
	}
	for _, a := range p.Arms.Where() {
		if (c == "" || a.Category == c) && (a.AsleepUntil > 0 || a.VainAt != "") {
			a.Wake()
			p.Arms.Put(a)
			ended = append(ended, "the back-off of "+string(a.Category))
		}
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
			p.Agents.Put(table.Agent{AgentState: fleet.AgentState{Agent: a.Agent}, BilledAfter: a.BilledAfter})
			ended = append(ended, "the rest of agent "+a.Agent)
		}
	}
	return ended
}

// resting bounds tasks by those that rest, or did.
func resting() table.Only { return table.Only{SQL: "rests > 0"} }

// wake ends the back-off of categories whose last session was in vain at a task, and reports
// whether there were any.
func (p Tx) wake(task fleet.TaskID) (woken bool) {
	list := p.Arms.Where("vain_at", task)
	for _, a := range list {
		a.Wake()
		p.Arms.Put(a)
	}
	return len(list) > 0
}
