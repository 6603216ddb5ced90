package session

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tree is the processes of one session: those in its cgroup. Without one, this process is the reaper of its
// descendants, and they are the agent and the orphans that it was given. The agent leads a session of its own,
// which this process's other children do not leave.
type tree struct {
	leader int             // the agent; not reaped before the tree is gone, so that its number stays its own. 0: it was
	ended  <-chan struct{} // closed when the agent has ended
	group  cgroup          // empty: there is none
}

// left reports whether any of it lives.
func (t tree) left() (bool, error) {
	if t.group != "" {
		return t.group.populated()
	}
	living, err := t.adopted()
	return len(living) > 0, err
}

// adopted are the agent, unless it has ended, and its orphans. Processes that have ended are reaped.
func (t tree) adopted() (living []int, err error) {
	own, err := unix.Getsid(0)
	if err != nil {
		return nil, fmt.Errorf("read own session: %w", err)
	}
	// A process that ended may have left a child since the list was read: only a look that reaps none is the last word.
	for reaped := true; reaped; {
		living, reaped = nil, false
		children, err := children()
		if err != nil {
			return nil, err
		}
		for _, pid := range children {
			session, err := unix.Getsid(pid)
			if err != nil || session == own {
				continue
			}
			if pid == t.leader {
				select {
				case <-t.ended:
				default:
					living = append(living, pid)
				}
				continue
			}
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
				reaped = true
			} else {
				living = append(living, pid)
			}
		}
		reaped = reaped && len(living) == 0
	}
	return living, nil
}

// children are this process's, zombies too.
func children() (pids []int, err error) {
	lists, err := filepath.Glob("/proc/self/task/*/children") // its pattern is sound
	if err != nil || len(lists) == 0 {
		return nil, errors.Join(err, errors.New("this kernel does not list the children of processes"))
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // of a thread that ended there are none
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// ask has the processes outside of the agent's group end, also those that are stopped and would not hear it.
func (t tree) ask() {
	pids := t.group.members()
	if t.group == "" {
		pids, _ = t.adopted() // one that is not asked is killed later
	}
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err != nil || group == t.leader {
			continue
		}
		meant := func(pid int) bool { return t.group == "" || t.group.holds(pid) }
		_ = open(pid, meant, func(fd int) error {
			return errors.Join(unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0), unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0))
		})
	}
}

// askAgent has the agent and its group end.
func (t tree) askAgent() {
	_ = unix.Kill(-t.leader, unix.SIGTERM)
	_ = unix.Kill(-t.leader, unix.SIGCONT)
}

// Looks at a tree that was asked to end: most of them end at once, the others take as
// long as their cleaning up does.
const (
	firstWait = 2 * time.Millisecond
	lastWait  = 100 * time.Millisecond
)

// end returns once the tree is gone. It asks its processes to end, unless all were asked before,
// and kills it when it is not gone by the time that over fires.
func (t tree) end(asked bool, over <-chan time.Time) error {
	first := true
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		left, err := t.left()
		if err != nil || !left {
			return err
		}
		if !asked {
			t.askAgent()
		}
		if !asked || first && t.group == "" { // orphans are known once their parents have ended
			t.ask()
		}
		asked, first = true, false
		select {
		case <-over:
			return t.kill()
		case <-time.After(wait):
		}
	}
}

// maxSweeps bounds how often orphans are looked for: one that forks all the time may have a new child at each look.
const maxSweeps = 100

func (t tree) kill() error {
	if t.group != "" {
		return t.group.kill()
	}
	for range maxSweeps {
		living, err := t.adopted()
		if err != nil || len(living) == 0 {
			return err
		}
		if t.leader != 0 {
			_ = unix.Kill(-t.leader, unix.SIGKILL) // all at once: its members cannot outrun it
		}
		for _, pid := range living { // children: their numbers stay theirs until they are reaped
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		for _, pid := range living {
			if err := open(pid, func(int) bool { return true }, died); err != nil {
				return err
			}
		}
	}
	return errors.New("kill what the agent left: it forks faster than it dies")
}

// adopt makes this process, for the rest of its life, the reaper of its descendants.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// reapPause is the least time between two looks for zombies: an agent that starts and
// orphans a process each millisecond must not make this one look all the time.
const reapPause = time.Second

// keepReaping reaps orphans as they end, for else a long session could fill the
// process table with them. The function it returns ends that.
func (t tree) keepReaping() (stop func()) {
	if t.group != "" {
		return func() {}
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-died:
			}
			_, _ = t.adopted() // only the last look may not fail
			select {
			case <-quit:
				return
			case <-time.After(reapPause):
			}
		}
	}()
	return func() {
		signal.Stop(died)
		close(quit)
		<-done
	}
}

// gone is closed when a child has ended. It stays a zombie, and its number its own.
func gone(pid int) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return ended
}
