package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/door"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/screen"
	"stint/internal/store"
	"stint/internal/survey"
	"stint/internal/view"
)

func newTask(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "List, show, add, finish and retry tasks"}
	cmd.AddCommand(newTaskList(a), newTaskShow(a), newTaskAdd(a), newTaskDone(a), newTaskRetry(a))
	return cmd
}

// standings has the facts about tasks that their sources do not have.
type standings struct {
	blocked map[fleet.TaskID]string // why an open task is not workable
	from    map[fleet.TaskID]string // where its state is from, if its source says another
}

// standings puts tasks in the states that are remembered of them, and says of those that
// are blocked why; with a fleet, also for which other work they wait.
func (a *app) standings(ctx context.Context, c *config.Config, s store.Store, f *survey.Reader, tasks []fleet.Task) (known standings, err error) {
	q := rank.Queue{Tasks: tasks, At: a.Now()}
	known = standings{map[fleet.TaskID]string{}, map[fleet.TaskID]string{}}
	if s != nil {
		snapshot, err := s.Snapshot(ctx)
		if err != nil {
			return known, err
		}
		q.At, q.Held, q.Round = snapshot.At, a.desk(c, s).Held(ctx, snapshot.ClaimsAt), snapshot.RoundsOf(a.here(c)().Host)
		fleet.Recall(tasks, snapshot.Tasks)
		for _, t := range tasks {
			if t.Listed != "" {
				known.from[t.ID] = t.Memory.From(t)
			}
		}
	}
	if f != nil {
		if q.Overlaps, err = f.OverlapsOf(ctx, tasks); err != nil {
			return known, err
		}
	}
	_, blocked := q.Workable()
	for _, b := range blocked {
		known.blocked[b.Task.ID] = b.Reason
		if b.Claim != nil {
			known.blocked[b.Task.ID] = "claimed by " + string(b.Claim.Holder) + " until " + stamp(b.Claim.ExpiresAt)
		}
	}
	for _, t := range tasks {
		if why := c.Unplaced(t); why != "" {
			known.blocked[t.ID] = why
		}
	}
	return known, nil
}

type taskListOptions struct {
	category string
	state    fleet.TaskState
	all      bool
}

func newTaskList(a *app) *cobra.Command {
	var o taskListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the open tasks, and why some are blocked",
		RunE: a.open(reading, func(ctx context.Context, f opened, _ []string) error {
			if err := knownCategory(f.Config, o.category); err != nil {
				return err
			}
			entries, problems, err := a.taskEntries(ctx, f.Reader, o)
			for _, p := range problems {
				a.warn(p.String())
			}
			return show(a, view.Tasks().JSON(entries), view.Task(), entries, err, "")
		}),
	}
	cmd.Flags().StringVar(&o.category, "category", "", "those of one `CATEGORY`")
	cmd.Flags().Var(&flagValue[fleet.TaskState]{&o.state, "STATE", "", fleet.ParseTaskState}, "state",
		"those in one `STATE`; waiting: also those that sessions left to a person")
	cmd.Flags().BoolVar(&o.all, "all", false, "done, cancelled and expired ones too")
	return cmd
}

// taskEntries are the tasks that are listed, and what is wrong in their sources.
func (a *app) taskEntries(ctx context.Context, f *survey.Reader, o taskListOptions) ([]view.TaskEntry, []fleet.TaskProblem, error) {
	tasks, problems, err := taskFolder(f.Config).List(ctx)
	if err != nil {
		return nil, nil, err
	}
	known, err := a.standings(ctx, f.Config, f.Store, f, tasks)
	return plain.Each(plain.Kept(tasks, o.keeps), func(t fleet.Task) view.TaskEntry {
		return view.TaskEntry{Task: t, Blocked: known.blocked[t.ID], StateFrom: known.from[t.ID]}
	}), problems, err
}

// keeps reports whether a task is to be listed.
func (o taskListOptions) keeps(t fleet.Task) bool {
	if o.category != "" && string(t.Category) != o.category {
		return false
	}
	switch {
	case o.state == fleet.StateWaiting:
		return t.WaitsForPerson()
	case o.state != "":
		return t.State == o.state
	}
	return o.all || !t.State.Settled() && t.State != fleet.StateExpired
}

func newTaskShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := taskNamed(args[0])
			if err != nil {
				return err
			}
			answer, err := a.ask(cmd.Context(), door.Request{Verb: door.TaskShow, Task: id})
			if err != nil {
				return err
			}
			t := view.TaskEntry(*answer.Task)
			a.say(view.Task().JSON(t), func(s screen.Style) []string {
				lines := view.Task().Sheet(t, a.Now(), screen.Style{Colour: s.Colour}) // whole, as it is to be copied
				if body := strings.Trim(t.Body, "\n"); body != "" {
					lines = append(lines, "", plain.Text(body))
				}
				return lines
			})
			return nil
		},
	}
}

// taskNamed is the id of a task that the command line names.
func taskNamed(arg string) (fleet.TaskID, error) {
	id, err := fleet.ParseTaskID(arg)
	return id, usage(err)
}
