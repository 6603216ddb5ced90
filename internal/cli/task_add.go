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
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/task"
	"stint/internal/wire"
)

type taskAddOptions struct {
	id, category, priority, state, body, nextAction, doneWhen, wait string
	tags, requires                                                  []string
	dryRun                                                          bool
}

func newTaskAdd(a *app) *cobra.Command {
	var o taskAddOptions
	cmd := &cobra.Command{
		Use:   "add TITLE…",
		Short: "Write a new task file",
		Example: `  stint task add Fix the login page --category code --priority high
  stint task add --requires fix-the-login-page Announce the login page`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.taskAdd(cmd.Context(), oneLine(args), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.id, "id", "", "the task's id and file name (default: made from the title)")
	f.StringVar(&o.category, "category", "", "default: by the tags, else tasks.default_category of the config")
	f.StringVar(&o.priority, "priority", "", "urgent, high, medium or low (default medium)")
	f.StringVar(&o.state, "state", string(fleet.StateTodo), "the state to begin in")
	f.StringVar(&o.body, "body", "", "text below the title, - for standard input")
	f.StringVar(&o.nextAction, "next-action", "", "what to do first")
	f.StringVar(&o.doneWhen, "done-when", "", "when it counts as done")
	f.StringVar(&o.wait, "wait", "", "not before this date, YYYY-MM-DD")
	f.StringArrayVar(&o.tags, "tag", nil, "a tag; may be given more than once")
	f.StringArrayVar(&o.requires, "requires", nil, "a task or URL that must be settled first; may be given more than once")
	addDryRun(cmd, &o.dryRun)
	return cmd
}

func (a *app) taskAdd(ctx context.Context, title string, o taskAddOptions) error {
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	if err := knownCategory(c, o.category); err != nil {
		return err
	}
	d, err := a.draft(title, o)
	if err != nil {
		return err
	}
	folder := taskFolder(c)
	for _, required := range o.requires {
		if err := a.checkRequired(ctx, c, required); err != nil {
			return err
		}
	}
	add, verb := folder.Add, "added"
	if o.dryRun {
		add, verb = func(_ context.Context, d task.Draft) (fleet.Task, error) { return folder.Preview(d) }, "would add"
	}
	t, err := add(ctx, d)
	if err != nil {
		return err
	}
	if a.json {
		printJSON(a.Stdout, wire.NewTask(t, "", ""))
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s %s (%s): %s\n", verb, plain.Text(string(t.ID)), t.Category, plain.Text(t.Path))
	return nil
}

// checkRequired refuses what a new task could only wait for in vain: a task that there is not.
func (a *app) checkRequired(ctx context.Context, c *config.Config, required string) error {
	if strings.Contains(required, "://") {
		return nil
	}
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

// knownCategory refuses a category that the configuration does not have.
func knownCategory(c *config.Config, name string) error {
	if _, ok := c.Categories[fleet.Category(name)]; name == "" || ok {
		return nil
	}
	return fleet.WithHint(usage(fmt.Errorf("category %q is not in %s", name, c.Path)),
		fmt.Sprintf("the categories are %v", c.CategoryNames()))
}

// draft is the task that the command line describes.
func (a *app) draft(title string, o taskAddOptions) (task.Draft, error) {
	d := task.Draft{
		ID: fleet.TaskID(o.id), Title: title, Body: o.body, Category: fleet.Category(o.category),
		Created: a.Now().UTC().Truncate(time.Second), Tags: o.tags, Requires: o.requires,
		NextAction: o.nextAction, SuccessCriterion: o.doneWhen,
	}
	var err error
	if d.State, err = fleet.ParseTaskState(o.state); err != nil {
		return d, usage(err)
	}
	if o.priority != "" {
		if d.Priority, err = fleet.ParsePriority(o.priority); err != nil {
			return d, usage(err)
		}
	}
	if o.wait != "" {
		if d.Wait, err = time.Parse(time.DateOnly, o.wait); err != nil {
			return d, usage(fmt.Errorf("--wait %q: want YYYY-MM-DD", o.wait))
		}
	}
	if o.body == "-" {
		body, err := io.ReadAll(io.LimitReader(a.Stdin, 1<<20))
		if err != nil {
			return d, err
		}
		d.Body = string(body)
	}
	return d, nil
}
