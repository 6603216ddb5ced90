package survey

import (
	"context"
	"log/slog"
	"slices"

	"stint/internal/fleet"
	"stint/internal/review"
)

// mostGlanced is how many branches of runs a glance looks at: git takes a tenth of a second for
// them. More are only counted.
const mostGlanced = 200

// Glance is what waits for review, in a few words. Where no category has clones of its own and no
// target is named, git is not asked. Trouble with git is logged: nobody knows then what waits.
func (f *Fleet) Glance(ctx context.Context) (g review.Glance) {
	apart := slices.ContainsFunc(f.Config.CategoryNames(), func(c fleet.Category) bool { return f.Config.Categories[c].OwnClone })
	if f.Work == nil || !apart && f.Config.Review.Target == "" {
		return g
	}
	branches, err := f.Work.Branches(ctx)
	if err != nil || len(branches) == 0 && f.Config.Review.Target == "" {
		g.Known = err == nil
	} else if g.Branches = len(branches); g.Branches <= mostGlanced {
		var items []review.Item
		if _, items, err = f.Review(ctx); err == nil {
			g.Known = true
			g.Count(items)
		}
	}
	if err != nil {
		f.Log.DebugContext(ctx, "what waits for review not listed", slog.Any("err", err))
	}
	return g
}
