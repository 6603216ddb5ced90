package book

import (
	"fmt"
	"maps"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// RecordFire records a fire and the machine that made it, the runs that it is about to start, and the
// rounds that its categories are in then. One of an attempt that is on record is as it was then.
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
	if h := f.Host; h.ID != "" {
		h.FiredAt = p.Now // one that a person said is off is back
		if err := p.takeDown(h); err != nil {
			return fleet.Fire{}, err
		}
	}
	p.Tails.DeleteAll(func(t fleet.Tail) bool { return p.Now.Sub(t.At) > tailsKept })
	fire, starts := Arbitrate(f, p.underWay())
	p.Number++
	fire.ID = p.Number
	if fire.At.IsZero() {
		fire.At = p.Now
	}
	row := Fire{Fire: fire, Attempt: f.Attempt}
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
	row.Rounds = p.move(fire, f.Host.ID)
	p.Fires.Put(row)
	return fire, nil
}

// move counts a fire of a machine for its categories, and returns the rounds that they are in.
func (p *Page) move(f fleet.Fire, host string) map[fleet.Category]fleet.Round {
	rounds := map[fleet.Category]fleet.Round{}
	machine, known := p.Hosts.Get(fleet.Host{ID: host})
	for _, c := range f.Moves {
		p.changeArm(c, func(a *bandit.Arm) {
			last := a.Round // without an id it begins a round each time
			if known {
				last = machine.Rounds[c]
			}
			due, entitled := f.Due[c]
			a.Move(p.Learn, bandit.Move{Round: a.Coming(last).Round, Due: due, Entitled: entitled})
			rounds[c] = a.Round
		})
	}
	if known && len(rounds) > 0 {
		all := maps.Clone(rounds)
		for c, round := range machine.Rounds {
			all[c] = max(all[c], round)
		}
		machine.Rounds = all
		p.Hosts.Put(machine)
	}
	return rounds
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
	return plain.Each(p.Open, func(r Run) fleet.Run { return r.Run })
}
