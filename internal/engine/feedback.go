package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
	"stint/internal/survey"
)

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
	list, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	text, err := e.Reviewers.Ask(ctx, list)
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
		i := items[h.Run]
		f, before := known[h.Run], known[h.Run].Said
		f.Run, f.Task = h.Run, i.Session.Task
		if f, news := h.News(f, i.Tip); news {
			errs = append(errs, e.askAgain(ctx, f, before))
		} else if f.Said != "" {
			errs = append(errs, e.reopenFor(ctx, f))
		}
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

// askAgain makes work of what was said, or leaves it to a person once sessions have tried often
// enough. Words that come while others wait for a session are of the same round.
func (e *Engine) askAgain(ctx context.Context, f fleet.Feedback, before string) error {
	f.At = e.Now()
	if before == "" {
		f.Rounds++
	}
	if err := e.Store.SaveFeedback(ctx, f); err != nil {
		return err
	}
	return e.reopenFor(ctx, f)
}

// reopenFor opens a task again for the session that is to answer, or has it wait for a person. One that is so already is
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
	said := firstLine(f.Said)
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
		e.Log.InfoContext(ctx, "feedback on published work", slog.String("run_id", string(f.Run)), slog.String("task_id", string(f.Task)), slog.String("reason", said))
		return e.Store.LeaveTask(ctx, h, m)
	})
	if errors.Is(err, fleet.ErrHeld) { // a session is at it
		return nil
	}
	return err
}

// notLanded has the next session at the task go on from work that did not land.
func (e *Engine) notLanded(ctx context.Context, l fleet.Landing, task fleet.TaskID, reason string) error {
	all, err := e.Store.Feedback(ctx)
	if err != nil || task == "" {
		return err
	}
	f := all[l.Run]
	if f.Said == "" {
		f.Rounds++
	}
	f.Run, f.Task, f.At = l.Run, task, e.Now()
	f.Said = fmt.Sprintf("It did not land on %s: %s", l.Target, plain.Text(fleet.Clipped(reason, 10*mostReason)))
	return e.Store.SaveFeedback(ctx, f)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return fleet.Clipped(line, mostReason)
}

// letAnswer opens the gates of review for tasks at which a session is to answer what was said: it
// takes no place there, and brings an item nearer to its end.
func (e *Engine) letAnswer(ctx context.Context, v survey.View) map[fleet.Category]string {
	if e.Store == nil {
		return v.Full
	}
	said, err := e.Store.Feedback(ctx)
	if err != nil {
		e.Log.WarnContext(ctx, "feedback not read", slog.Any("err", err))
	}
	full := maps.Clone(v.Full)
	for _, f := range said {
		at := slices.IndexFunc(v.Tasks, func(t fleet.Task) bool { return t.ID == f.Task })
		if f.Waits() && at >= 0 && v.Tasks[at].State == fleet.StateActive {
			delete(full, v.Tasks[at].Category)
		}
	}
	return full
}

// toAnswer is what a session at the task is to answer, on the branch of the run that it is about; a
// zero value: nothing.
func (e *Engine) toAnswer(ctx context.Context, task fleet.TaskID) (latest fleet.Feedback, branch string, err error) {
	all, err := e.Store.Feedback(ctx)
	for _, run := range slices.Sorted(maps.Keys(all)) {
		if f := all[run]; f.Task == task && f.Waits() && !f.At.Before(latest.At) {
			latest = f
		}
	}
	if err != nil || latest.Run == "" {
		return fleet.Feedback{}, "", err
	}
	reviews, err := e.Store.Reviews(ctx, latest.Run)
	over := []fleet.ReviewDecision{fleet.DecisionRejected, fleet.DecisionSuperseded, fleet.DecisionLanded}
	if err != nil || slices.Contains(over, reviews[latest.Run].Decision) {
		return fleet.Feedback{}, "", err
	}
	branches, err := e.Repo.Branches(ctx)
	if branch = branches[latest.Run]; err != nil || branch == "" { // it was merged, or deleted
		return fleet.Feedback{}, "", err
	}
	return latest, branch, nil
}

// answered stores that a session answered what it was asked.
func (w *worker) answered(ctx context.Context) {
	if o := w.run.Verdict.Outcome; w.asks.Run == "" || o != fleet.Productive && o != fleet.Nothing {
		return // the next session at the task is asked again
	}
	w.asks.Said = ""
	if err := w.Store.SaveFeedback(ctx, w.asks); err != nil {
		w.Log.WarnContext(ctx, "feedback is asked for again", w.attrs(slog.Any("err", err))...)
	}
}
