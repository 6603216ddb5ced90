package engine

import (
	"context"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/report"
	"stint/internal/store"
)

// Status is the fleet at one moment.
type Status struct {
	At      time.Time
	Open    []OpenRun
	Claims  []fleet.Claim // held
	Day     report.Audit  // of the last 24 hours
	Fires   []fleet.Fire  // newest first
	Runs    []fleet.Run   // newest first
	Beliefs []Belief      // by category, as configured

	Pauses      []fleet.Pause // in force: the whole fleet's first, then by category
	Stopped     []StoppedAgent
	Quarantined []fleet.Quarantine // by task
	Spent       []fleet.Spent      // today, by scope
}

// StoppedAgent is an agent of which no session may start, and why.
type StoppedAgent struct {
	fleet.AgentState
	Why string
}

// Belief is what is believed of a category's mean grade.
type Belief struct {
	Category fleet.Category
	Graded   int // sessions that brought a grade
	bandit.Beta
}

// OpenRun is a run that has not ended, and whether anything of it still lives. One
// that does not was killed before it could record its end.
type OpenRun struct {
	fleet.Run
	Live bool
}

// Status reads the fleet's state. Limit bounds the fires and the runs.
func (e *Engine) Status(ctx context.Context, limit int) (s Status, err error) {
	s.At = e.Now()
	snapshot, err := e.Store.Snapshot(ctx)
	if err != nil {
		return Status{}, err
	}
	s.Beliefs = e.beliefs(snapshot)
	s.Pauses = pausesAt(snapshot.Pauses, s.At)
	s.Stopped = stoppedAgents(snapshot, s.At)
	s.Quarantined, s.Spent = snapshot.Quarantined, snapshot.Spent
	for _, r := range snapshot.Open {
		live := e.live(ctx, r, s.At)
		if !live {
			// It may have ended, as it should, since the snapshot was taken.
			if r, err = e.Store.Run(ctx, r.ID); err != nil {
				return Status{}, err
			}
			if !r.EndedAt.IsZero() {
				continue
			}
		}
		s.Open = append(s.Open, OpenRun{r, live})
	}
	s.Claims = e.desk().Held(ctx, snapshot.Claims, s.At)
	if s.Fires, err = e.Store.LastFires(ctx, limit); err != nil {
		return Status{}, err
	}
	if s.Runs, err = e.Store.LastRuns(ctx, limit); err != nil {
		return Status{}, err
	}
	s.Day, err = e.Audit(ctx, s.At.Add(-24*time.Hour))
	return s, err
}

// pausesAt are those that are not over.
func pausesAt(pauses []fleet.Pause, now time.Time) (list []fleet.Pause) {
	for _, p := range pauses {
		if p.Until.IsZero() || p.Until.After(now) {
			list = append(list, p)
		}
	}
	return list
}

func stoppedAgents(s store.Snapshot, now time.Time) (list []StoppedAgent) {
	for _, a := range s.Agents {
		if why := a.Blocked(now, probing(s, a)); why != "" {
			list = append(list, StoppedAgent{a, why})
		}
	}
	return list
}

// probing reports whether the run that last tried the agent is under way.
func probing(s store.Snapshot, a fleet.AgentState) bool {
	return slices.ContainsFunc(s.Open, func(r fleet.Run) bool { return r.ID == a.Probe })
}

// beliefs are about every category of the configuration, in order of names.
func (e *Engine) beliefs(s store.Snapshot) (list []Belief) {
	names := e.Config.CategoryNames()
	arms := make([]*bandit.Arm, len(names))
	for i, name := range names {
		arm := s.Arms[name].Arm
		arms[i] = &arm
	}
	settings := e.Config.Selector.Settings
	pool := settings.Pool(s.NextFire, arms)
	for i, name := range names {
		list = append(list, Belief{name, arms[i].Graded, settings.Belief(arms[i], pool, s.NextFire)})
	}
	return list
}

// Audit computes from the record how lanes, claims and categories were used since a
// time.
func (e *Engine) Audit(ctx context.Context, since time.Time) (report.Audit, error) {
	r := report.Record{Shares: map[fleet.Category]float64{}}
	for name, c := range e.Config.Categories {
		r.Shares[name] = c.Share
	}
	var err error
	if r.Holds, err = e.Store.LaneHolds(ctx, since); err != nil {
		return report.Audit{}, err
	}
	if r.Denials, err = e.Store.DeniedClaims(ctx, since); err != nil {
		return report.Audit{}, err
	}
	if r.Fallbacks, err = e.Store.Fallbacks(ctx, since); err != nil {
		return report.Audit{}, err
	}
	if r.Runs, err = e.Store.RunsSince(ctx, since); err != nil {
		return report.Audit{}, err
	}
	return report.NewAudit(r), nil
}
