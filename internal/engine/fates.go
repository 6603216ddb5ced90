package engine

import (
	"context"
	"errors"
	"log/slog"
	"strconv"

	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/review"
)

// mostWatched bounds of how many runs a fire looks what became of their work, the latest first.
const mostWatched = 500

// seeFates finds out what became of the work of earlier sessions, and corrects their grades. Trouble
// is logged: the next fire looks again.
func (e *Engine) seeFates(ctx context.Context) {
	now := e.Now()
	runs, err := e.Store.Watched(ctx, now.Add(-grade.WatchTime), now.Add(-grade.FateTime), mostWatched)
	if err == nil && len(runs) > 0 {
		var fates []fleet.Fate
		fates, err = e.fates(ctx, runs)
		err = errors.Join(err, e.recordFates(ctx, fates))
	}
	if err != nil {
		e.Log.WarnContext(ctx, "not all is known of what became of sessions' work", slog.Any("err", err))
	}
}

// fates is what became of the work of runs, by people's word and by git.
func (e *Engine) fates(ctx context.Context, runs []fleet.Run) (list []fleet.Fate, err error) {
	var (
		ids     []fleet.RunID
		watched []review.Watched
	)
	for _, r := range runs {
		ids = append(ids, r.ID)
		watched = append(watched, review.Watched{Run: r.ID, Branch: r.Branch, Commits: r.Commits, Known: r.Fates})
	}
	reviews, err := e.Store.Reviews(ctx, ids...)
	for _, r := range reviews {
		if r.Decision == fleet.DecisionRejected {
			list = append(list, fleet.Fate{Run: r.Run, At: r.DecidedAt, Kind: fleet.FateRejected, Witness: "stint review reject", Reason: r.Reason})
		}
	}
	if e.Work == nil {
		return list, err
	}
	found, lost := e.Work.Fates(ctx, e.Config.Review.Target, watched)
	return append(list, found...), errors.Join(err, lost)
}

// recordFates records what became of work.
//
// If we die before it, the next fire finds the same. If we die after it, it is known.
func (e *Engine) recordFates(ctx context.Context, list []fleet.Fate) error {
	if len(list) == 0 {
		return nil
	}
	news, err := e.Store.AddFates(ctx, list)
	for _, f := range news {
		attributes := []any{slog.String("run_id", string(f.Run)), slog.String("kind", string(f.Kind)), slog.String("reason", f.Reason)}
		if f.Grade != nil {
			attributes = append(attributes, slog.String("grade", strconv.FormatFloat(*f.Grade, 'g', -1, 64)))
		}
		e.Log.InfoContext(ctx, "something became of a session's work", attributes...)
	}
	return err
}
