package survey

import (
	"context"
	"os"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

// OpenRuns are those that have not ended, with how they do.
func (f *Fleet) OpenRuns(v View) []fleet.RunStatus {
	return plain.Each(v.Snapshot.Open, func(r fleet.Run) fleet.RunStatus { return f.UnderWay(r, v.Live[r.ID], v.Now) })
}

// UnderWay is a run that has not ended, with how it does.
func (f *Fleet) UnderWay(r fleet.Run, live bool, now time.Time) fleet.RunStatus {
	suspended := live && !r.StartedAt.IsZero() && !f.Here.Elsewhere(r.Seat) && f.Sessions.Suspended(r)
	return fleet.RunStatus{
		Run: r, State: r.State(live, suspended, now), Timeout: f.Config.Categories[r.Category].Timeout, Tokens: f.usedSoFar(r), Whereabouts: f.whereabouts(r, now),
	}
}

// RunsInLanes are the runs that were in a lane since a time, as they are among those under
// way. One that was created before may have been, by as much as the longest time-out.
func (f *Fleet) RunsInLanes(ctx context.Context, since time.Time, open []fleet.RunStatus) (list []fleet.RunStatus, err error) {
	if f.Store == nil {
		return nil, nil
	}
	longest := time.Duration(0)
	for _, category := range f.Config.Categories {
		longest = max(longest, category.Timeout)
	}
	runs, err := f.Store.RunsSince(ctx, since.Add(-longest))
	for _, r := range runs {
		if r.Lane > 0 && (r.EndedAt.IsZero() || !r.EndedAt.Before(since)) {
			list = append(list, f.Describe(ctx, r, open))
		}
	}
	return list, err
}

// Runs are the latest runs, newest first, with how they do.
func (f *Fleet) Runs(ctx context.Context, q store.RunQuery) (list []fleet.RunStatus, err error) {
	if f.Store == nil {
		return nil, nil
	}
	runs, err := f.Store.LastRuns(ctx, q)
	for _, r := range runs {
		list = append(list, f.Describe(ctx, r, nil))
	}
	return list, err
}

// Describe is a run with how it does: as among those that were just looked at, or else now.
func (f *Fleet) Describe(ctx context.Context, r fleet.Run, looked []fleet.RunStatus) fleet.RunStatus {
	if i := slices.IndexFunc(looked, func(o fleet.RunStatus) bool { return o.ID == r.ID }); i >= 0 {
		return looked[i]
	}
	f.askHosts(ctx)
	now := f.Now()
	if !r.EndedAt.IsZero() {
		return fleet.RunStatus{Run: r, State: fleet.RunEnded, Whereabouts: f.whereabouts(r, now)}
	}
	return f.UnderWay(r, f.Live(ctx, r, now), now)
}

// mostRead is how much of a log is read to find what its session used so far: people ask for
// a status often, and must not wait.
const mostRead = 1 << 20

// usedSoFar is what an open run's agent has said of the tokens that it used; nil where it
// says nothing, or too much to be read at every look.
func (f *Fleet) usedSoFar(r fleet.Run) *int64 {
	log := fleet.FilesOf(f.Config.State, r.ID).Log
	if info, err := os.Stat(log); err != nil || info.Size() == 0 || info.Size() > mostRead {
		return nil
	}
	t, err := f.Transcript(r.Agent, log)
	if err != nil || t == nil {
		return nil
	}
	return t.Usage.Tokens
}
