// Package task reads and writes tasks kept as Markdown files with YAML front
// matter, one file a task, the id being the file's stem.
//
// It owns the shape of those files and nothing else: it never decides whether a
// task may be worked, never checks a category against the configuration, and
// never changes a byte it was not asked to change. A file that cannot be read is
// told of, by name and line, and stops nothing. Files are replaced whole, so a
// reader sees the old one or the new one; but two writers of one task are not
// kept apart, so the caller must hold the task's claim before [Folder.SetState].
package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"stint/internal/fleet"
)

const extension = ".md"

// errAbsent is a file that does not exist, errIgnored one that is there and is
// none of ours. Neither leaves the package.
var (
	errAbsent  = errors.New("no such file")
	errIgnored = errors.New("not a task file")
)

// Folder is a folder of task files. Sub-folders, dot-files and files not named
// *.md are ignored, and so is a README.md without front matter.
type Folder struct {
	Dir             string                    // absolute
	DefaultCategory fleet.Category            // of a task that nothing else places
	Tags            map[string]fleet.Category // of a task that names no category: its first tag found here decides
}

// List reads every task, sorted by id, and says of every file that is not one
// why not, sorted by path. A folder that does not exist is [fleet.ErrNotFound].
func (f Folder) List(ctx context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("list tasks: %w", f.missing(err))
	}
	var tasks []fleet.Task
	var problems []fleet.TaskProblem
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("list tasks: %w", err)
		}
		task, err := f.readEntry(entry)
		var bad *problem
		switch {
		case err == nil:
			tasks = append(tasks, task)
		case errors.As(err, &bad):
			problems = append(problems, bad.TaskProblem)
		}
	}
	slices.SortFunc(tasks, func(a, b fleet.Task) int { return cmp.Compare(a.ID, b.ID) })
	return tasks, problems, nil
}

// Get reads one task: [fleet.ErrNotFound] when there is none of that id,
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

// readEntry reads a task the folder lists. A file deleted since is ignored; a
// link that leads nowhere is a problem.
func (f Folder) readEntry(entry fs.DirEntry) (fleet.Task, error) {
	if entry.IsDir() || !isTaskName(entry.Name()) {
		return fleet.Task{}, errIgnored
	}
	path := filepath.Join(f.Dir, entry.Name())
	task, err := f.read(path)
	if errors.Is(err, errAbsent) && entry.Type()&fs.ModeSymlink != 0 {
		return fleet.Task{}, newProblem(path, 0, "the link leads nowhere: mend it or remove it")
	}
	return task, err
}

func (f Folder) read(path string) (fleet.Task, error) {
	data, _, err := readTaskFile(path)
	if err != nil {
		return fleet.Task{}, err
	}
	task, err := Parse(path, data)
	if err != nil {
		return fleet.Task{}, err
	}
	return f.place(task), nil
}

// place gives a task that names no category the one its tags, or else the
// folder, give it.
func (f Folder) place(t fleet.Task) fleet.Task {
	for _, tag := range t.Tags {
		if t.Category == "" {
			t.Category = f.Tags[tag]
		}
	}
	t.Category = cmp.Or(t.Category, f.DefaultCategory)
	return t
}

// path is where the task of that id is, or would be.
func (f Folder) path(id fleet.TaskID) (string, error) {
	if _, err := fleet.ParseTaskID(string(id)); err != nil {
		return "", usage(err, "stint task list shows the ids there are")
	}
	name := string(id) + extension
	if !isTaskName(name) {
		return "", notFound(errIgnored)
	}
	return filepath.Join(f.Dir, name), nil
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

// readTaskFile is readFile but for a README.md that is only that.
func readTaskFile(path string) ([]byte, fs.FileMode, error) {
	data, perm, err := readFile(path)
	if err == nil && filepath.Base(path) == "README.md" && !hasFrontMatter(data) {
		return nil, 0, errIgnored
	}
	return data, perm, err
}

// readFile reads at most one byte more than a task file may have, and the
// permission bits. It opens without blocking, so that a FIFO without a writer
// is refused and not waited for.
func readFile(path string) ([]byte, fs.FileMode, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		return nil, 0, errAbsent
	case err != nil:
		return nil, 0, unreadable(path, err)
	}
	defer file.Close() // Only read: nothing can be lost.
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, 0, unreadable(path, err)
	case info.IsDir():
		return nil, 0, errIgnored
	case !info.Mode().IsRegular():
		return nil, 0, newProblem(path, 0, "not a regular file: move it out of the folder")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, 0, unreadable(path, err)
	}
	return data, info.Mode().Perm(), nil
}
