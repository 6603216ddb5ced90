package survey

import (
	"context"
	"errors"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
)

// Work is what git has of the sessions' work.
type Work interface {
	// Branches are those of the fleet's runs, by run.
	Branches(ctx context.Context) (map[fleet.RunID]string, error)
	// Pending are the branches of the fleet's runs, and how the target has them, or what that follows if that is ahead. made looks up
	// the commits of runs on record.
	Pending(ctx context.Context, made func([]fleet.RunID) (map[fleet.RunID][]string, error)) (review.Target, []review.Branch, error)
	// Clashes reports which pairs of commits conflict with each other.
	Clashes(ctx context.Context, pairs [][2]string) ([]bool, error)
	// Fates finds what became of the work of runs that is not known of it yet.
	Fates(ctx context.Context, runs []review.Watched) ([]fleet.Fate, error)
	// Leftovers say what runs left that their branches do not have, by the run in whose folder it was.
	Leftovers(ctx context.Context) (map[fleet.RunID]string, error)
	// Ready says why no session can have a clone of its own, nil if it can.
	Ready(ctx context.Context) error
	// Clones are the runs with clones of their own in which there may be work that is not home.
	Clones() []fleet.RunID
	// Changed are the files that a run has changed in a folder of its own, committed or not, since
	// it left the target.
	Changed(ctx context.Context, run fleet.RunID) ([]string, error)
}

// Review lists the work of sessions that is on other branches than the target, the item first that
// is best looked at next. It is read from git at each look, and what exists there is listed, also
// where the record knows no such run.
func (f *Fleet) Review(ctx context.Context) (t review.Target, items []review.Item, err error) {
	if t, items, err = f.items(ctx); err != nil {
		return t, nil, err
	}
	if err := f.findClashes(ctx, items); err != nil {
		return t, nil, err
	}
	f.findBlocked(ctx, items)
	if err := f.findLeftovers(ctx, items); err != nil {
		return t, nil, err
	}
	review.Sort(items, f.Now())
	return t, items, nil
}

// items are the work of sessions that is on other branches than the target, in no order.
func (f *Fleet) items(ctx context.Context) (t review.Target, items []review.Item, err error) {
	sessions, decisions := map[fleet.RunID]fleet.Run{}, map[fleet.RunID]fleet.Review{}
	t, list, err := f.Work.Pending(ctx, func(runs []fleet.RunID) (map[fleet.RunID][]string, error) {
		if f.Store == nil {
			return nil, nil
		}
		if decisions, err = f.Store.Reviews(ctx, runs...); err != nil {
			return nil, err
		}
		found, err := f.Store.LastRuns(ctx, store.RunQuery{IDs: runs, Limit: len(runs)})
		made := map[fleet.RunID][]string{}
		for _, r := range found {
			sessions[r.ID], made[r.ID] = r, r.Commits
		}
		return made, err
	})
	if err != nil {
		return t, nil, err
	}
	for _, b := range list {
		if r := sessions[b.Run]; r.Category == "" || !r.EndedAt.IsZero() { // a session at work is not done
			b.Since = waitsSince(b, r, f.Now())
			items = append(items, review.Item{Branch: b, Session: r, Decision: decisions[b.Run]})
		}
	}
	review.Resolve(items)
	return t, items, f.noteContinued(ctx, items)
}

// Landed is work that the target has, the latest to get in first.
func (f *Fleet) Landed(ctx context.Context, limit int) (list []review.Landed, err error) {
	if f.Store == nil {
		return nil, nil
	}
	runs, err := f.Store.LastRuns(ctx, store.RunQuery{Landed: true, Limit: limit})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	decisions, err := f.Store.Reviews(ctx, plain.Each(runs, func(r fleet.Run) fleet.RunID { return r.ID })...)
	for _, r := range runs {
		if l, is := review.LandedOf(r, decisions[r.ID]); is {
			list = append(list, l)
		}
	}
	return list, err
}

// LandedItem is the work of one run, if the target has it and its branch may be gone.
func (f *Fleet) LandedItem(ctx context.Context, run fleet.RunID) (i review.Item, is bool, err error) {
	if f.Store == nil {
		return i, false, nil
	}
	r, err := f.Store.Run(ctx, run)
	if errors.Is(err, fleet.ErrNotFound) {
		return i, false, nil
	} else if err != nil {
		return i, false, err
	}
	decisions, err := f.Store.Reviews(ctx, run)
	l, is := review.LandedOf(r, decisions[run])
	return l.Item(decisions[run]), is, err
}

