package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"stint/internal/agent/command"
	"stint/internal/fleet"
)

// Source is a command that prints tasks.
type Source struct {
	Listing
	Command command.Command
	Calls   map[fleet.TaskCall][]string // programs that report to a task's tracker, with placeholders
}

// list runs the command. That it fails is a problem, and none of its tasks are known.
func (s Source) list(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem) {
	output, err := s.Command.Output(ctx)
	if err != nil {
		return nil, []fleet.TaskProblem{s.failure(err)}
	}
	tasks, problems := s.Parse(output)
	for i := range tasks {
		tasks[i].Source = s.Name
	}
	return tasks, problems
}

// Sources is the folder of task files together with the commands that print tasks of
// other places. Commands report the fate of their tasks to them ([Sources.Call]).
// Ids are kept apart by the first who has one: the folder, then the commands in
// their order; a later one of the same id is a problem and left out.
type Sources struct {
	Folder
	Commands []Source
}

// List reads every task, sorted by id, and says what could not be read. A command's error is a
// problem and stops nothing. The folder may be missing, with [fleet.ErrNotFound], only where
// there is no command.
func (s Sources) List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	tasks, problems, err := s.Folder.List(ctx)
	if len(s.Commands) > 0 && errors.Is(err, fleet.ErrNotFound) {
		err = nil // the tasks may all be elsewhere
	}
	if err != nil {
		return nil, nil, err
	}
	if len(s.Commands) > 0 {
		more, wrong := s.listCommands(ctx, tasks)
		tasks, problems = append(tasks, more...), append(problems, wrong...)
		slices.SortFunc(tasks, func(a, b fleet.Task) int { return cmp.Compare(a.ID, b.ID) })
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("list tasks: %w", err)
	}
	return tasks, problems, nil
}

// listCommands runs the commands at once and joins what they print, except for ids that
// are taken.
func (s Sources) listCommands(ctx context.Context, taken []fleet.Task) (tasks []fleet.Task, problems []fleet.TaskProblem) {
	type listing struct {
		tasks    []fleet.Task
		problems []fleet.TaskProblem
	}
	listings := make([]listing, len(s.Commands))
	var all sync.WaitGroup
	for i, source := range s.Commands {
		all.Go(func() { listings[i].tasks, listings[i].problems = source.list(ctx) })
	}
	all.Wait()
	owners := map[fleet.TaskID]string{}
	for _, t := range taken {
		owners[t.ID] = "a task file"
	}
	for i, source := range s.Commands {
		problems = append(problems, listings[i].problems...)
		for _, t := range listings[i].tasks {
			if owner, ok := owners[t.ID]; ok {
				problems = append(problems, source.problem(0, fmt.Errorf("the id %q is that of %s already", t.ID, owner)))
				continue
			}
			owners[t.ID] = "a task of " + source.Name
			tasks = append(tasks, s.place(t))
		}
	}
	return tasks, problems
}

// Get reads one task, of a command where the folder has none of that id:
// [fleet.ErrNotFound] when nobody has.
func (s Sources) Get(ctx context.Context, id fleet.TaskID) (fleet.Task, error) {
	t, err := s.Folder.Get(ctx, id)
	if len(s.Commands) == 0 || !errors.Is(err, fleet.ErrNotFound) {
		return t, err
	}
	tasks, problems := s.listCommands(ctx, nil)
	for _, t := range tasks {
		if t.ID == id {
			return t, nil
		}
	}
	for _, p := range problems {
		if p.Source != "" { // the task may be on its list
			return fleet.Task{}, fmt.Errorf("%w; %s", err, p)
		}
	}
	return fleet.Task{}, err
}
