package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Again reads a listed task once more where it is from: its file, or the list that it is
// an item of. One that is not there any more is [fleet.ErrNotFound]; of a list that
// cannot be read nobody knows, and the error is another.
func (s Sources) Again(ctx context.Context, t fleet.Task) (fleet.Task, error) {
	if t.Source == "" {
		return s.Folder.Get(ctx, t.ID)
	}
	source, err := s.source(t.Source)
	if err != nil {
		return fleet.Task{}, err
	}
	tasks, problems := source.list(ctx)
	for _, again := range tasks {
		if again.ID == t.ID {
			return s.place(again), nil
		}
	}
	if len(problems) > 0 {
		return fleet.Task{}, fmt.Errorf("read task %q again: %s", t.ID, problems[0])
	}
	return fleet.Task{}, fmt.Errorf("task %q in %s: %w", t.ID, t.Source, fleet.ErrNotFound)
}

// StateAt is the state that a task's file has at another path, where it is a copy: a path that
// has no link in it.
func (s Sources) StateAt(path string) (fleet.TaskState, error) {
	s.Top = "/"
	t, err := s.read(path)
	return t.State, err
}

// Call reports to a tracker on one of its items, by the command that the configuration has
// for that. Without one there is nothing to do.
//
// If we die in it, the command may have done its work or not: the caller knows that it
// began, and calls once more. So the command must bear to be called twice.
func (s Sources) Call(ctx context.Context, what fleet.TaskCall, t fleet.Task, run fleet.RunID, reason string) error {
	source, err := s.source(t.Source)
	if err != nil || len(source.Calls[what]) == 0 {
		return err
	}
	program := source.Command
	if program.Argv, err = filled(source.Calls[what], t, run, reason); err == nil {
		_, err = program.Output(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s of task %q: %w", what, t.ID, err)
	}
	return nil
}

func (s Sources) source(name string) (Source, error) {
	i := slices.IndexFunc(s.Commands, func(c Source) bool { return c.Name == name })
	if i < 0 {
		return Source{}, fmt.Errorf("[tasks.source.%s]: %w", name, fleet.ErrNotFound)
	}
	return s.Commands[i], nil
}

// maxCallReason is as much of a reason as goes into an argument.
const maxCallReason = 1000

var errOption = errors.New("it would be read as an option")

// filled is a command's words with its placeholders filled in, except for the program. Trackers
// hold what others wrote, so that no value makes an option of a word that was none: an id
// that would is refused, and before a text that would goes a space.
func filled(words []string, t fleet.Task, run fleet.RunID, reason string) ([]string, error) {
	values := strings.NewReplacer(
		"{id}", t.Item, "{run}", string(run), "{title}", guarded(t.Title), "{reason}", guarded(cmp.Or(reason, "done")))
	argv := slices.Clone(words)
	for i, word := range words[1:] {
		argv[i+1] = values.Replace(word)
		if strings.HasPrefix(argv[i+1], "-") && !strings.HasPrefix(word, "-") {
			return nil, fmt.Errorf("id %q: %w", t.Item, errOption)
		}
	}
	return argv, nil
}

func guarded(text string) string {
	text = strings.TrimSpace(plain.Short(plain.Line(text), maxCallReason))
	if strings.HasPrefix(text, "-") {
		return " " + text
	}
	return text
}
