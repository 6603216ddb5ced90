package session

import (
	"fmt"
	"os"
	"path/filepath"

	"stint/internal/fleet"
)

// Supervised reports whether the process that began a run is still there: whether it has
// the run's lock open, which no other process of that number would.
func Supervised(r fleet.Run, files fleet.RunFiles) bool {
	if r.PID == 0 {
		return false
	}
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.PID))
	if err != nil {
		return false
	}
	for _, d := range descriptors {
		if target, err := os.Readlink(d); err == nil && target == files.Alive {
			return true
		}
	}
	return false
}
