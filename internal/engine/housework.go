package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/agent/grade"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
	"stint/internal/survey"
)

// houseTime bounds the work for which no session has to wait; a fire's unit has a quarter of an hour for all.
const houseTime = 5 * time.Minute

// keepHouse does what no session has to wait for, within houseTime. The next fire does the rest, and goes by what this
// one found out: grades that were corrected, and tasks that are open again.
//
// A crash splits it at: Store.NoticeDue, Store.AddFates, Sources.Call, Store.SeeTasks, Store.SaveFeedback, Repo.Tidy,
// and Folders.Sweep. The sessions go on, and the next fire finds what is left to do. A notice may be lost.
func (e *Engine) keepHouse(ctx context.Context, v sight) {
	ctx, cancel := context.WithTimeout(ctx, houseTime)
	defer cancel()
	over := e.isOver(ctx)
	for _, chore := range []struct {
		undone string // what its error means
		do     func() error
	}{
		{"not all notices were looked for", func() error { return e.notifyFire(ctx, v) }},
		{"not all is known of what became of sessions' work", func() error { return e.seeFates(ctx) }},
		{"trackers not updated", func() error { return e.syncAll(ctx) }},
		{"feedback not asked for", func() error { return e.hear(ctx) }},
		{"not every clone could be looked at", func() error { return e.Repo.Tidy(ctx, over) }},
		{"not every run's folder could be removed", func() error { return e.sweep(ctx, over) }},
	} {
		if ctx.Err() != nil {
			e.Log.WarnContext(ctx, "the next fire does the rest of the housework", slog.Any("err", ctx.Err()))
			return
		}
		if err := chore.do(); err != nil {
			e.Log.WarnContext(ctx, "housework left", slog.String("reason", chore.undone), slog.Any("err", err))
		}
	}
}

// tellTime bounds a fire's notices.
const tellTime = time.Minute

// notifyFire tells people what they have to know of what a fire saw.
func (e *Engine) notifyFire(ctx context.Context, v sight) error {
	untrusted := e.Config.Untrusted()
	for _, reason := range untrusted {
		e.Log.WarnContext(ctx, "held", slog.String("reason", reason))
	}
	if e.Notices == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	now := e.Now()
	// If the store has lost what it had acknowledged, the first machine that fires says so, once.
	if l := v.Snapshot.Lineage; l.Reason() != "" && v.Now.Sub(l.Since) < day {
		e.notify(ctx, fleet.Notice{Event: fleet.EventWentBack, Reason: fmt.Sprintf("%s, at %s", l.Reason(), utc(l.Since)), At: v.Now})
	}
	for _, f := range v.Failed {
		e.notify(ctx, fleet.Notice{Event: fleet.EventSourceFailed, Source: f.Source, Reason: f.String(), At: now})
	}
	for _, reason := range untrusted {
		e.notify(ctx, fleet.Notice{Event: fleet.EventHeld, Reason: reason, At: now})
	}
	holds, noHolds := e.Store.LaneHolds(ctx, now)
	for _, h := range holds {
		if n, worth := fleet.LaneNotice(h, e.Config.Categories[h.Category].Timeout, now); worth {
			e.notify(ctx, n)
		}
	}
	reviews, noReviews := e.Store.ReviewTimes(ctx, v.waits.At.Add(-survey.ReviewTime))
	if reason := v.waits.Silence(reviews); noReviews == nil && reason != "" {
		e.notify(ctx, fleet.Notice{Event: fleet.EventReviewSilent, Reason: reason, At: v.waits.At})
	}
	at, noTarget := e.Repo.Tracking(ctx)
	if at.Stuck { // the target does not follow its upstream any more until a person has seen to it
		e.notify(ctx, fleet.Notice{Event: fleet.EventTargetStuck, Reason: at.Text + ": " + at.Fix, At: now})
	}
	for scope, reason := range e.usedUp(v) {
		e.notify(ctx, fleet.Notice{Event: fleet.EventBudget, Scope: scope, Reason: reason, At: v.Now})
	}
	var unforgotten error
	for _, c := range e.Config.CategoryNames() {
		n := fleet.Notice{Event: fleet.EventWIPFull, Category: c, Reason: v.full[c], At: now}
		if n.Reason != "" {
			e.notify(ctx, n)
		} else if e.wanted(n.Event) { // once it is full again, that is news
			unforgotten = errors.Join(unforgotten, e.Store.ForgetNotice(ctx, n))
		}
	}
	return errors.Join(noHolds, noReviews, noTarget, unforgotten)
}

