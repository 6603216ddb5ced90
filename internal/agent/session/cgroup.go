package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// cgroups is the mount point of the cgroup v2 tree.
const cgroups = "/sys/fs/cgroup"

// cgroup is the one of a session, by its path in that tree. Whatever its processes do to their parents, groups,
// sessions and environments, they stay in it. Out of it leads only the service manager, if the agent may ask it
// to start something.
type cgroup string

// Scopes is the service manager, for sessions that it did not start.
type Scopes interface {
	// Scope moves this process into a scope of its own.
	Scope(ctx context.Context, name string) error
}

// contain makes the cgroup of a session, below that of the unit. For a scope, this process moves into it first.
//
// If we die in here, nothing has started. The scope ends with us, and the empty cgroup goes with the unit.
func (r Runner) contain(ctx context.Context, run fleet.RunID, unit string) (cgroup, error) {
	if r.Scopes == nil {
		return "", errors.ErrUnsupported
	}
	// In it means clone3(2), which the filters of some containers refuse. Without arguments it does nothing else.
	if _, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0); errno == unix.ENOSYS {
		return "", errno
	}
	own, err := ownCgroup()
	if err == nil && path.Base(string(own)) != unit && strings.HasSuffix(unit, ".scope") {
		if err = r.Scopes.Scope(ctx, unit); err == nil {
			own, err = ownCgroup()
		}
	}
	if err == nil && path.Base(string(own)) != unit {
		err = fmt.Errorf("this process is in cgroup %s, and not in that of %s", own, unit)
	}
	if err != nil {
		return "", err
	}
	c := own.below(string(run))
	if err := os.Mkdir(c.file(""), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return c, unix.Access(c.file("cgroup.kill"), unix.W_OK) // which kernels before 5.14 lack
}

// Rejoin makes a cgroup below that of a session which this process ran, for a command that judges it. end ends what
// the command leaves. Without a cgroup it is nil, and what is left are orphans of this process.
//
// If we die before the end, the command is in the cgroup of the session all the same.
func Rejoin(run fleet.RunID) (at *os.File, end func() error, err error) {
	own, err := ownCgroup()
	if err != nil {
		return nil, tree{}.kill, nil //nolint:nilerr // there is none
	}
	c := own.below(string(run)).below("judge")
	at, err = c.begin()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tree{}.kill, nil
	}
	return at, func() error { return errors.Join(c.kill(), at.Close(), os.Remove(c.file(""))) }, err
}

// begin makes the cgroup and opens it, so that processes can be started in there. It must be new: Linux 6.14 kills
// whatever is started in one that was killed before.
func (c cgroup) begin() (*os.File, error) {
	_ = os.Remove(c.file("")) // that of an agent which could not go on with its conversation: it is empty
	if err := os.Mkdir(c.file(""), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(c.file(""), os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// ownCgroup is that of this process.
func ownCgroup() (cgroup, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		if group, unified := strings.CutPrefix(strings.TrimSpace(line), "0::"); unified {
			return cgroup(group), nil
		}
	}
	return "", errors.Join(err, errors.New("this process has no cgroup of version 2"))
}

func (c cgroup) below(name string) cgroup { return cgroup(path.Join(string(c), name)) }

func (c cgroup) file(name string) string { return filepath.Join(cgroups, string(c), name) }

// oomKills counts the processes that the kernel has killed for want of memory, in the unit of this process. Where the
// manager was not given the controller of memory, nobody counts them.
func oomKills() int {
	unit, _ := ownCgroup()
	text, _ := os.ReadFile(unit.file("memory.events"))
	return readOOM(string(text))
}

func readOOM(text string) (kills int) {
	for line := range strings.Lines(text) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			kills, _ = strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return kills
}

// members are the processes in it and below it.
func (c cgroup) members() (pids []int) {
	_ = filepath.WalkDir(c.file(""), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(name) != "cgroup.procs" {
			return nil //nolint:nilerr // a cgroup below it is gone
		}
		text, _ := os.ReadFile(name) // one of threads does not list processes
		for line := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(line); err == nil {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// holds reports whether a process is in it or below it.
func (c cgroup) holds(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return strings.Contains(string(text)+"\n", "0::"+string(c)+"\n") || strings.Contains(string(text), "0::"+string(c)+"/")
}

// populated reports whether a process is in it or below it. Zombies are none. In a cgroup that is gone, and in
// "", there is none.
func (c cgroup) populated() (bool, error) { return c.emptied(0) }

// kill ends all that is in it and below it, and waits until that is gone. In "" there is nothing: its file would be that
// of the tree's root, and end the whole of a container.
func (c cgroup) kill() error {
	if c == "" {
		return nil
	}
	err := os.WriteFile(c.file("cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	left, populated := c.emptied(deathTime)
	if err = errors.Join(err, populated); err == nil && left {
		err = fmt.Errorf("end what is in cgroup %s: %w", c, errStays)
	}
	return err
}

// emptied waits until nothing is in it or below it, for so long at most, and reports whether something is left.
func (c cgroup) emptied(most time.Duration) (left bool, err error) {
	if c == "" {
		return false, nil
	}
	f, err := os.Open(c.file("cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	text := make([]byte, 256) //nolint:mnd // it has two lines
	for {
		n, err := unix.Pread(int(f.Fd()), text, 0)
		if err != nil {
			return false, unlessGone(err)
		}
		if !strings.Contains(string(text[:n]), "populated 1") {
			return false, nil
		}
		changed, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLPRI}}, int(most.Milliseconds()))
		if changed == 0 && err == nil {
			return true, nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return true, err
		}
	}
}

// unlessGone is an error but for that of a cgroup that was removed while it was open.
func unlessGone(err error) error {
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
