package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/view"
)

func newTaskRetry(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "retry TASK…",
		Short: "Put tasks back into the queue",
		Long: `Put a task back into the queue: its state in its file or tracker counts again, whatever
sessions left. A task waits for a person after two sessions that worked on it and left its
state as it was, unless it is active. Three failed sessions in a row do the same in any state.
This command ends that, and so does a change of its file or item. It also ends the rest of a
task whose last session did nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return each(args, func(task string) error { return a.taskRetry(cmd.Context(), task) })
		},
	})
}

func (a *app) taskRetry(ctx context.Context, arg string) error {
	id, err := taskNamed(arg)
	if err != nil {
		return err
	}
	return a.with(ctx, existing, func(f opened) (err error) {
		found := false
		if f.Recorded() {
			found, err = f.Store.Retry(ctx, id)
		}
		if err == nil && !found {
			if _, unknown := taskFolder(f.Config).Get(ctx, id); errors.Is(unknown, fleet.ErrNotFound) {
				return a.withNearest(ctx, f.Config, unknown, arg) // nothing was forgotten, as there is nothing of the name
			}
		}
		forgot := a.did("has forgotten", "would forget")
		line := fmt.Sprintf("stint %s what sessions left of %s: the state in its file, or its tracker, counts again", forgot, id)
		if !found {
			line = fmt.Sprintf("stint remembers nothing of %s: the state in its file, or its tracker, counts", id)
		}
		return a.sayDone(err, retryObject(found, a.dryRun).JSON(id), line)
	})
}

// withNearest adds to the error of a task that there is none of the task that was likely meant.
func (a *app) withNearest(ctx context.Context, c *config.Config, err error, name string) error {
	tasks, _, _ := taskFolder(c).List(ctx) // none that cannot be listed is near
	known := plain.Each(tasks, func(t fleet.Task) fleet.TaskID { return t.ID })
	return fleet.WithHint(err, fleet.Meant(name, known, "stint task list --all lists the tasks"))
}

func newTaskDone(a *app) *cobra.Command {
	return a.dry(&cobra.Command{
		Use:   "done TASK…",
		Short: "Mark tasks as done",
		Long: `Mark a task as done: in its file, which stint does not commit, or in its tracker
by the command "done" of its source. A task that another holder has claimed
stays as it is: status 4.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return each(args, func(task string) error { return a.taskDone(cmd.Context(), task) })
		},
	})
}

func (a *app) taskDone(ctx context.Context, arg string) error {
	id, err := taskNamed(arg)
	if err != nil {
		return err
	}
	holder, named, err := a.holder("")
	if err != nil {
		return err
	}
	return a.with(ctx, writing, func(e opened) (err error) {
		t, err := taskFolder(e.Config).Get(ctx, id)
		if err != nil {
			return err
		}
		hold := store.Hold{Key: id.Key(), Holder: holder}
		give, err := a.guard(ctx, e, &hold, named)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, give()) }()
		if t, err = e.Recalled(ctx, t); err != nil {
			return err
		}
		changed := t.State != fleet.StateDone
		if !a.dryRun {
			if changed, err = e.GiveState(ctx, hold, t, fleet.StateDone); err != nil {
				return err
			}
			t.State = fleet.StateDone
		}
		line := a.did(string(t.ID)+" is done", "would mark "+string(t.ID)+" as done")
		if !changed {
			line = string(t.ID) + " is done already"
		}
		a.sayLine(view.Task().JSON(view.TaskEntry{Task: t}), line)
		return nil
	})
}

// guard holds a task's claim while its file is written, so that no session is at
// it, and says at which epoch. A claim that the caller has already, such as an agent its own task's, is
// neither renewed nor given back.
func (a *app) guard(ctx context.Context, f opened, h *store.Hold, named bool) (give func() error, err error) {
	c, at, err := f.Store.Check(ctx, h.Key)
	if err != nil {
		return nil, err
	}
	if named && c.Holder == h.Holder && c.Current(at) {
		h.Epoch = c.Epoch
		return func() error { return nil }, nil
	}
	take := store.TakeRequest{Key: h.Key, Holder: h.Holder, TTL: time.Minute, Note: "stint task done"}
	grant, c, err := f.Desk().Take(ctx, take)
	if err != nil {
		return nil, err
	}
	if grant == fleet.Denied {
		return nil, fleet.WithHint(fmt.Errorf("%s: %w", c.Denial(), fleet.ErrHeld), "stint status shows the session that works on it")
	}
	h.Epoch = c.Epoch
	return func() error {
		_, err := f.Store.Release(ctx, *h, fleet.EndingDone, "")
		if errors.Is(err, fleet.ErrLost) { // a dry run undid the take
			return nil
		}
		return err
	}, nil
}