// usedUp are the budgets of today that keep an agent from work in a category, and why.
func (e *Engine) usedUp(v sight) map[fleet.Scope]string {
	reasons := map[fleet.Scope]string{}
	for _, c := range e.Config.CategoryNames() {
		for _, agent := range e.Config.Categories[c].Agents {
			for _, r := range e.Refusals(v.View, c, agent) {
				if r.By == fleet.HinderedByBudget {
					reasons[r.Scope] = r.Reason
				}
			}
		}
	}
	return reasons
}

// wanted reports whether anybody is notified of an event.
func (e *Engine) wanted(event fleet.Event) bool {
	return e.Notices != nil && slices.Contains(e.Config.Notice.Events, event)
}

// day is the interval of reminders of work that waits for a person.
const day = 24 * time.Hour

// forever is longer than anybody waits for a confirmation.
const forever = 100 * 365 * 24 * time.Hour

// notify sends a notice, unless the same news went out a short while ago. Nothing fails
// because of it.
//
// If we die between the note in the store and the sending, nobody gets this news until it is
// due again.
func (e *Engine) notify(ctx context.Context, n fleet.Notice) {
	if !e.wanted(n.Event) {
		return
	}
	every := time.Hour // a person who has not acted on it by then may have missed it
	switch n.Event {   //nolint:exhaustive // the others are news whenever they are
	case fleet.EventHeld, fleet.EventWentBack, fleet.EventWIPFull:
		every = forever // it stays news for no longer than until it was sent, or until the review has opened
	case fleet.EventBudget:
		every = n.At.Sub(n.At.UTC().Truncate(day)) // budgets begin anew with the day
	case fleet.EventReviewSilent, fleet.EventTargetStuck:
		every = max(every, day)
	}
	due, err := e.Store.NoticeDue(ctx, n, every)
	if due && err == nil {
		if err = e.Notices.Send(ctx, n); err != nil {
			ctx, cancel := closing(ctx) // news that was not sent is still due, also when the time is up
			defer cancel()
			err = errors.Join(err, e.Store.ForgetNotice(ctx, n))
		}
	}
	if err != nil {
		e.Log.WarnContext(ctx, "notice not sent", slog.String("reason", string(n.Event)), slog.Any("err", err))
	}
}

// maxWatched bounds of how many runs a fire looks what became of their work, the latest first.
const maxWatched = 500

// seeFates finds out what became of the work of earlier sessions, and corrects their grades.
//
// If we die before the write, the next fire finds the same. If we die after it, it is known.
func (e *Engine) seeFates(ctx context.Context) error {
	now := e.Now()
	runs, err := e.Store.Watched(ctx, now.Add(-grade.WatchTime), now.Add(-grade.FateTime), maxWatched)
	if err != nil || len(runs) == 0 {
		return err
	}
	list, err := e.fates(ctx, runs)
	if len(list) == 0 {
		return err
	}
	added, lost := e.Store.AddFates(ctx, list)
	for _, f := range added {
		reason := string(f.Kind)
		if f.Reason != "" {
			reason += ": " + f.Reason
		}
		if f.Grade != nil {
			reason += "; its grade is " + strconv.FormatFloat(*f.Grade, 'g', -1, 64)
		}
		e.Log.InfoContext(ctx, "something became of a session's work", slog.String("run_id", string(f.Run)), slog.String("reason", reason))
	}
	return errors.Join(err, lost)
}

// fates returns the reviews' outcomes of the work of runs, by people's word and by git.
func (e *Engine) fates(ctx context.Context, runs []fleet.Run) (list []fleet.ReviewOutcome, err error) {
	var ids []fleet.RunID
	for _, r := range runs {
		ids = append(ids, r.ID, r.Home())
	}
	reviews, err := e.Store.Reviews(ctx, ids...)
	for _, run := range runs {
		r := reviews[run.ID]
		if run.Conversation.Resumes != "" {
			r = reviews[run.Home()]
		}
		if r.Decision == fleet.DecisionRejected {
			list = append(list, fleet.ReviewOutcome{Run: run.ID, At: r.DecidedAt, Kind: fleet.FateRejected, Witness: r.By, Reason: r.Reason})
		}
	}
	err = errors.Join(err, e.askForge(ctx, runs, reviews, &list))
	if e.Work == nil {
		return list, err
	}
	var watched []review.Watched
	for _, r := range runs {
		passed := slices.ContainsFunc(list, func(f fleet.ReviewOutcome) bool { return f.Run == r.ID && f.Kind.Landed() })
		passed = passed || reviews[r.ID].Passed() || reviews[r.Home()].Passed() || !e.Config.Room(r.Category).Takes
		watched = append(watched, review.Watched{Run: r.ID, Branch: r.Branch, Commits: r.Commits, Known: r.Fates, Reviewed: passed})
	}
	found, lost := e.Work.Fates(ctx, watched)
	return append(list, found...), errors.Join(err, lost)
}