// waitsSince is since when work waits: the date of its last commit, which a session sets as it
// likes. It is no earlier than the session began, and not in the future; no later than the session
// ended, if it is the session's own commit.
func waitsSince(b review.Branch, r fleet.Run, now time.Time) time.Time {
	since, own := b.Since, len(r.Commits) > 0 && r.Commits[len(r.Commits)-1] == b.Tip
	if since.After(now) {
		since = now
	}
	if !r.EndedAt.IsZero() && r.EndedAt.Before(since) && (own || b.Since.After(now)) {
		since = r.EndedAt
	}
	return plain.Latest(since, r.StartedAt)
}

// noteContinued notes with which items sessions go on now.
func (f *Fleet) noteContinued(ctx context.Context, items []review.Item) error {
	if f.Store == nil || len(items) == 0 {
		return nil
	}
	if said, err := f.Store.Feedback(ctx); err != nil || len(said) == 0 {
		return err
	}
	s, err := f.Store.Snapshot(ctx)
	for _, r := range s.Open {
		for i := range items {
			if home := r.Home(); home != r.ID && home == items[i].Run {
				items[i].AtWork = r.ID
			}
		}
	}
	return err
}

// TasksInReview are the tasks that are ready for review with no item that is open: their sessions worked in the
// workspace itself, or a person has merged the work. Tasks that cannot be listed are reported elsewhere.
func (f *Fleet) TasksInReview(ctx context.Context, items []review.Item) ([]fleet.Task, error) {
	if f.Tasks == nil {
		return nil, nil
	}
	s, err := f.snapshot(ctx)
	tasks, _, _ := f.Tasks.List(ctx)
	fleet.Recall(tasks, s.Tasks)
	return slices.DeleteFunc(tasks, func(t fleet.Task) bool {
		return t.State != fleet.StateReview || slices.ContainsFunc(items, func(i review.Item) bool { return i.Open() && i.Session.Task == t.ID })
	}), err
}

// findLeftovers finds what the items' sessions left that is not in them.
func (f *Fleet) findLeftovers(ctx context.Context, items []review.Item) error {
	if len(items) == 0 {
		return nil
	}
	left, err := f.Work.Leftovers(ctx)
	for n := range items {
		items[n].Leftovers = left[items[n].Run]
	}
	return err
}

// LeftBeside is what runs that are over left, by the run, where no open item says it.
func (f *Fleet) LeftBeside(ctx context.Context, items []review.Item) (map[fleet.RunID]string, error) {
	left, err := f.Work.Leftovers(ctx)
	for _, i := range items {
		if i.Open() {
			delete(left, i.Run)
		}
	}
	if err != nil || len(left) == 0 || f.Store == nil {
		return left, err
	}
	s, err := f.Store.Snapshot(ctx)
	for _, r := range s.Open { // it may take up what it began with
		delete(left, r.ID)
		delete(left, r.Home())
	}
	return left, err
}

// findClashes finds which items conflict with each other.
func (f *Fleet) findClashes(ctx context.Context, items []review.Item) error {
	pairs := review.Pairs(items)
	tips := plain.Each(pairs, func(pair [2]int) [2]string { return [2]string{items[pair[0]].Tip, items[pair[1]].Tip} })
	clash, err := f.Work.Clashes(ctx, tips)
	if err != nil {
		return err
	}
	for n, pair := range pairs {
		if one, other := &items[pair[0]], &items[pair[1]]; clash[n] {
			one.Collides, other.Collides = append(one.Collides, other.Run), append(other.Collides, one.Run)
		}
	}
	return nil
}

// findBlocked counts the tasks that wait for those of the items. Tasks that cannot be listed
// change the order only, and are reported elsewhere.
func (f *Fleet) findBlocked(ctx context.Context, items []review.Item) {
	if f.Tasks == nil || !slices.ContainsFunc(items, func(i review.Item) bool { return i.Open() && i.Session.Task != "" }) {
		return
	}
	tasks, _, err := f.Tasks.List(ctx)
	if err != nil {
		return
	}
	blocked := map[fleet.TaskID]int{}
	for _, t := range tasks {
		for _, other := range t.Requires {
			if !t.State.Settled() {
				blocked[fleet.TaskID(other)]++
			}
		}
	}
	for n := range items {
		items[n].Unblocks = blocked[items[n].Session.Task]
	}
}
