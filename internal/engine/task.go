package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// GiveState gives a task a state by a person's hand, under its claim: an error that wraps [fleet.ErrLost] says that
// this is no longer the caller's. It reports whether that changed anything. A file is written and not committed: the
// commit is the person's.
//
// If we die before the file is written, it says what it did, and the store's word counts; the next call writes it.
func (e *Engine) GiveState(ctx context.Context, h store.Hold, t fleet.Task, s fleet.TaskState) (bool, error) {
	if t.State == s && (t.InSource() == s || t.Source != "") {
		return false, nil
	}
	// What the source has said until now is what clones of other hosts show.
	m := fleet.TaskMemory{Task: t.ID, TaskLeft: fleet.TaskLeft{State: s, Source: t.Source, Item: t.Item, Seen: t.Seen, Changed: true}}
	if t.Source != "" {
		m.Owed = e.owedTo(t, s)
	} else if err := e.Sources.Writable(s); err != nil {
		return false, err
	}
	err := e.Store.LeaveTask(ctx, h, m)
	if err != nil {
		return false, err
	}
	if t.Source != "" {
		err = e.pay(ctx, t, m, "by hand")
	} else {
		_, err = e.Sources.SetState(ctx, t.ID, s)
	}
	if err != nil {
		err = fmt.Errorf("task %q is %s, but its source does not show it yet: %w", t.ID, s, err)
	}
	return true, err
}

// Recalled is a task with what is remembered of it.
func (e *Engine) Recalled(ctx context.Context, t fleet.Task) (fleet.Task, error) {
	snapshot, err := e.Store.Snapshot(ctx)
	found := []fleet.Task{t}
	fleet.Recall(found, snapshot.Tasks)
	return found[0], err
}

// settler holds a task's claim while its tracker gets a report.
const settler fleet.Holder = "stint-reap"

// holding has the claim of a task while do changes the task. An error that wraps [fleet.ErrHeld] says who has it.
//
// If we die before it is given back, the same holder renews it, if the request says so, or it expires.
func (e *Engine) holding(ctx context.Context, r store.TakeRequest, do func(store.Hold) error) error {
	grant, c, err := e.Desk().Take(ctx, r)
	if err != nil {
		return err
	}
	if grant == fleet.Denied {
		return fmt.Errorf("task %s stays as it is: %s: %w", r.Key, c.Denial(), fleet.ErrHeld)
	}
	h := store.Hold{Key: c.Key, Holder: r.Holder, Epoch: c.Epoch}
	err = do(h)
	_, lost := e.Store.Release(context.WithoutCancel(ctx), h, fleet.EndingReleased, "")
	return errors.Join(err, lost)
}

// tellingTime is for the commands and the locks that a report to one source takes.
const tellingTime = 3 * time.Minute

// owedTo is the call that the tracker of an item must get when a session leaves it in that
// state, or none.
func (e *Engine) owedTo(t fleet.Task, s fleet.TaskState) fleet.TaskCall {
	call := fleet.CallRelease
	if s.Settled() {
		call = fleet.CallDone
	}
	if len(e.calls(t.Source)[call]) == 0 {
		return ""
	}
	return call
}

// calls are the programs that report to a tracker on its items.
func (e *Engine) calls(source string) map[fleet.TaskCall][]string {
	return e.Config.Tasks.Sources[source].Calls()
}

// pay reports to the tracker of a task what it is owed, and remembers what it shows then, or why that failed.
func (e *Engine) pay(ctx context.Context, t fleet.Task, m fleet.TaskMemory, reason string) (err error) {
	sight := store.TaskSight{TaskMemory: m, Was: m.Seen}
	if m.Owed != "" {
		err = e.Sources.Call(ctx, m.Owed, t, m.Run, reason)
	}
	again, lost := e.Sources.Again(ctx, t)
	gone := errors.Is(lost, fleet.ErrNotFound)
	if err != nil && (gone || lost == nil && again.State.Settled()) { // one that is closed twice may be an error of its tracker's
		e.Log.WarnContext(ctx, "tracker has closed it already", slog.String("task_id", string(t.ID)), slog.Any("err", err))
		err = nil
	}
	sight.Trouble = ""
	switch {
	case err != nil && err.Error() == m.Trouble:
		return err
	case err != nil:
		sight.Owing, sight.Trouble = true, err.Error()
	case gone:
		sight.Seen = fleet.SeenNowhere
	default: // empty: it cannot be asked, and its next answer counts
		sight.Seen = again.Seen
	}
	if err == nil && lost != nil && !gone {
		e.Log.WarnContext(ctx, "task not read again", slog.String("task_id", string(t.ID)), slog.Any("err", lost))
	}
	ctx, cancel := closing(ctx) // the time that it took may be up
	defer cancel()
	return errors.Join(err, e.Store.SeeTasks(ctx, []store.TaskSight{sight}))
}
