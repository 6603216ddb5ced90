package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/selector"
	"stint/internal/store"
	"stint/internal/task"
	"stint/internal/wire"
)

func newTask(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "List, show, add, finish and retry tasks"}
	cmd.AddCommand(newTaskList(a), newTaskShow(a), newTaskAdd(a), newTaskDone(a), newTaskRetry(a))
	return cmd
}

// taskObject is stint/task@1.
type taskObject struct {
	Schema           string          `json:"schema"`
	ID               fleet.TaskID    `json:"id"`
	Title            string          `json:"title"`
	Category         fleet.Category  `json:"category"`
	State            fleet.TaskState `json:"state"`
	Priority         fleet.Priority  `json:"priority"`
	Created          *string         `json:"created"`
	Tags             []string        `json:"tags"`
	Requires         []string        `json:"requires"`
	Wait             *string         `json:"wait"`
	WaitingFor       string          `json:"waiting_for"`
	NextAction       string          `json:"next_action"`
	SuccessCriterion string          `json:"success_criterion"`
	AssignedTo       string          `json:"assigned_to"`
	Family           string          `json:"family"`
	Path             string          `json:"path"`
	Workable         bool            `json:"workable"`
	Blocked          string          `json:"blocked"`    // why an open task is not workable
	StateFrom        string          `json:"state_from"` // where its state is from, if its source says another
}

// standings are what is known of tasks beside what their sources say.
type standings struct {
	blocked map[fleet.TaskID]string // why an open task is not workable
	from    map[fleet.TaskID]string // where its state is from, if its source says another
}

func newTaskObject(t fleet.Task, s standings) taskObject {
	return taskObject{
		Schema: "stint/task@1", ID: t.ID, Title: t.Title, Category: t.Category, State: t.State, Priority: t.Priority,
		Created: wire.Time(t.Created), Tags: listOf(t.Tags), Requires: listOf(t.Requires), Wait: wire.Time(t.Wait),
		WaitingFor: t.WaitingFor, NextAction: t.NextAction, SuccessCriterion: t.SuccessCriterion,
		AssignedTo: t.AssignedTo, Family: t.Family, Path: t.Path,
		Workable: t.State.Workable() && s.blocked[t.ID] == "", Blocked: s.blocked[t.ID], StateFrom: s.from[t.ID],
	}
}

// listOf makes no list an empty one, for JSON.
func listOf(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// standings puts tasks in the states that are remembered of them, and says of those that
// are blocked why.
func (a *app) standings(ctx context.Context, c *config.Config, s store.Store, tasks []fleet.Task) (standings, error) {
	q := selector.Queue{Tasks: tasks, At: a.Now(), RaiseAfter: c.Tasks.RaiseAfter}
	known := standings{map[fleet.TaskID]string{}, map[fleet.TaskID]string{}}
	if s != nil {
		list, err := s.List(ctx, store.Listing{})
		if err != nil {
			return known, err
		}
		q.Held = a.desk(c, s).Held(ctx, list, q.At)
		snapshot, err := s.Snapshot(ctx)
		if err != nil {
			return known, err
		}
		q.Round = snapshot.Coming
		fleet.Recall(tasks, snapshot.Tasks)
		for _, t := range tasks {
			if t.Listed != "" {
				known.from[t.ID] = t.Memory.From(t)
			}
		}
	}
	_, blocked := q.Workable()
	for _, b := range blocked {
		known.blocked[b.Task.ID] = b.Reason
		if b.Claim != nil {
			known.blocked[b.Task.ID] = "claimed by " + string(b.Claim.Holder) + " until " + stamp(b.Claim.ExpiresAt)
		}
	}
	return known, nil
}

type taskListOptions struct {
	category string
	state    string
	all      bool
}

func newTaskList(a *app) *cobra.Command {
	var o taskListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the open tasks, and why some are blocked",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.taskList(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.category, "category", "", "those of one category")
	cmd.Flags().StringVar(&o.state, "state", "", "those in one state")
	cmd.Flags().BoolVar(&o.all, "all", false, "done, cancelled and expired ones too")
	return cmd
}

// keeps reports whether a task is to be listed.
func (o taskListOptions) keeps(t fleet.Task) bool {
	if o.category != "" && string(t.Category) != o.category {
		return false
	}
	if o.state != "" {
		return string(t.State) == o.state
	}
	return o.all || !t.State.Settled() && t.State != fleet.StateExpired
}

func (a *app) taskList(ctx context.Context, o taskListOptions) error {
	if o.state != "" {
		state, err := fleet.ParseTaskState(o.state)
		if err != nil {
			return usage(err)
		}
		o.state = string(state)
	}
	return a.withStore(ctx, reading, func(c *config.Config, s store.Store) error {
		if err := knownCategory(c, o.category); err != nil {
			return err
		}
		tasks, problems, err := taskFolder(c).List(ctx)
		if err != nil {
			return err
		}
		for _, p := range problems {
			fmt.Fprintf(leveled(a.Stderr, levelWarning), "stint: warning: %s\n", plain.Text(p.String()))
		}
		known, err := a.standings(ctx, c, s, tasks)
		if err != nil {
			return err
		}
		objects := []taskObject{}
		for _, t := range tasks {
			if o.keeps(t) {
				objects = append(objects, newTaskObject(t, known))
			}
		}
		a.printTasks(objects)
		return nil
	})
}

func (a *app) printTasks(objects []taskObject) {
	if a.json {
		printJSON(a.Stdout, struct {
			Schema string       `json:"schema"`
			Tasks  []taskObject `json:"tasks"`
		}{"stint/tasks@1", objects})
		return
	}
	rows := [][]string{{"TASK", "CATEGORY", "STATE", "PRIORITY", "TITLE"}}
	for _, t := range objects {
		title := t.Title
		if t.Blocked != "" {
			title += " [" + t.Blocked + "]"
		}
		if t.StateFrom != "" {
			title += " [" + t.StateFrom + "]"
		}
		rows = append(rows, []string{string(t.ID), string(t.Category), string(t.State), string(t.Priority), title})
	}
	if len(objects) > 0 {
		a.table(rows)
	}
}

func newTaskShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.taskShow(cmd.Context(), args[0])
		},
	}
}

