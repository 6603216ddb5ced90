package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

// supervised reports whether the process that began a run is still there: whether it has
// the run's lock open, which no other process of that number would. Files are compared, not
// their names: of a state folder there may be several.
func supervised(r fleet.Run, files fleet.RunFiles) bool {
	return r.PID != 0 && len(opened(r.PID, files.Alive)) > 0
}

// opened are the descriptors by which a process has a file open.
func opened(pid int, path string) []string {
	file, err := os.Stat(path)
	if err != nil {
		return nil
	}
	descriptors, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // its pattern is sound
	return slices.DeleteFunc(descriptors, func(d string) bool {
		open, err := os.Stat(d)
		return err != nil || !os.SameFile(open, file)
	})
}

// suspended reports whether a run has a supervisor that a signal has stopped, as Ctrl-Z does:
// it keeps neither its claim nor its time.
func suspended(r fleet.Run, files fleet.RunFiles) bool {
	p, there := readProcess(r.PID)
	return there && p.stopped && supervised(r, files)
}