// askForge adds what the forge says became of the work on branches.
func (e *Engine) askForge(ctx context.Context, runs []fleet.Run, reviews map[fleet.RunID]fleet.Review, list *[]fleet.ReviewOutcome) error {
	var asked []review.Asked
	for _, r := range runs {
		if r.Branch != "" {
			asked = append(asked, review.Asked{Run: r.ID, Branch: r.Branch, Commits: r.Commits, URL: reviews[r.ID].URL, EndedAt: r.EndedAt.UTC()})
		}
	}
	if e.Forge == nil || len(asked) == 0 {
		return nil
	}
	var fates []fleet.ReviewOutcome
	var problems []string
	answer, err := ask(ctx, e.Forge, asked)
	if err == nil {
		fates, problems, err = review.ParseAnswer(answer, asked, e.Now())
	}
	for _, p := range problems {
		e.Log.WarnContext(ctx, "what a forge says is left out", slog.String("reason", review.ByForge+": "+p))
	}
	*list = append(*list, fates...)
	if err != nil {
		err = fmt.Errorf("%s: %w", review.ByForge, err)
	}
	return err
}

// ask has a command answer a question.
func ask(ctx context.Context, h Hook, question any) ([]byte, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	return h.Ask(ctx, text)
}

// debtTime bounds the calls that a fire owes to trackers.
const debtTime = time.Minute

// syncAll makes the reports to trackers that crashed or failed workers owe, within debtTime. It
// takes them in random order: a task or a source that takes all of that time is not always first.
func (e *Engine) syncAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, debtTime)
	defer cancel()
	s, err := e.Store.Snapshot(ctx)
	for _, i := range rand.Perm(len(s.Tasks)) { //nolint:gosec // nothing is decided by it
		m := s.Tasks[i]
		if m.Owed == "" || slices.ContainsFunc(s.Open, func(r fleet.Run) bool { return r.ID == m.Run }) {
			continue
		}
		if ctx.Err() != nil {
			e.Log.WarnContext(ctx, "the next fire updates the remaining trackers", slog.String("reason", "it took longer than "+debtTime.String()))
			break
		}
		var lost error
		if _, known := e.Config.Tasks.Sources[m.Source]; known {
			request := store.TakeRequest{Key: m.Task.Key(), Holder: settler, TTL: tellingTime, Note: "reports to its tracker how the last session ended"}
			lost = e.holding(ctx, request, func(store.Hold) error {
				return e.pay(ctx, fleet.Task{ID: m.Task, Source: m.Source, Item: m.Item, Title: string(m.Task)}, m, m.Reason)
			})
		} else {
			lost = e.Store.SeeTasks(ctx, []store.TaskSight{{TaskMemory: m, Was: m.Seen, Forget: true, Over: true}})
		}
		if lost != nil && !errors.Is(lost, fleet.ErrHeld) { // who works on it will pay
			e.Log.WarnContext(ctx, "tracker not updated", slog.String("task_id", string(m.Task)), slog.Any("err", lost))
		}
	}
	return err
}

// The words of checks and reviewers on published work become the next session at its task, on the
// same branch. It is stored before the task is opened again: if we die in between, the next fire
// finds words that wait for a session, and opens the task. It is stored that they are answered
// after the end of the session that did: if we die in between, one more session reads them.

// hear asks what is said of published work, and makes work of what is new.
func (e *Engine) hear(ctx context.Context) error {
	if e.Reviewers == nil {
		return nil
	}
	known, err := e.Store.Feedback(ctx)
	if err != nil {
		return err
	}
	pushing, cancel := context.WithTimeout(ctx, e.Config.Command.Timeout) // for all answers: the next fire pushes the rest
	asked, items, err := e.published(pushing, known)
	cancel()
	if err != nil || len(asked) == 0 {
		return err
	}
	text, err := ask(ctx, e.Reviewers, asked)
	if err != nil {
		return err
	}
	heard, problems, err := review.ParseHeard(text, asked)
	if err != nil {
		return err
	}
	for _, problem := range problems {
		e.Log.WarnContext(ctx, "feedback left out", slog.Any("err", problem))
	}
	var errs []error
	for _, h := range heard {
		i, f := items[h.Run], known[h.Run]
		waits := f.Said != ""
		f.Run, f.Task = h.Run, i.Session.Task
		f, news := h.News(f, i.Tip)
		if news {
			if f.At = e.Now(); !waits { // words that come while others wait for a session are of the same round
				f.Rounds++
			}
			err = e.Store.SaveFeedback(ctx, f)
		}
		if err == nil && f.Said != "" {
			err = e.reopenFor(ctx, f)
		}
		errs, err = append(errs, err), nil
	}
	return errors.Join(errs...)
}

