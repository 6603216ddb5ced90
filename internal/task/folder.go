// Package task holds the tasks and the lessons of a fleet as they are kept: in Markdown files with
// YAML front matter, one file each. It reads both and writes tasks; tasks of other places are printed
// by commands. An id is the file's stem or, in the folders of others, what its name begins with.
//
// It owns the shape of those files and nothing else. It never decides whether a task may be worked or
// which session gets a lesson. It never checks a task's category against the configuration, and never
// changes a byte that it was not asked to change. A file that cannot be read is reported, by name and
// line, and stops nothing.
//
// Files are replaced whole, so a reader sees the old one or the new one. Two writers of one task are
// not kept apart: the caller must hold the task's claim before [Folder.SetState].
//
// Files are hostile until read: their size, the parser's time and what aliases expand to are bounded.
// A FIFO is refused and not waited for. Each fault names its file and line, and what to do.
package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"stint/internal/fleet"
)

const extension = ".md"

// errAbsent is a file that does not exist, errIgnored one that is there and is
// none of ours. Neither leaves the package.
var (
	errAbsent  = errors.New("no such file")
	errIgnored = errors.New("not a task file")
)

// Folder is a folder of task files, and of folders with more. Dot-files and files not named
// *.md are ignored; so are a README.md without front matter, and the files of folders below without a state. Tasks that
// the format's program has put away are read, and none is workable.
type Folder struct {
	Dir             string                    // absolute
	Top             string                    // below this folder no link is followed, see [TopOf]; empty: all are
	DefaultCategory fleet.Category            // of a task that nothing else places
	Tags            map[string]fleet.Category // of a task that names no category: its first tag found here decides
	Format          Format                    // of its files; the zero value is stint's
}

// List reads every task but its body, sorted by id, and says of every file that is
// not one why not, sorted by path. A folder that does not exist is
// [fleet.ErrNotFound].
func (f Folder) List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	var problems []fleet.TaskProblem
	var bad *fileError // outside the loop: it is on the heap
	names, err := f.taskNames()
	if errors.As(err, &bad) {
		problems = append(problems, bad.TaskProblem)
	} else if err != nil {
		return nil, nil, fmt.Errorf("list tasks: %w", f.missing(err))
	}
	tasks, errs, err := f.scan(ctx, names)
	if err != nil {
		return nil, nil, fmt.Errorf("list tasks: %w", err)
	}
	n := 0
	for i, err := range errs {
		switch {
		case err == nil:
			tasks[n] = tasks[i]
			n++
		case errors.As(err, &bad):
			bad.Task = fleet.TaskID(f.Format.id(bad.Path))
			problems = append(problems, bad.TaskProblem)
		}
	}
	tasks = tasks[:n]
	slices.SortFunc(tasks, func(a, b fleet.Task) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(f.away(a), f.away(b)), cmp.Compare(a.Path, b.Path))
	})
	tasks, problems = f.distinct(tasks, problems)
	return tasks, problems, nil
}

// distinct leaves out each task whose id another has: of two names that begin with one
// id, nobody can know which is meant. A task that was put away gives way without a problem.
func (f Folder) distinct(tasks []fleet.Task, problems []fleet.TaskProblem) ([]fleet.Task, []fleet.TaskProblem) {
	n := 0
	for i, t := range tasks {
		if i == 0 || t.ID != tasks[n-1].ID {
			tasks[n] = t
			n++
			continue
		}
		if f.away(t) == 0 {
			bad := newError(t.Path, 0, "the id %q is that of %s already: rename one", t.ID, filepath.Base(tasks[n-1].Path))
			problems = append(problems, bad.TaskProblem)
		}
	}
	return tasks[:n], problems
}

// away is 0 for a task of the folder itself, and 1 for one that was put away.
func (f Folder) away(t fleet.Task) int {
	if dir, err := filepath.Rel(f.Dir, filepath.Dir(t.Path)); err == nil && f.Format.isArchive(dir) {
		return 1
	}
	return 0
}

// Has reports whether a file has the id by its name. It reads no file, and lists folders only where the
// folder of tasks itself has none of that name.
func (f Folder) Has(id fleet.TaskID) bool {
	path, err := f.path(id)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err == nil
}

// Get reads one task with its body: [fleet.ErrNotFound] when there is none of that id,
// [fleet.ErrUsage] when there can be none, and an error that names file and line
// when the file is not a task.
func (f Folder) Get(ctx context.Context, id fleet.TaskID) (fleet.Task, error) {
	if err := ctx.Err(); err != nil {
		return fleet.Task{}, fmt.Errorf("read task %q: %w", id, err)
	}
	path, err := f.path(id)
	if err != nil {
		return fleet.Task{}, fmt.Errorf("read task: %w", err)
	}
	task, err := f.read(path)
	if err != nil {
		return fleet.Task{}, fmt.Errorf("read task %q: %w", id, notFound(err))
	}
	return task, nil
}

