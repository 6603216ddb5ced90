package engine

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/report"
	"stint/internal/store"
)

// Status is the fleet at one moment.
type Status struct {
	At         time.Time
	Open       []OpenRun
	Claims     []store.Listed
	Fires      []fleet.Fire // newest first
	Runs       []fleet.Run  // newest first
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
	if s.Claims, err = e.Store.List(ctx, store.Listing{}); err != nil {
		return Status{}, err
	}
	if s.Fires, err = e.Store.LastFires(ctx, limit); err != nil {
		return Status{}, err
	}
	s.Runs, err = e.Store.LastRuns(ctx, limit)
	return s, err
}

// Audit computes from the record how lanes were used since a time.
func (e *Engine) Audit(ctx context.Context, since time.Time) (report.Audit, error) {
	holds, err := e.Store.LaneHolds(ctx, since)
	if err != nil {
		return report.Audit{}, err
	}
	return report.NewAudit(holds), nil
}
