package inspect

import (
	"context"
	"fmt"
	"slices"

	"stint/internal/fleet"
	"stint/internal/store"
)

// RunDetail is all that is known of one run.
type RunDetail struct {
	fleet.RunStatus
	Choice  *fleet.Choice       // what its fire decided about its category; nil: no fire planned it
	Denials []fleet.DeniedClaim // oldest first
	Lessons []fleet.LessonUse
	Dir     string         // the run's own work tree; empty: it has none, or it was removed
	Files   fleet.RunFiles // which may not be there
	Swept   string         // why they are not there any more; empty: nobody removed them
	Own     []string       // files in which the agent itself keeps the session, see [Explainer.ownLogs]
}

// RunDetail reads one run; one that does not exist wraps [fleet.ErrNotFound].
func (e *Explainer) RunDetail(ctx context.Context, id fleet.RunID) (d RunDetail, err error) {
	r, err := e.Run(ctx, id)
	if err != nil {
		return d, err
	}
	d.RunStatus, d.Files = e.Describe(ctx, r, nil), fleet.FilesOf(e.Config.State, id)
	d.Own = e.ownLogs(r)
	if e.Swept(r) {
		d.Swept = reasonSwept
	}
	if d.Denials, err = e.Store.LastDenials(ctx, store.DenialQuery{Run: id, Limit: mostDenials}); err != nil {
		return d, err
	}
	slices.Reverse(d.Denials)
	if d.Lessons, err = e.Store.LessonUses(ctx, id); err != nil || r.Fire == 0 {
		return d, err
	}
	f, err := e.Store.Fire(ctx, r.Fire)
	for i := range f.Choices {
		if f.Choices[i].Run == id {
			d.Choice = &f.Choices[i]
		}
	}
	return d, err
}

const (
	// mostHead is how much of a log is read for the session that it is of: agents say that
	// first.
	mostHead = 64 << 10
	// reasonSwept is why a run has no files any more.
	reasonSwept = "its files were removed, as those of old runs are: [runs] keep and max_age say when"
)

// ownLogs are the files in which an agent itself keeps a run's session, see
// [survey.Fleet.OwnFiles].
func (e *Explainer) ownLogs(r fleet.Run) []string {
	if r.StartedAt.IsZero() {
		return nil
	}
	s, err := e.ReadLog(r, mostHead)
	if err != nil {
		return nil // it printed nothing
	}
	return e.OwnFiles(r, s.SessionID)
}

// mostDenials is how many denials of a run are shown: more than a worker can collect.
const mostDenials = 100

// mostSearched is how many of a category's last runs are looked through for one that is
// under way: those that were made after it found its lane taken, or were short.
const mostSearched = 20

// ResolveRun finds the run that a person means: by its id, or by its category, and the
// identity of a machine unless any will do, the run that is under way there, or else the last one that came to work, not one that rests or
// found nothing, or else the last one. Where there is none the error wraps
// [fleet.ErrNotFound].
func (e *Explainer) ResolveRun(ctx context.Context, name, host string) (fleet.Run, error) {
	if e.Store == nil {
		return fleet.Run{}, fmt.Errorf("run %q: %w", name, fleet.ErrNotFound)
	}
	if _, known := e.Config.Categories[fleet.Category(name)]; !known {
		id, err := fleet.ParseRunID(name)
		if err != nil {
			return fleet.Run{}, fmt.Errorf("%w, or a category of %s: %w", err, e.Config.Path, fleet.ErrUsage)
		}
		return e.Run(ctx, id)
	}
	runs, err := e.Store.LastRuns(ctx, store.RunQuery{Category: fleet.Category(name), Host: host, Limit: mostSearched})
	if err != nil {
		return fleet.Run{}, err
	}
	if len(runs) == 0 {
		return fleet.Run{}, fmt.Errorf("run of category %s: %w", name, fleet.ErrNotFound)
	}
	for _, r := range runs {
		if r.EndedAt.IsZero() && !r.StartedAt.IsZero() {
			return r, nil
		}
	}
	for _, r := range runs {
		if r.Key != "" {
			return r, nil
		}
	}
	return runs[0], nil
}