// published are the items that wait at a forge as they were published there, and that nobody
// works on. A branch on which a session has answered what was said is pushed again first: who has
// feedback asked for wants the answer there.
func (e *Engine) published(ctx context.Context, known map[fleet.RunID]fleet.Feedback) (asked []review.Published, items map[fleet.RunID]review.Item, err error) {
	reviews, err := e.Store.Reviews(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(reviews)), func(r fleet.Review) bool { return r.Decision == fleet.DecisionPublished }) {
		return nil, nil, nil
	}
	target, all, err := e.Review(ctx)
	if err != nil {
		return nil, nil, err
	}
	items = map[fleet.RunID]review.Item{}
	for _, i := range all {
		r := reviews[i.Run]
		if r.Decision != fleet.DecisionPublished || i.Landing != review.Waiting || i.Apart || i.AtWork != "" || i.Session.Task == "" {
			continue
		}
		if r.Tip != i.Tip {
			if f := known[i.Run]; f.Rounds == 0 || f.Said != "" {
				continue // a person has to look at what is new
			}
			if r, _, err = e.Publish(ctx, target, i); err != nil {
				e.Log.WarnContext(ctx, "answer not published", slog.String("run_id", string(i.Run)), slog.Any("err", err))
				continue
			}
		}
		items[i.Run] = i
		asked = append(asked, review.Published{Run: i.Run, Task: i.Session.Task, Branch: i.Name, Tip: i.Tip, URL: r.URL})
	}
	return asked, items, nil
}

// reopenFor opens a task again for the session that is to answer, or has it wait for a person. A task that is so already is
// left alone, and with it the claim that the session is about to take.
func (e *Engine) reopenFor(ctx context.Context, f fleet.Feedback) error {
	t, err := e.Sources.Get(ctx, f.Task)
	if err == nil {
		t, err = e.Recalled(ctx, t)
	}
	if err != nil {
		return err
	}
	// The task's file stays as it is: its state there is that of the branch once that is merged.
	said, _, _ := strings.Cut(f.Said, "\n")
	said = fleet.Clipped(said, maxReason)
	m := fleet.TaskMemory{Task: f.Task, Reason: "there is feedback on the work of run " + string(f.Run), TaskLeft: fleet.TaskLeft{
		State: fleet.StateActive, Source: t.Source, Item: t.Item, Seen: t.Seen, Changed: true,
	}}
	if !f.Waits() {
		said = fmt.Sprintf("sessions have answered %s of feedback on run %s, and there is more: %s", plain.Plural(fleet.MostRounds, "round"), f.Run, said)
		m.State, m.Reason = fleet.StateWaiting, said
		e.notify(ctx, fleet.Notice{Event: fleet.EventWaiting, Category: t.Category, Task: f.Task, Run: f.Run, Reason: said, At: f.At})
	}
	if t.State == m.State {
		return nil
	}
	err = e.holding(ctx, store.TakeRequest{Key: f.Task.Key(), Holder: settler, TTL: tellingTime, Note: "opens it again for feedback"}, func(h store.Hold) error {
		// A session may have had the task since it was read, and its word counts.
		if now, err := e.Recalled(ctx, t); err != nil || now.State != t.State {
			return err
		}
		e.Log.InfoContext(ctx, "feedback on published work", slog.String("run_id", string(f.Run)), slog.String("task_id", string(f.Task)), slog.String("reason", said))
		return e.Store.LeaveTask(ctx, h, m)
	})
	if errors.Is(err, fleet.ErrHeld) { // a session is at it
		return nil
	}
	return err
}

// sweep removes the oldest of the folders of runs that are over. Folders that the record does not know stay.
func (e *Engine) sweep(ctx context.Context, over func(fleet.RunID) bool) error {
	removed, err := e.Folders.Sweep(over)
	if removed > 0 {
		e.Log.InfoContext(ctx, "folders of old runs removed", slog.String("reason", fmt.Sprintf("[keep] files: %d of them", removed)))
	}
	return err
}
