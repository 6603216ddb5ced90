package survey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
)

// Review lists the work of sessions that is on other branches than the target, the item first that
// is best looked at next. It is read from git at each look, and what exists there is listed, also
// where the record knows no such run.
func (f *Reader) Review(ctx context.Context) (t review.Target, items []review.Item, err error) {
	if t, items, err = f.items(ctx); err != nil {
		return t, nil, err
	}
	if err := f.findClashes(ctx, items); err != nil {
		return t, nil, err
	}
	f.findBlocked(ctx, items)
	if len(items) > 0 { // what their sessions left that is not in them
		left, err := f.Work.Leftovers(ctx)
		if err != nil {
			return t, nil, err
		}
		for n := range items {
			items[n].Leftovers = left[items[n].Run]
			if items[n].Session, err = f.lastThere(ctx, items[n].Session); err != nil {
				return t, nil, err
			}
		}
	}
	review.Sort(items, f.Now())
	return t, items, nil
}

// items are the work of sessions that is on other branches than the target, in no order.
func (f *Reader) items(ctx context.Context) (t review.Target, items []review.Item, err error) {
	sessions, decisions := map[fleet.RunID]fleet.Run{}, map[fleet.RunID]fleet.Review{}
	t, list, err := f.Work.Pending(ctx, func(runs []fleet.RunID) (map[fleet.RunID][]string, error) {
		if decisions, err = f.Record().Reviews(ctx, runs...); err != nil {
			return nil, err
		}
		found, err := f.Record().LastRuns(ctx, store.RunQuery{IDs: runs, Limit: len(runs)})
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

// lastThere is the last session of a conversation that was cut off in a run and went on in its folder: it knows how the work ended.
func (f *Reader) lastThere(ctx context.Context, r fleet.Run) (fleet.Run, error) {
	if r.Conversation.ID == "" || r.Task == "" {
		return r, nil
	}
	const enough = 20 // sessions at a task
	runs, err := f.Record().LastRuns(ctx, store.RunQuery{Task: r.Task, Ended: true, Limit: enough})
	for _, o := range runs {
		if o.Home() == r.ID && o.Conversation.Resumes != "" {
			return o, err
		}
	}
	return r, err
}

// noteContinued notes with which items sessions go on now.
func (f *Reader) noteContinued(ctx context.Context, items []review.Item) error {
	if len(items) == 0 {
		return nil
	}
	s, err := f.Record().Snapshot(ctx)
	for _, r := range s.Open {
		for i := range items {
			if home := r.Home(); home != r.ID && home == items[i].Run {
				items[i].AtWork = r.ID
			}
		}
	}
	return err
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

// findClashes finds which items conflict with each other.
func (f *Reader) findClashes(ctx context.Context, items []review.Item) error {
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
func (f *Reader) findBlocked(ctx context.Context, items []review.Item) {
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

// LeftBeside returns the work that ended runs left and that no open item names, by run.
func (f *Reader) LeftBeside(ctx context.Context, items []review.Item) (map[fleet.RunID]string, error) {
	left, err := f.Work.Leftovers(ctx)
	for _, i := range items {
		if i.Open() {
			delete(left, i.Run)
		}
	}
	if err != nil || len(left) == 0 {
		return left, err
	}
	s, err := f.Record().Snapshot(ctx)
	for _, r := range s.Open { // it may take up what it began with
		delete(left, r.ID)
		delete(left, r.Home())
	}
	return left, err
}

// TasksInReview are the tasks that are ready for review with no item that is open: their sessions worked in the
// workspace itself, or a person has merged the work. Tasks that cannot be listed are reported elsewhere.
func (f *Reader) TasksInReview(ctx context.Context, items []review.Item) ([]fleet.Task, error) {
	if f.Tasks == nil {
		return nil, nil
	}
	s, err := f.Record().Snapshot(ctx)
	tasks, _, _ := f.Tasks.List(ctx)
	fleet.Recall(tasks, s.Tasks)
	return slices.DeleteFunc(tasks, func(t fleet.Task) bool {
		return t.State != fleet.StateReview || slices.ContainsFunc(items, func(i review.Item) bool { return i.Open() && i.Session.Task == t.ID })
	}), err
}

// Landed is work that the target has, the latest to get in first.
func (f *Reader) Landed(ctx context.Context, limit int) (list []review.Landed, err error) {
	runs, err := f.Record().LastRuns(ctx, store.RunQuery{Landed: true, Limit: limit})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	decisions, err := f.Record().Reviews(ctx, plain.Each(runs, func(r fleet.Run) fleet.RunID { return r.ID })...)
	for _, r := range runs {
		if l, is := review.LandedOf(r, decisions[r.ID]); is {
			list = append(list, l)
		}
	}
	return list, err
}

// LandedItem is the work of one run, if the target has it and its branch may be gone.
func (f *Reader) LandedItem(ctx context.Context, run fleet.RunID) (i review.Item, is bool, err error) {
	r, err := f.Record().Run(ctx, run)
	if errors.Is(err, fleet.ErrNotFound) {
		return i, false, nil
	} else if err != nil {
		return i, false, err
	}
	decisions, err := f.Record().Reviews(ctx, run)
	l, is := review.LandedOf(r, decisions[run])
	return l.Item(decisions[run]), is, err
}

// maxGlanced bounds the branches that a glance looks at: git takes a tenth of a second for
// them. More are only counted.
const maxGlanced = 200

// ReviewSummary says in a few words what waits for review. If no category has clones of its own and no
// target is named, git is not asked. Trouble with git is logged: nobody knows then what waits.
func (f *Reader) ReviewSummary(ctx context.Context) (g review.Summary) {
	apart := slices.ContainsFunc(f.Config.CategoryNames(), func(c fleet.Category) bool { return f.Config.Categories[c].OwnClone })
	if f.Work == nil || !apart && f.Config.Review.Target == "" {
		return g
	}
	branches, err := f.Work.Branches(ctx)
	if err != nil || len(branches) == 0 && f.Config.Review.Target == "" {
		g.Known = err == nil
	} else if g.Branches = len(branches); g.Branches <= maxGlanced {
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

// InReview has the sessions' work that waits for review, with its record.
type InReview struct {
	At    time.Time // nothing that happened before is missing
	Taken []fleet.ReviewSlot
	Away  bool          // the reviewer is
	Items []review.Item // on branches of their own, of categories whose work goes to review and of runs that nobody knows
	Known bool          // git could be asked

	notHome []fleet.RunID // whose clones were there before git was asked for branches
}

// InReview looks at what waits for review, if the work of any category goes there. Trouble with
// git is logged: nobody knows then what waits.
func (f *Reader) InReview(ctx context.Context) (w InReview, err error) {
	if !slices.ContainsFunc(f.Config.CategoryNames(), func(c fleet.Category) bool { return f.Config.Room(c).Takes }) {
		return w, nil
	}
	w.At = f.Now()
	// The places come first: a run that is over then has made all of its commits.
	var away fleet.Away
	w.Taken, away, err = f.Record().Places(ctx)
	if w.Away = away.At(w.At); err != nil || f.Work == nil {
		return w, err
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

// Sights lists the review places to take or to free. It is empty if git could not be asked.
func (f *Reader) Sights(ctx context.Context, w InReview) []fleet.PlaceSight {
	if !w.Known {
		return nil
	}
	return review.Places(w.Taken, w.Items, func(p fleet.ReviewSlot) bool {
		return slices.Contains(w.notHome, p.Run) || f.KeptElsewhere(ctx, p.Host)
	})
}

// ReviewElsewhere counts the work that waits for review in the clones of other machines, by their names.
func (f *Reader) ReviewElsewhere(ctx context.Context) (list []string, err error) {
	taken, _, err := f.Record().Places(ctx)
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

// ReviewTime is the time over which past reviews tell the usual wait.
const ReviewTime = 28 * 24 * time.Hour

// Full says which categories have as much waiting for review as they may.
func (f *Reader) Full(ctx context.Context) map[fleet.Category]string {
	w, err := f.InReview(ctx)
	if err != nil {
		f.Log.ErrorContext(ctx, "places in review not read", slog.Any("err", err))
	}
	return f.FullBy(ctx, w)
}

// FullBy is [Fleet.Full] by what is known to wait in clones, its rot first, and by the gates of
// categories' own. A gate that cannot be asked is open, loudly. While the reviewer is away nobody
// can do anything about rot, and only the number counts.
func (f *Reader) FullBy(ctx context.Context, w InReview) map[fleet.Category]string {
	full := map[fleet.Category]string{}
	if f.Gates != nil {
		var failed map[fleet.Category]error
		full, failed = f.Gates.Full(ctx)
		for c, err := range failed {
			f.Log.ErrorContext(ctx, "gate left open", slog.String("category", string(c)), slog.Any("err", err))
		}
	}
	for c, reason := range f.roomFull(w) {
		full[c] = cmp.Or(full[c], reason)
	}
	return full
}

// RoomFull is [Fleet.Full] without the gates of categories' own, and with the places that the next fire gives back.
func (f *Reader) RoomFull(ctx context.Context) map[fleet.Category]string {
	w, err := f.InReview(ctx)
	if err != nil {
		f.Log.DebugContext(ctx, "places in review not read", slog.Any("err", err))
	}
	sights := f.Sights(ctx, w)
	w.Taken = plain.Kept(w.Taken, func(p fleet.ReviewSlot) bool {
		return !slices.ContainsFunc(sights, func(s fleet.PlaceSight) bool {
			return s.Run == p.Run && (s.State == fleet.PlaceReviewed || s.State == fleet.PlaceEmpty)
		})
	})
	return f.roomFull(w)
}

func (f *Reader) roomFull(w InReview) map[fleet.Category]string {
	full, rot := map[fleet.Category]string{}, ""
	if !w.Away {
		rot = review.Rot(w.Items, f.Config.Review.Limit, f.Config.Review.MaxAge, w.At)
	}
	for _, c := range f.Config.CategoryNames() {
		room := f.Config.Room(c)
		if reason := cmp.Or(rot, room.Full(len(w.Taken), w.Away)); room.Takes && reason != "" {
			full[c] = reason
		}
	}
	return full
}
