package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/door"
	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/view"
)

func newTaskAdd(a *app) *cobra.Command {
	var o door.Draft
	cmd := a.dry(&cobra.Command{
		Use:   "add TITLE…",
		Short: "Write a new task file",
		Example: `  stint task add Fix the login page --category code --priority high
  stint task add --requires fix-the-login-page Announce the login page`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Title = oneLine(args)
			return a.taskAdd(cmd.Context(), o)
		},
	})
	f := cmd.Flags()
	f.StringVar(&o.ID, "id", "", "the `ID`, which is the file's name, too (default: made from the title)")
	f.StringVar(&o.Category, "category", "", "the `CATEGORY` (default: by the tags, else tasks.default_category of the config)")
	f.StringVar(&o.Priority, "priority", "", "the `PRIORITY`: urgent, high, medium or low (default medium)")
	f.StringVar(&o.State, "state", string(fleet.StateTodo), "the `STATE` to begin in")
	f.StringVar(&o.Body, "body", "", "`TEXT` below the title, - for standard input")
	f.StringVar(&o.NextAction, "next-action", "", "what to do first: a line of `TEXT`")
	f.StringVar(&o.DoneWhen, "done-when", "", "when it counts as done: a line of `TEXT`")
	f.StringVar(&o.Wait, "wait", "", "not before this `DATE`, YYYY-MM-DD")
	f.StringArrayVar(&o.Tags, "tag", nil, "a `TAG`; may be given more than once")
	f.StringArrayVar(&o.Requires, "requires", nil, "a `TASK` that must be settled first; may be given more than once")
	return cmd
}

func (a *app) taskAdd(ctx context.Context, d door.Draft) error {
	if d.Body == "-" {
		body, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
		if err != nil {
			return err
		}
		d.Body = string(body)
	}
	answer, err := a.ask(ctx, door.Request{Verb: door.TaskAdd, Draft: &d, DryRun: a.dryRun})
	if err != nil {
		return err
	}
	t := answer.Task.Task
	a.sayLine(view.Task().JSON(view.TaskEntry{Task: t}), fmt.Sprintf("%s %s (%s): %s", a.did("added", "would add"), t.ID, t.Category, t.Path))
	return nil
}

// addTask writes a task's file; in a dry run it says what it would write.
func (a *app) addTask(ctx context.Context, c *config.Config, q door.Request) (door.Answer, error) {
	if err := knownCategory(c, q.Draft.Category); err != nil {
		return door.Answer{}, err
	}
	d, err := a.draft(*q.Draft)
	if err != nil {
		return door.Answer{}, err
	}
	for _, required := range d.Requires {
		if err := a.checkRequired(ctx, c, required); err != nil {
			return door.Answer{}, err
		}
	}
	t, err := taskFolder(c).Add(ctx, d, q.DryRun)
	return door.Answer{Task: &door.Task{Task: t}}, err
}

// checkRequired refuses what a new task could only wait for in vain: a task that there is not.
func (a *app) checkRequired(ctx context.Context, c *config.Config, required string) error {
	if c.Tasks.Format == fleet.FormatBacklog {
		required = strings.ToLower(required) // BACK-7 is of the file back-7
	}
	id, err := fleet.ParseTaskID(required)
	if err != nil {
		return usage(fmt.Errorf("--requires: %w", err))
	}
	if _, err = taskFolder(c).Get(ctx, id); errors.Is(err, fleet.ErrNotFound) {
		err = fmt.Errorf("--requires %q: the new task would wait for ever: %w", required, fleet.ErrNotFound)
		return a.withNearest(ctx, c, err, required)
	}
	return nil // the list of tasks shows what else is wrong with that task
}

// draft is the task that was described.
func (a *app) draft(o door.Draft) (task.Draft, error) {
	d := task.Draft{
		ID: fleet.TaskID(o.ID), Title: o.Title, Body: o.Body, Category: fleet.Category(o.Category),
		Created: a.Now().UTC().Truncate(time.Second), Tags: o.Tags, Requires: o.Requires,
		NextAction: o.NextAction, SuccessCriterion: o.DoneWhen,
	}
	var err error
	if d.State, err = fleet.ParseTaskState(o.State); err != nil {
		return d, usage(err)
	}
	if o.Priority != "" {
		if d.Priority, err = fleet.ParsePriority(o.Priority); err != nil {
			return d, usage(err)
		}
	}
	if o.Wait != "" {
		if d.Wait, err = time.Parse(time.DateOnly, o.Wait); err != nil {
			return d, usage(fmt.Errorf("--wait %q: want YYYY-MM-DD", o.Wait))
		}
	}
	return d, nil
}
