package session

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
)

// trace leads to the processes that a dead supervisor left: by the session's cgroup, or else by the agent. It stands
// in a file that no box lets an agent write.
type trace struct {
	group cgroup
	agent int
	start uint64 // of the agent
}

func (t trace) String() string {
	if t.agent != 0 {
		return fmt.Sprintf("%d %d", t.agent, t.start)
	}
	return string(t.group)
}

// write writes down where the session of a run is.
func (t trace) write(path string) error {
	f, err := rundir.Make(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(t.String())
	return errors.Join(err, f.Close())
}

// traceOf reads where the session of a run is; nowhere, if nobody wrote it down.
func traceOf(state string, run fleet.RunID) trace {
	f, err := rundir.Open(fleet.FilesOf(state, run).Trace)
	if err != nil {
		return trace{}
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, unix.PathMax)) // half of it is none
	return readTrace(string(text), run)
}

func readTrace(text string, run fleet.RunID) (t trace) {
	if strings.HasPrefix(text, "/") {
		if path.Clean(text) == text && path.Base(text) == string(run) {
			t.group = cgroup(text)
		}
		return t
	}
	if n, err := fmt.Sscanf(text, "%d %d", &t.agent, &t.start); n != 2 || err != nil || t.agent < 2 {
		return trace{}
	}
	return t
}

// left reports whether a process of the session lives.
func (t trace) left() (bool, error) {
	if t.agent != 0 {
		p, there := readProcess(t.agent)
		return there && p.start == t.start && !p.dead, nil
	}
	return t.group.populated()
}

// end ends what is left of the session.
func (t trace) end() error {
	if t.agent == 0 {
		return t.group.kill()
	}
	same := func(pid int) bool { p, there := readProcess(pid); return there && p.start == t.start }
	return open(t.agent, same, func(fd int) error {
		_ = unix.Kill(-t.agent, unix.SIGKILL) // its number is the group's while we hold it
		return died(fd)
	})
}