func (a *app) taskShow(ctx context.Context, arg string) error {
	id, err := fleet.ParseTaskID(arg)
	if err != nil {
		return usage(err)
	}
	return a.withStore(ctx, reading, func(c *config.Config, s store.Store) error {
		folder := taskFolder(c)
		t, err := folder.Get(ctx, id)
		if err != nil {
			return err
		}
		tasks, _, err := folder.List(ctx)
		if err != nil {
			return err
		}
		known, err := a.standings(ctx, c, s, tasks)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(tasks, func(listed fleet.Task) bool { return listed.ID == t.ID }); i >= 0 {
			t.State = tasks[i].State
		}
		o := newTaskObject(t, known)
		if a.json {
			printJSON(a.Stdout, o)
			return nil
		}
		a.printTask(o, t.Body)
		return nil
	})
}

func (a *app) printTask(o taskObject, body string) {
	var rows [][]string
	for _, r := range [][2]string{
		{"task:", string(o.ID)},
		{"title:", o.Title},
		{"category:", string(o.Category)},
		{"state:", string(o.State)},
		{"state from:", o.StateFrom},
		{"blocked:", o.Blocked},
		{"priority:", string(o.Priority)},
		{"created:", deref(o.Created)},
		{"tags:", strings.Join(o.Tags, ", ")},
		{"requires:", strings.Join(o.Requires, ", ")},
		{"wait:", deref(o.Wait)},
		{"waiting for:", o.WaitingFor},
		{"next action:", o.NextAction},
		{"done when:", o.SuccessCriterion},
		{"assigned to:", o.AssignedTo},
		{"family:", o.Family},
		{"file:", o.Path},
	} {
		if r[1] != "" {
			rows = append(rows, []string{r[0], r[1]})
		}
	}
	a.table(rows)
	if body = strings.Trim(body, "\n"); body != "" {
		fmt.Fprintf(a.Stdout, "\n%s\n", plain.Text(body))
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

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
		printJSON(a.Stdout, newTaskObject(t, standings{}))
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
	return nil // what else is wrong with that task is told where tasks are listed
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

func newTaskRetry(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "retry TASK",
		Short: "Put a task back into the queue",
		Long: `Put a task back into the queue: its state in its file or tracker counts again, whatever
sessions left. A task waits for a person after three sessions in a row failed at it, or,
unless it is active, after two sessions worked on it without changing its state. This command
ends that, and so does a change of its file or item. It also ends the rest of a task whose
last session did nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.taskRetry(cmd.Context(), args[0], dryRun)
		},
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) taskRetry(ctx context.Context, arg string, dryRun bool) error {
	id, err := fleet.ParseTaskID(arg)
	if err != nil {
		return usage(err)
	}
	c, err := a.loadConfig()
	if err != nil {
		return err
	}
	_, unknown := taskFolder(c).Get(ctx, id)
	if errors.Is(unknown, fleet.ErrNotFound) {
		unknown = a.withNearest(ctx, c, unknown, arg)
		if there, err := a.hasStore(ctx, c); err != nil || !there { // one is not made for it
			return cmp.Or(err, unknown)
		}
	}
	return a.withStoreOf(ctx, c, accessFor(dryRun), func(_ *config.Config, s store.Store) error {
		found, err := s.Retry(ctx, id)
		if err == nil && !found && errors.Is(unknown, fleet.ErrNotFound) {
			return unknown // nothing was forgotten, as there is nothing of the name
		}
		if err != nil {
			return err
		}
		if a.json {
			printJSON(a.Stdout, struct {
				Schema  string       `json:"schema"`
				DryRun  bool         `json:"dry_run"`
				Task    fleet.TaskID `json:"task"`
				Changed bool         `json:"changed"`
			}{"stint/retry@1", dryRun, id, found})
			return nil
		}
		line := fmt.Sprintf("stint has forgotten what sessions left of %s: the state in its file, or its tracker, counts again", id)
		if !found {
			line = fmt.Sprintf("stint remembers nothing of %s: the state in its file, or its tracker, counts", id)
		}
		fmt.Fprintln(a.Stdout, plain.Text(line))
		return nil
	})
}

// withNearest adds to the error of a task that there is none of the task that was likely meant.
func (a *app) withNearest(ctx context.Context, c *config.Config, err error, name string) error {
	hint := "stint task list --all lists the tasks"
	if tasks, _, failed := taskFolder(c).List(ctx); failed == nil {
		var known []string
		for _, t := range tasks {
			known = append(known, string(t.ID))
		}
		if near := fleet.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
	}
	return fleet.WithHint(err, hint)
}

func newTaskDone(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "done TASK",
		Short: "Mark a task as done",
		Long: `Mark a task as done: in its file, with a commit of its own where git tracks the file, or
in its tracker by the command "done" of its source. A task that another holder has claimed
stays as it is: status 4.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.taskDone(cmd.Context(), args[0], dryRun)
		},
	}
	addDryRun(cmd, &dryRun)
	return cmd
}

