package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// process has the fields of /proc/PID/stat.
type process struct {
	start   uint64 // in ticks since the machine's; with its number, who it is
	dead    bool   // a zombie
	stopped bool   // by a signal, until another has it go on
}

// readProcess reports false for a process that is gone.
func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	return parseProcess(text)
}

// parseProcess reads what proc_pid_stat(5) describes. The name in parentheses may hold
// anything, also parentheses.
func parseProcess(text []byte) (process, bool) {
	const state, threads, start, least = 0, 17, 19, 20
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < least {
		return process{}, false
	}
	ticks, err := strconv.ParseUint(string(fields[start]), 10, 64)
	// One whose first thread ended looks like a zombie and works on in its others.
	alone := string(fields[threads]) == "0" || string(fields[threads]) == "1"
	return process{
		start: ticks, dead: fields[state][0] == 'X' || fields[state][0] == 'Z' && alone, stopped: fields[state][0] == 'T',
	}, err == nil
}

// deathTime bounds the wait for killed processes. They are gone within milliseconds,
// unless the kernel is at something that cannot be interrupted.
const deathTime = time.Second

var errStays = fmt.Errorf("it does not end within %v", deathTime)

// died waits until a process that was killed has ended.
func died(fd int) error {
	ended, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(deathTime.Milliseconds()))
	if err == nil && ended == 0 {
		return errStays
	}
	if errors.Is(err, unix.EINTR) {
		return nil // whether it ended is looked at anyway
	}
	return err
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
