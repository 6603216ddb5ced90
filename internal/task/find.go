package task

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

// looks is how many files of a folder are looked at to know whose they are: the first that
// anybody wrote decides.
const looks = 50

// Find is the folder of tasks that a workspace has already, relative to it, and its
// format; both are empty where it has none, or stint's own.
func Find(workspace string) (dir string, format fleet.TaskFormat) {
	for _, dir := range []string{"backlog", ".backlog"} {
		tasks := filepath.Join(dir, "tasks")
		if exists(filepath.Join(workspace, tasks)) || exists(filepath.Join(workspace, dir, "config.yml")) {
			return tasks, fleet.FormatBacklog
		}
	}
	if exists(filepath.Join(workspace, "gptme.toml")) && exists(filepath.Join(workspace, "tasks")) || likeGptme(filepath.Join(workspace, "tasks")) {
		return "tasks", fleet.FormatGptme
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// likeGptme reports whether a task in the folder has what only gptme's have.
func likeGptme(dir string) bool {
	folder, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer folder.Close() // Only read: nothing can be lost.
	names, err := folder.Readdirnames(looks)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool { return isTaskName(name) && gptmeFile(filepath.Join(dir, name)) })
}

func gptmeFile(path string) bool {
	data, _, err := Folder{}.readFile(path)
	if err != nil {
		return false
	}
	d, err := newDocument("task", path, data)
	if err != nil || d.field("state") == nil {
		return false
	}
	return slices.ContainsFunc([]string{"task_type", "tracking", "pool", "waiting_since"}, func(field string) bool {
		return d.field(field) != nil
	})
}
