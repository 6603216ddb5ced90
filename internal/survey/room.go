package survey

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// InReview is what of the sessions' work waits for review, and what is on record of it.
type InReview struct {
	At    time.Time // nothing that happened before is missing
	Taken []fleet.TakenPlace
	Away  bool          // the reviewer is
	Items []review.Item // on branches of their own, of categories whose work goes to review and of runs that nobody knows
	Known bool          // git could be asked

	notHome []fleet.RunID // whose clones were there before git was asked for branches
}

// InReview looks at what waits for review, if the work of any category goes there. Trouble with
// git is logged: nobody knows then what waits.
func (f *Fleet) InReview(ctx context.Context) (w InReview, err error) {
	if !slices.ContainsFunc(f.Config.CategoryNames(), func(c fleet.Category) bool { return f.Config.Room(c).Takes }) {
		return w, nil
	}
	w.At = f.Now()
	if f.Store != nil {
		// The places come first: a run that is over then has made all of its commits.
		var away fleet.Away
		if w.Taken, away, err = f.Store.Places(ctx); err != nil {
			return w, err
		}
		w.Away = away.At(w.At)
	}
	if f.Work == nil {
		return w, nil
	}
	// Then the clones: one that is not there by then has brought its work home, where the branches show it.
	w.notHome = f.Work.Clones()
	t, items, err := f.items(ctx)
	if err != nil {
		f.Log.WarnContext(ctx, "what waits for review not listed", slog.Any("err", err))
		return w, nil
	}
	w.Known = t.Tip != ""
	w.Items = slices.DeleteFunc(items, func(i review.Item) bool {
		c, known := f.Config.Categories[i.Session.Category]
		return known && !c.Review // the place is for a branch of its own
	})
	return w, nil
}

// Sights is what that changes of the places that are taken; nothing where nobody knows what waits.
func (f *Fleet) Sights(ctx context.Context, w InReview) []fleet.PlaceSight {
	if !w.Known {
		return nil
	}
	return review.Places(w.Taken, w.Items, func(p fleet.TakenPlace) bool {
		return slices.Contains(w.notHome, p.Run) || f.KeptElsewhere(ctx, p.Host)
	})
}

// ReviewElsewhere is how much waits for review in the clones of other machines, by their names.
func (f *Fleet) ReviewElsewhere(ctx context.Context) (list []string, err error) {
	if f.Store == nil {
		return nil, nil
	}
	taken, _, err := f.Store.Places(ctx)
	count := map[string]int{}
	for _, p := range taken {
		if p.Ended && p.Left && f.KeptElsewhere(ctx, p.Host) {
			count[f.hosts[p.Host].Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d on %s", count[name], plain.Line(name)))
	}
	return list, err
}

// Silence says that nobody has reviewed for long although something waits, or "". Reviews are the
// times within [ReviewTime] at which somebody did, oldest first.
func (w InReview) Silence(reviews []time.Time) string {
	if !w.Known || w.Away {
		return ""
	}
	return review.Silence(w.Items, reviews, w.At)
}

// ReviewTime is how far back reviews say what is usual.
const ReviewTime = 28 * 24 * time.Hour

// Full says which categories have as much waiting for review as they may.
func (f *Fleet) Full(ctx context.Context) map[fleet.Category]string {
	w, err := f.InReview(ctx)
	if err != nil {
		f.Log.ErrorContext(ctx, "places in review not read", slog.Any("err", err))
	}
	return f.FullBy(ctx, w)
}

// FullBy is [Fleet.Full] by what is known to wait in clones, its rot first, and by the gates of
// categories' own. A gate that cannot be asked is open, loudly. While the reviewer is away nobody
// can do anything about rot, and only the number counts.
func (f *Fleet) FullBy(ctx context.Context, w InReview) map[fleet.Category]string {
	full := map[fleet.Category]string{}
	if f.Gates != nil {
		var failed map[fleet.Category]error
		full, failed = f.Gates.Full(ctx)
		for c, err := range failed {
			f.Log.ErrorContext(ctx, "gate left open", slog.String("category", string(c)), slog.Any("err", err))
		}
	}
	rot := ""
	if !w.Away {
		rot = review.Rot(w.Items, f.Config.Review.Limit, f.Config.Review.MaxAge, w.At)
	}
	for _, c := range f.Config.CategoryNames() {
		room := f.Config.Room(c)
		if reason := cmp.Or(rot, room.Full(len(w.Taken), w.Away)); room.Takes && reason != "" && full[c] == "" {
			full[c] = reason
		}
	}
	return full
}
