package survey

import (
	"context"
	"errors"

	"stint/internal/fleet"
	"stint/internal/review"
)

// Work is what git has of the sessions' work.
type Work interface {
	// Branches are those of the fleet's runs, by run.
	Branches(ctx context.Context) (map[fleet.RunID]string, error)
	// Pending are these branches, and how the target has them; an empty target is what the
	// workspace has checked out. made are the commits of each run that are on record.
	Pending(ctx context.Context, target string, made map[fleet.RunID][]string) (review.Target, []review.Branch, error)
}

// Review lists the work of sessions that is on branches of their own, the item first that is
// best looked at next. It is read from git at each look, and what exists there is listed, also
// where the record knows no such run.
func (f *Fleet) Review(ctx context.Context) (t review.Target, items []review.Item, err error) {
	branches, err := f.Work.Branches(ctx)
	if err != nil {
		return t, nil, err
	}
	sessions, made := map[fleet.RunID]fleet.Run{}, map[fleet.RunID][]string{}
	for run := range branches {
		if f.Store == nil {
			break
		}
		r, err := f.Store.Run(ctx, run)
		if errors.Is(err, fleet.ErrNotFound) {
			continue
		} else if err != nil {
			return t, nil, err
		}
		sessions[run], made[run] = r, r.Commits
	}
	t, list, err := f.Work.Pending(ctx, f.Config.Review.Target, made)
	for _, b := range list {
		if r := sessions[b.Run]; r.Category == "" || !r.EndedAt.IsZero() { // a session at work is not done
			items = append(items, review.Item{Branch: b, Session: r})
		}
	}
	review.Sort(items, f.Now())
	return t, items, err
}
