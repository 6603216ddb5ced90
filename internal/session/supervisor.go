package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
)

// Supervised reports whether the process that began a run is still there: whether it has
// the run's lock open, which no other process of that number would. Files are compared, not
// their names: of a state folder there may be several.
func Supervised(r fleet.Run, files fleet.RunFiles) bool {
	if r.PID == 0 {
		return false
	}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.PID))
	if err != nil {
		return false
	}
	alive, err := os.Stat(files.Alive)
	return err == nil && slices.ContainsFunc(descriptors, func(d string) bool {
		open, err := os.Stat(d)
		return err == nil && os.SameFile(open, alive)
	})
}

// Suspended reports whether a run has a supervisor that a signal has stopped, as Ctrl-Z does:
// it keeps neither its claim nor its time.
func Suspended(r fleet.Run, files fleet.RunFiles) bool {
	p, there := readProcess(r.PID)
	return there && p.stopped && Supervised(r, files)
}
