package table

import (
	"context"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// LaneHolds reads the holds of lanes that lasted into the time since, oldest first.
func (r Reader) LaneHolds(ctx context.Context, since time.Time) (list []fleet.LaneHold, err error) {
	err = r.EachLaneHold(ctx, since, func(h fleet.LaneHold) { list = append(list, h) })
	return list, err
}

// EachLaneHold passes on the same holds one by one. An index on their ends finds them; few are of a long past.
func (r Reader) EachLaneHold(ctx context.Context, since time.Time, each func(fleet.LaneHold)) error {
	return wrap(r.Read(ctx, func(time.Time) []Statement {
		return []Statement{Runs().With("id", "category", "lane", "lane_at", "lane_left").Select(func(r Run) {
			each(fleet.LaneHold{Run: r.ID, Category: r.Category, Lane: r.Lane, AcquiredAt: r.LaneAt, ReleasedAt: r.LaneLeft})
		}, `where id in (select id from runs where lane_left > $1
union all select id from runs where ended_at is null and id > '' and lane_at is not null and lane_left is null) order by lane_at, id`, since.UnixMilli())}
	}), "read lane holds")
}

// DeniedClaims reads the denials since a time, oldest first.
func (r Reader) DeniedClaims(ctx context.Context, since time.Time) ([]fleet.DeniedClaim, error) {
	return read(ctx, r, "denials", func(add func(fleet.DeniedClaim)) Statement {
		return denials(add, "where at >= $1 order by at, id", since.UnixMilli())
	})
}

func denials(add func(fleet.DeniedClaim), tail string, args ...any) Statement {
	return Denials().Select(func(d Denial) { add(d.DeniedClaim) }, tail, args...)
}

// LastDenials reads the latest denials that match a query, newest first.
func (r Reader) LastDenials(ctx context.Context, q store.DenialQuery) ([]fleet.DeniedClaim, error) {
	var w where
	w.add(q.Run != "", "run = ?", q.Run)
	w.add(q.Key != "", "key = ?", q.Key)
	tail, args := w.latest("id desc", q.Limit)
	return read(ctx, r, "denials", func(add func(fleet.DeniedClaim)) Statement { return denials(add, tail, args...) })
}

// BudgetResets reads the resets of budgets since a time, oldest first.
func (r Reader) BudgetResets(ctx context.Context, since time.Time) ([]fleet.Reset, error) {
	return read(ctx, r, "resets of budgets", func(add func(fleet.Reset)) Statement {
		return Resets().Select(func(s Reset) {
			add(fleet.Reset{At: s.At, Spent: fleet.Spent{Scope: s.Scope, Runs: s.Runs, Tokens: s.Tokens, USD: s.USD}, Reason: s.Reason})
		}, "where at >= $1 order by id", since.UnixMilli())
	})
}

// ReviewTimes reads the times of reviews.
func (r Reader) ReviewTimes(ctx context.Context, since time.Time) ([]time.Time, error) {
	return read(ctx, r, "reviews", func(add func(time.Time)) Statement {
		return Statement{
			SQL:  "select given_at from reviews where given_at >= $1 union select looked_at from reviews where looked_at >= $1 order by 1",
			Args: []any{since.UnixMilli()},
			Scan: func(row Scanner) error {
				var at time.Time
				err := row.Scan(When(&at))
				add(at)
				return err
			},
		}
	})
}

// Reviews reads the decisions and checks of these runs' work, or of all.
func (r Reader) Reviews(ctx context.Context, runs ...fleet.RunID) (map[fleet.RunID]fleet.Review, error) {
	all := map[fleet.RunID]fleet.Review{}
	err := r.Read(ctx, func(time.Time) (ask []Statement) {
		add := func(r Review) { all[r.Run] = r.Review }
		const known = "(decision <> '' or checked_tip <> '')"
		for ids := range slices.Chunk(runs, maxPlaces) {
			ask = append(ask, Reviews().Select(add, "where "+known+" and run in "+places(ids), args(ids)...))
		}
		if len(runs) == 0 {
			ask = append(ask, Reviews().Select(add, "where "+known))
		}
		return ask
	})
	return all, wrap(err, "read reviews")
}

// Feedback reads the feedback on runs' work.
func (r Reader) Feedback(ctx context.Context) (map[fleet.RunID]fleet.Feedback, error) {
	all := map[fleet.RunID]fleet.Feedback{}
	err := r.Read(ctx, func(time.Time) []Statement {
		return []Statement{Reviews().Select(func(r Review) {
			r.Feedback.Run = r.Run
			all[r.Run] = r.Feedback
		}, "where task <> ''")}
	})
	return all, wrap(err, "read feedback")
}