func (a *app) taskDone(ctx context.Context, arg string, dryRun bool) error {
	id, err := fleet.ParseTaskID(arg)
	if err != nil {
		return usage(err)
	}
	holder, named, err := a.holder("")
	if err != nil {
		return err
	}
	return a.withEngine(ctx, accessFor(dryRun), nil, func(e *engine.Engine) (err error) {
		t, err := taskFolder(e.Config).Get(ctx, id)
		if err != nil {
			return err
		}
		hold := store.Hold{Key: id.Key(), Holder: holder}
		give, err := a.guard(ctx, e.Config, e.Store, &hold, named)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, give()) }()
		snapshot, err := e.Store.Snapshot(ctx)
		if err != nil {
			return err
		}
		found := []fleet.Task{t}
		fleet.Recall(found, snapshot.Tasks)
		t = found[0]
		changed := t.State != fleet.StateDone
		if !dryRun {
			if changed, err = e.GiveState(ctx, hold, t, fleet.StateDone); err != nil {
				return err
			}
			t.State = fleet.StateDone
		}
		a.tellDone(t, changed, dryRun)
		return nil
	})
}

// guard holds a task's claim while its file is written, so that no session is at
// it, and says at which epoch. A claim that the caller has already, such as an agent its own task's, is
// neither renewed nor given back.
func (a *app) guard(ctx context.Context, cfg *config.Config, s store.Store, h *store.Hold, named bool) (give func() error, err error) {
	c, err := s.Check(ctx, h.Key)
	if err != nil {
		return nil, err
	}
	if named && c.Holder == h.Holder && c.Current(a.Now()) {
		h.Epoch = c.Epoch
		return func() error { return nil }, nil
	}
	take := store.Take{Key: h.Key, Holder: h.Holder, TTL: time.Minute, Note: "stint task done"}
	grant, c, err := a.desk(cfg, s).Take(ctx, take)
	if err != nil {
		return nil, err
	}
	if grant == fleet.Denied {
		return nil, fleet.WithHint(fmt.Errorf("%s: %w", c.Denial(a.Now()), fleet.ErrHeld), "stint status shows the session that works on it")
	}
	h.Epoch = c.Epoch
	return func() error {
		_, err := s.Release(ctx, *h, fleet.EndingDone, "")
		if errors.Is(err, fleet.ErrLost) { // a dry run undid the take
			return nil
		}
		return err
	}, nil
}

func (a *app) tellDone(t fleet.Task, changed, dryRun bool) {
	switch {
	case a.json:
		printJSON(a.Stdout, newTaskObject(t, standings{}))
	case !changed:
		fmt.Fprintf(a.Stdout, "%s is done already\n", plain.Text(string(t.ID)))
	case dryRun:
		fmt.Fprintf(a.Stdout, "would mark %s as done\n", plain.Text(string(t.ID)))
	default:
		fmt.Fprintf(a.Stdout, "%s is done\n", plain.Text(string(t.ID)))
	}
}
