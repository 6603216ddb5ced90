package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// leftovers are the processes that carry the id of one of these runs in their environment, other
// than this one, by run. Every process of a session inherits it from the agent, whatever group,
// session or parent it has moved to, and whatever descriptors it has closed; one that
// cleared its environment is not found.
//
// It looks again while processes have come since the look before: one that starts the
// next and ends, again and again, would else slip through between being listed and read.
func leftovers(runs ...fleet.RunID) (map[fleet.RunID][]int, error) {
	asked, left := map[fleet.RunID]bool{}, map[fleet.RunID][]int{}
	for _, run := range runs {
		asked[run] = true
	}
	seen := map[int]bool{os.Getpid(): true}
	for range looks {
		pids, err := processes()
		if err != nil {
			return nil, err
		}
		settled := true
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			settled = false
			marks, readable := readMarks(pid)
			for _, run := range marks {
				if asked[run] {
					left[run] = append(left[run], pid)
				}
			}
			seen[pid] = readable
		}
		if settled || len(left) == len(asked) {
			return left, nil
		}
		time.Sleep(pause) //nolint:forbidigo // 16 ms at most, and no event to wait for
	}
	return left, nil
}

func leftoversOf(run fleet.RunID) ([]int, error) {
	left, err := leftovers(run)
	return left[run], err
}

const (
	// looks bounds how often leftovers looks on a machine that starts processes all the
	// time. Half of the looks at a chain of short-lived ones find it.
	looks = 8
	// pause lets a process get on that was found half-way through execve(2).
	pause = 2 * time.Millisecond
)

func processes() (pids []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// marked reports whether a process carries a run's id.
func marked(pid int, run fleet.RunID) bool {
	marks, _ := readMarks(pid)
	return slices.Contains(marks, run)
}

// readMarks are the ids of runs that a process carries, and whether they could be read.
// They cannot for an instant of execve(2), when the process has a program and no
// environment yet; one that is gone, a zombie or another user's has nothing to read.
func readMarks(pid int) (marks []fleet.RunID, readable bool) {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err == nil && len(environment) == 0 {
		_, err = os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return nil, err != nil
	}
	if err != nil {
		return nil, true
	}
	for variable := range bytes.SplitSeq(environment, []byte{0}) {
		if id, found := bytes.CutPrefix(variable, []byte("STINT_RUN_ID=")); found && len(id) > 0 { // empty, it is nobody's
			marks = append(marks, fleet.RunID(id))
		}
	}
	return marks, true
}

// maxSweeps bounds how often leftovers are looked for: one that forks all the time may
// have a new child at each look.
const maxSweeps = 100

// Sweep kills a run's leftovers until none is left.
func Sweep(run fleet.RunID) error {
	return sweep(run, func() ([]int, error) { return leftoversOf(run) }, func(pid int) bool { return marked(pid, run) })
}

// end kills a run's leftovers, and then any others that have its lock: one that cleared its
// environment and left the unit may have inherited that, and keeps the lane with it. The run's
// supervisor is gone by then.
func end(run fleet.RunID, alive string) error {
	if err := Sweep(run); err != nil {
		return err
	}
	return sweep(run, func() ([]int, error) { return holders(alive) }, func(pid int) bool { return holds(pid, alive) })
}

func sweep(run fleet.RunID, find func() ([]int, error), theirs func(pid int) bool) error {
	for range maxSweeps {
		pids, err := find()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := kill(pid, theirs); err != nil && !errors.Is(err, errStays) { // one that stays is found again
				return err
			}
		}
	}
	return fmt.Errorf("kill what is left of run %s: it forks faster than it dies", run)
}

// holders are the processes that have inherited a run's lock.
func holders(alive string) ([]int, error) {
	pids, err := processes()
	return slices.DeleteFunc(pids, func(pid int) bool { return !holds(pid, alive) }), err
}

// holds reports whether a process has inherited a run's lock: it is open for writing there.
// A process that asks whether the run lives has it open as well, for an instant and for
// reading.
func holds(pid int, alive string) bool {
	return slices.ContainsFunc(opened(pid, alive), func(descriptor string) bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(descriptor)))
		_, flags, _ := strings.Cut(string(text), "flags:")
		fields := strings.Fields(flags)
		if err != nil || len(fields) == 0 {
			return false
		}
		how, err := strconv.ParseUint(fields[0], 8, 32)
		return err == nil && how&unix.O_ACCMODE == unix.O_RDWR
	})
}

// opened are the descriptors by which a process has a file open. Files are compared, not their
// names: of a state folder there may be several.
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
