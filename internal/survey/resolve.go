package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
)

const (
	// maxSearched is how many of a category's last runs are searched for one under way, or of
	// the runs whose ids begin alike.
	maxSearched = 20
	// maxListed is how many of those an error names.
	maxListed = 5
)

// ResolveRun finds the run that a person means. A run's id may be cut to a beginning that no
// other has; those that are also known count, though they are on no record. A category's name
// stands for its run under way on a host, by the host's identity unless any will do; else for
// its last run that came to work, else for its last run. If there is no such run, the error
// wraps [fleet.ErrNotFound]; if there are several, it lists them and wraps [fleet.ErrUsage].
func (f *Fleet) ResolveRun(ctx context.Context, name, host string, also ...fleet.RunID) (fleet.Run, error) {
	q := store.RunQuery{Category: fleet.Category(name), Host: host, Limit: maxSearched}
	_, category := f.Config.Categories[q.Category]
	if !category {
		id, err := fleet.ParseRunID(name)
		if err != nil {
			return fleet.Run{}, fmt.Errorf("%w, or a category of %s: %w", err, f.Config.Path, fleet.ErrNotFound)
		}
		q = store.RunQuery{Prefix: id, Limit: maxSearched}
	}
	var runs []fleet.Run
	if f.Store != nil {
		var err error
		if runs, err = f.Store.LastRuns(ctx, q); err != nil {
			return fleet.Run{}, err
		}
	}
	if !category {
		r, err := oneRun(name, runs, also)
		return r, f.Old(ctx, q.Prefix, err)
	}
	if len(runs) == 0 {
		return fleet.Run{}, fmt.Errorf("run of category %s: %w", name, fleet.ErrNotFound)
	}
	at := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.EndedAt.IsZero() && !r.StartedAt.IsZero() })
	if at < 0 {
		at = slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Key != "" })
	}
	return runs[max(at, 0)], nil
}

// Old adds to an error of a run that was not found that it is older than what is kept, if each whose id begins so is.
func (f *Fleet) Old(ctx context.Context, begins fleet.RunID, err error) error {
	if !errors.Is(err, fleet.ErrNotFound) || f.Store == nil {
		return err
	}
	if edge, unread := f.Store.Edge(ctx); unread == nil && edge.Gone(begins+"{") { // which follows z
		return fmt.Errorf("%s: %w", BeginsAt(edge), err)
	}
	return err
}

// BeginsAt says from when on there is a record.
func BeginsAt(edge store.Edge) string {
	return "older than what is kept, from " + edge.From.Format(time.RFC3339) + " on, as [keep] record says"
}

// oneRun is the only run whose id begins with prefix, or the one that has it as its id.
func oneRun(prefix string, runs []fleet.Run, also []fleet.RunID) (fleet.Run, error) {
	for _, id := range also {
		known := slices.ContainsFunc(runs, func(r fleet.Run) bool { return r.ID == id })
		if !known && strings.HasPrefix(string(id), prefix) {
			runs = append(runs, fleet.Run{ID: id})
		}
	}
	if len(runs) == 0 {
		return fleet.Run{}, fmt.Errorf("run %s: %w", prefix, fleet.ErrNotFound)
	}
	at := slices.IndexFunc(runs, func(r fleet.Run) bool { return len(runs) == 1 || string(r.ID) == prefix })
	if at >= 0 {
		return runs[at], nil
	}
	list := plain.Each(runs[:min(len(runs), maxListed)], func(r fleet.Run) string {
		return strings.Join(strings.Fields(fmt.Sprint(r.ID, " ", r.Category, " ", r.Task)), " ")
	})
	if len(runs) > maxListed {
		list = append(list, "and more")
	}
	return fleet.Run{}, fmt.Errorf("run %s: several ids begin so: %s: %w", prefix, strings.Join(list, ", "), fleet.ErrUsage)
}
