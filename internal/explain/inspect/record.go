package inspect

import (
	"context"
	"slices"

	"stint/internal/fleet"
	"stint/internal/store"
)

// RunDetail is all that is known of one run.
type RunDetail struct {
	fleet.RunStatus
	Choice    *fleet.Choice       // what its fire decided about its category; nil: no fire planned it
	Denials   []fleet.DeniedClaim // oldest first
	Lessons   []fleet.LessonUse
	Dir       string         // the run's own work tree; empty: it has none, or it was removed
	Leftovers string         // that its branch does not have, and where; empty: none
	Files     fleet.RunFiles // which may not be there
	Swept     string         // why they are not there any more; empty: nobody removed them
	Own       []string       // files in which the agent itself keeps the session, see [Explainer.ownLogs]
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
	if d.Denials, err = e.Store.LastDenials(ctx, store.DenialQuery{Run: id, Limit: maxDenials}); err != nil {
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
	// maxHead bounds the part of a log that is read for the session's name, in bytes: agents print it
	// first.
	maxHead = 64 << 10
	// reasonSwept says why a run has no files any more.
	reasonSwept = "its files were removed, as those of old runs are: [keep] files says when"
)

// ownLogs are the files in which an agent itself keeps a run's session, see
// [survey.Fleet.OwnFiles].
func (e *Explainer) ownLogs(r fleet.Run) []string {
	if r.StartedAt.IsZero() {
		return nil
	}
	s, err := e.ReadLog(r, maxHead)
	if err != nil {
		return nil // it printed nothing
	}
	return e.OwnFiles(r, s.SessionID)
}

// maxDenials bounds the denials of a run that are shown: a worker collects fewer.
const maxDenials = 100
