package engine

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/report"
)

// Status is the fleet at one moment.
type Status struct {
	At         time.Time
	Open       []OpenRun
	Claims     []fleet.Claim // held
	Day        report.Audit  // of the last 24 hours
	Fires      []fleet.Fire  // newest first
	Runs       []fleet.Run   // newest first
	Posteriors map[fleet.Category]fleet.Posterior
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
	s.Posteriors = snapshot.Posteriors
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
	if r.Runs, err = e.Store.RunsSince(ctx, since); err != nil {
		return report.Audit{}, err
	}
	return report.NewAudit(r), nil
}