// Body reads the body of a task that was listed. A task of another source has the one
// that it was listed with.
func (f Folder) Body(ctx context.Context, t fleet.Task) (string, error) {
	if !filepath.IsAbs(t.Path) {
		return t.Body, nil
	}
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("read task %q: %w", t.ID, err)
	}
	t, err := f.read(t.Path)
	if err != nil {
		return "", fmt.Errorf("read task: %w", notFound(err))
	}
	return t.Body, nil
}

func (f Folder) read(path string) (fleet.Task, error) {
	data, info, err := f.readTaskFile(path)
	if err != nil {
		return fleet.Task{}, err
	}
	d, task, err := f.Format.parse(path, data)
	if err != nil {
		return fleet.Task{}, err
	}
	if f.below(path) && d.field(f.Format.name(fleet.FieldState)) == nil {
		return fleet.Task{}, errIgnored // notes are kept in such folders, and a note is no work
	}
	task.Modified = changed(info)
	return f.place(task), nil
}

// below reports whether a file is in a folder below that of tasks, and not among those that were put away.
func (f Folder) below(path string) bool {
	dir, err := filepath.Rel(f.Dir, filepath.Dir(path))
	return err == nil && dir != "." && filepath.IsLocal(dir) && !f.Format.isArchive(dir)
}

// changed is from when on a file is as it is, by the kernel's clock: anybody can set the other time.
func changed(info fs.FileInfo) time.Time {
	return time.Unix(info.Sys().(*syscall.Stat_t).Ctim.Unix()).UTC()
}

// place gives a task that names no category the one its tags, or else the
// folder, give it, and one that was put away a state in which it is not worked on.
func (f Folder) place(t fleet.Task) fleet.Task {
	if len(f.Format.archives()) > 0 && t.Path != "" {
		if dir, err := filepath.Rel(f.Dir, filepath.Dir(t.Path)); err == nil {
			t.State = f.Format.stateIn(dir, t.State)
		}
	}
	for _, tag := range t.Tags {
		if t.Category == "" {
			t.Category = f.Tags[tag]
		}
	}
	t.Category = cmp.Or(t.Category, f.DefaultCategory)
	return t
}

// path returns the path at which the task of that id is, or would be.
func (f Folder) path(id fleet.TaskID) (string, error) {
	if _, err := fleet.ParseTaskID(string(id)); err != nil {
		return "", usage(err, "stint task list shows the ids there are")
	}
	name := string(id) + extension
	if !isTaskName(name) {
		return "", notFound(errIgnored)
	}
	path := filepath.Join(f.Dir, name)
	if _, err := os.Lstat(path); err == nil && f.Format.Name != fleet.FormatBacklog {
		return path, nil
	}
	switch known, err := f.named(id); {
	case err == nil:
		path = filepath.Join(f.Dir, known)
	case f.Format.Name == fleet.FormatBacklog || !errors.Is(err, fleet.ErrNotFound):
		return "", err
	}
	return path, nil
}

// named is the first file that has the id by its name, which [Folder.List] lists.
func (f Folder) named(id fleet.TaskID) (string, error) {
	names, err := f.taskNames()
	if errors.Is(err, fs.ErrNotExist) {
		return "", notFound(errAbsent)
	}
	if err != nil {
		return "", err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return f.Format.id(name) != string(id) })
	for _, name := range names {
		if filepath.Base(name) == name {
			return name, nil
		}
	}
	if len(names) == 0 {
		return "", notFound(errAbsent)
	}
	return names[0], nil
}

func (f Folder) missing(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fleet.WithHint(
		fmt.Errorf("folder %s: %w", f.Dir, fleet.ErrNotFound),
		fmt.Sprintf("mkdir -p %q, or set dir under [tasks] in stint.toml", f.Dir),
	)
}

func isTaskName(name string) bool {
	return strings.HasSuffix(name, extension) && !strings.HasPrefix(name, ".")
}

func notFound(err error) error {
	if errors.Is(err, errAbsent) || errors.Is(err, errIgnored) {
		return fleet.WithHint(fleet.ErrNotFound, "stint task list")
	}
	return err
}

func usage(err error, hint string) error {
	return fleet.WithHint(fmt.Errorf("%w: %w", fleet.ErrUsage, err), hint)
}

// readTaskFile is readFile. What is ignored without front matter is an error, and so is a conflict copy: an agent would work on it,
// and whoever has the folder would merge it away.
func (f Folder) readTaskFile(path string) ([]byte, fs.FileInfo, error) {
	if isConflictCopy(filepath.Base(path)) {
		return nil, nil, newError(path, 0, "a conflict copy of a program that syncs folders: merge it into its original and remove it")
	}
	data, info, err := f.readFile(path)
	if err == nil && (isReadme(path, data) || f.below(path) && !hasFrontMatter(data)) {
		return nil, nil, errIgnored
	}
	return data, info, err
}

func isConflictCopy(name string) bool {
	return strings.Contains(name, "conflicted copy") || strings.Contains(name, ".sync-conflict-")
}

func isReadme(path string, data []byte) bool {
	return filepath.Base(path) == "README.md" && !hasFrontMatter(data)
}
