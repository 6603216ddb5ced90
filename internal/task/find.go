package task

import (
	"os"
	"path/filepath"

	"stint/internal/fleet"
)

// Find is the folder of tasks that a workspace has already, relative to it, and its
// format; both are empty where it has none, or stint's own.
func Find(workspace string) (dir string, format fleet.TaskFormat) {
	for _, dir := range []string{"backlog", ".backlog"} {
		tasks := filepath.Join(dir, "tasks")
		if exists(filepath.Join(workspace, tasks)) || exists(filepath.Join(workspace, dir, "config.yml")) {
			return tasks, fleet.FormatBacklog
		}
	}
	if exists(filepath.Join(workspace, "gptme.toml")) && exists(filepath.Join(workspace, "tasks")) {
		return "tasks", fleet.FormatGptme
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
