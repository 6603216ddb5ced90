package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/table"
)

// RecordFire records a fire, its machine, the runs that it is about to start, and the rounds of its categories. An
// attempt already on record stays unchanged.
func (p Tx) RecordFire(f store.Firing) (fleet.Fire, error) {
	p.ahead(f)
	if f.Attempt != "" {
		if recorded := p.Fires.Last("attempt", f.Attempt); recorded.ID > 0 {
			return recorded.Fire, nil
		}
	}
	if h := f.Host; h.ID != "" {
		h.FiredAt = p.Now() // the machine is back if a person said that it was off
		if err := p.takeDown(h); err != nil {
			return fleet.Fire{}, err
		}
	}
	p.Also("delete from tails where at < $1", p.Now().Add(-tailsKept).UnixMilli())
	fire, starts := f.Fire, f.Runs
	if len(f.Runs) > 0 {
		fire, starts = Arbitrate(f, p.seats(), p.paused)
	}
	row := p.fleet()
	row.Fires++
	p.Fleet.Put(row)
	fire.ID = row.Fires
	if fire.At.IsZero() {
		fire.At = p.Now()
	}
	recorded := table.Fire{Fire: fire, Attempt: f.Attempt}
	recorded.At, recorded.Moves = table.Whole(fire.At), nil
	for _, r := range starts {
		r.Fire = fire.ID
		if err := p.plan(r); err != nil {
			return fleet.Fire{}, fmt.Errorf("run %s: %w", r.ID, err)
		}
	}
	if len(fire.Moves) > 0 || fire.Full {
		p.learn(rank.Event{
			Kind: rank.Fired, Host: f.Host.ID, Moves: fire.Moves, Due: fire.Due, Floor: p.Learn.Floor, Cap: p.Learn.Cap,
			Budget: f.Budget, Pool: fire.Pool, Full: fire.Full, Extra: f.Extra,
		})
	}
	p.Fires.Put(recorded)
	return fire, nil
}

// ahead asks for all rows that a fire needs.
func (p Tx) ahead(f store.Firing) {
	if f.Attempt != "" {
		p.Ahead(p.Fires.Ask("attempt", f.Attempt))
	}
	if f.Host.ID != "" {
		p.Ahead(p.About(f.Host)...)
	}
	for _, r := range f.Runs {
		p.Ahead(p.seat(r.Location)...)
	}
	if len(f.Runs) > 0 {
		ids := plain.Each(f.Runs, func(r fleet.Run) fleet.RunID { return r.ID })
		p.Ahead(p.Open.Ask("ended_at", nil), p.Runs.Ask("id", table.In(ids)), p.Pauses.Ask())
	}
	p.Ahead(p.Fleet.Ask())
	if len(f.Fire.Moves) > 0 || f.Fire.Full {
		p.Ahead(p.asksRanking()...)
	}
}

// NotStarted records that a fire's unit did not start: its run ends as abandoned and the choice failed. It reports false
// if the run has begun.
func (p Tx) NotStarted(fire fleet.FireID, run fleet.RunID, reason string) bool {
	fired := table.Fire{Fire: fleet.Fire{ID: fire}}
	p.Ahead(p.Fires.Like(fired))
	r, err := p.open(run)
	if err != nil || !r.StartedAt.IsZero() {
		return false
	}
	r.EndedAt, r.Verdict.Outcome, r.Verdict.Reason = p.Now(), fleet.Abandoned, reason
	p.Runs.Put(r)
	if fired, found := p.Fires.Get(fired); found {
		for i := range fired.Choices {
			if c := &fired.Choices[i]; c.Run == run {
				c.Decision, c.Reason = fleet.StartFailed, reason
			}
		}
		p.Fires.Put(fired)
	}
	return true
}

// Respawn records whether a session follows a run, and that session's run. It returns the recorded decision.
func (p Tx) Respawn(run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	if next != nil {
		p.Ahead(p.Open.Ask("ended_at", nil), p.Runs.Like(runRow(next.ID)))
		p.Ahead(p.seat(next.Location)...)
	}
	r, found := p.run(run)
	if !found {
		return "", "", fleet.ErrNotFound
	}
	if r.Followed != "" {
		return r.FollowedBy, r.Followed, nil
	}
	r.Followed = reason
	if next != nil {
		if taken := Taken(b, *next, p.seats()); taken != "" {
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

// seats returns the open runs, in brief.
func (p Tx) seats() []fleet.Run {
	return plain.Each(p.underWay(), func(r table.Run) fleet.Run { return r.Run })
}

// paused is the word of a person that keeps a category from being started; empty: there is none.
func (p Tx) paused(c fleet.Category) string {
	for _, pause := range p.Pauses.Where() {
		if reason := PausedBy(pause, c, p.Now()); reason != "" {
			return "paused: " + reason
		}
	}
	return ""
}

// PausedBy says how a pause keeps a category, or with "" the whole fleet, from being started; empty: it does not.
func PausedBy(p fleet.Pause, c fleet.Category, now time.Time) string {
	if p.Category != "" && p.Category != c || !p.Until.IsZero() && !p.Until.After(now) {
		return ""
	}
	reason := p.Reason
	if p.Category == "" {
		reason = "the whole fleet, " + reason
	}
	if !p.Until.IsZero() {
		reason += " (until " + plain.Stamp(p.Until) + ")"
	}
	return reason
}
