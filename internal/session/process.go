package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// process is what the kernel says of a process in /proc/PID/stat.
type process struct {
	pid, parent, group, session int
	start                       uint64 // in ticks since the machine's; with pid, who it is
	dead                        bool   // a zombie
	stopped                     bool   // by a signal, until another has it go on
}

// readProcess reports false for a process that is gone.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseProcess(pid, text)
}

// parseProcess reads what proc_pid_stat(5) describes. The name in parentheses may hold
// anything, also parentheses.
func parseProcess(pid int, text []byte) (process, bool) {
	const state, parent, group, session, threads, start, least = 0, 1, 2, 3, 17, 19, 20
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < least {
		return process{}, false
	}
	var err error
	number := func(at int) int {
		n, e := strconv.Atoi(string(fields[at]))
		err = errors.Join(err, e)
		return n
	}
	p := process{pid: pid, parent: number(parent), group: number(group), session: number(session)}
	// One whose first thread ended looks like a zombie and works on in its others.
	p.dead = fields[state][0] == 'X' || fields[state][0] == 'Z' && number(threads) <= 1
	p.stopped = fields[state][0] == 'T'
	ticks, e := strconv.ParseUint(string(fields[start]), 10, 64)
	p.start = ticks
	return p, errors.Join(err, e) == nil
}

// listProcesses are all processes there are.
func listProcesses() ([]process, error) {
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	var list []process
	for _, pid := range pids {
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
		}
	}
	return list, nil
}

// same reports whether the number is still this process's.
func (p process) same(pid int) bool {
	now, ok := readProcess(pid)
	return ok && now.start == p.start
}

// signal sends the process a signal.
func (p process) signal(s unix.Signal) error {
	return open(p.pid, p.same, func(fd int) error { return unix.PidfdSendSignal(fd, s, nil, 0) })
}

func (p process) kill() error { return kill(p.pid, p.same) }

// deathMillis is how long one killed process is waited for. It is gone in well under a
// millisecond, unless the kernel is at something that cannot be interrupted.
const deathMillis = 1000

var errStays = fmt.Errorf("it does not end within %d ms", deathMillis)

// kill ends a process that is the one meant, and waits until it is gone.
func kill(pid int, meant func(pid int) bool) error {
	return open(pid, meant, func(fd int) error {
		if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
			return err
		}
		ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, deathMillis)
		if err == nil && ended == 0 {
			return errStays
		}
		if errors.Is(err, unix.EINTR) {
			return nil // whether it ended is looked at anyway
		}
		return err
	})
}

// open calls fn with a descriptor of a process that is the one meant, so that no other is hit that
// was given its number meanwhile. It is no error that it is gone.
func open(pid int, meant func(pid int) bool, fn func(fd int) error) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		if !meant(pid) {
			return nil
		}
		err = fn(fd)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	return nil
}
