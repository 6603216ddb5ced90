package book

import (
	"fmt"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// RecordFire records a fire and the machine that made it, the runs that it is about to start, and the
// rounds that it moves categories into. One of an attempt that is on record is as it was then.
func (p *Page) RecordFire(f store.Firing) (fleet.Fire, error) {
	for recorded := range p.Fires.All() {
		if f.Attempt == "" || recorded.Attempt != f.Attempt {
			continue
		}
		for c := range p.Choices.All() {
			if c.Fire == recorded.ID {
				recorded.Choices = append(recorded.Choices, c.Choice)
			}
		}
		return recorded.Fire, nil
	}
	if err := p.meet(f.Host); err != nil {
		return fleet.Fire{}, err
	}
	p.dropTails()
	fire, starts := Arbitrate(f, p.underWay())
	p.Number++
	fire.ID = p.Number
	if fire.At.IsZero() {
		fire.At = p.Now
	}
	row := Fire{Fire: fire, Rounds: map[fleet.Category]fleet.Round{}, Attempt: f.Attempt}
	row.At, row.Choices, row.Moves = whole(fire.At), nil, nil
	for i, c := range fire.Choices {
		p.Choices.Put(Choice{fire.ID, i + 1, c})
	}
	for _, r := range starts {
		r.Fire = fire.ID
		if err := p.plan(r); err != nil {
			return fleet.Fire{}, fmt.Errorf("run %s: %w", r.ID, err)
		}
	}
	for _, c := range fire.Moves {
		p.changeArm(c, func(a *bandit.Arm) {
			a.Round++
			row.Rounds[c] = a.Round
			if due, ok := fire.Due[c]; ok {
				a.Entitle(p.Learn, due)
			}
		})
	}
	p.Fires.Put(row)
	return fire, nil
}

// NotStarted records that a fire's unit did not start: its run ends as abandoned and
// the choice failed. It reports false when the run has begun.
func (p *Page) NotStarted(fire fleet.FireID, run fleet.RunID, reason string) bool {
	r, err := p.open(run)
	if err != nil || !r.StartedAt.IsZero() {
		return false
	}
	r.EndedAt, r.Verdict.Outcome, r.Verdict.Reason = p.Now, fleet.Abandoned, reason
	p.Runs.Put(r)
	for c := range p.Choices.All() {
		if c.Fire == fire && c.Run == run {
			c.Decision, c.Reason = fleet.StartFailed, reason
			p.Choices.Put(c)
		}
	}
	return true
}

// Respawn records whether a session follows a run, and the run that does. It returns what is on
// record.
func (p *Page) Respawn(run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	r, found := p.run(run)
	if !found {
		return "", "", fleet.ErrNotFound
	}
	if r.Followed != "" {
		return r.FollowedBy, r.Followed, nil
	}
	r.Followed = reason
	if next != nil {
		if taken := Taken(b, *next, p.underWay()); taken != "" {
			r.Followed = taken
		} else if err := p.plan(*next); err != nil {
			return "", "", err
		} else {
			r.FollowedBy = next.ID
		}
	}
	p.Runs.Put(r)
	return r.FollowedBy, r.Followed, nil
}

// underWay are the runs that have not ended, in brief.
func (p *Page) underWay() []fleet.Run {
	list := make([]fleet.Run, len(p.Open))
	for i, r := range p.Open {
		list[i] = r.Run
	}
	return list
}
