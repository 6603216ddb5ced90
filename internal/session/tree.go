package session

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// processTree is the processes of one session: each process that is in the agent's session or group,
// carries the run's id, descends from one of these, or was adopted from them.
//
// The agent leads a session of its own, which nobody can enter from outside and which
// this process's other children do not leave. So a child of this process that is in
// another session is the agent or an orphan of its making, whatever it did to its
// environment, its descriptors, its group and its session.
type processTree struct {
	run    fleet.RunID
	leader int  // the agent; not reaped before the tree is gone, so that its number stays its own
	adopts bool // this process is the reaper of its descendants, and they are all of this tree
}

// members finds who lives, and which zombies nobody else will reap.
func (f processTree) members() (living, zombies []process, err error) {
	left, err := leftoversOf(f.run)
	if err != nil {
		return nil, nil, err
	}
	// After the leftovers were looked for, which takes longer: this list is the last word.
	all, err := listProcesses()
	if err != nil {
		return nil, nil, err
	}
	adopted, err := f.adopted(all)
	if err != nil {
		return nil, nil, err
	}
	member := map[int]bool{f.leader: true}
	for _, pid := range left {
		member[pid] = true
	}
	for _, p := range adopted {
		member[p.pid] = true
	}
	for _, p := range all {
		if p.session == f.leader || p.group == f.leader {
			member[p.pid] = true
		}
	}
	addDescendants(member, all)
	delete(member, os.Getpid()) // were it its own ancestor, by a number used again
	for _, p := range all {
		if member[p.pid] && !p.dead {
			living = append(living, p)
		}
	}
	return living, onlyDead(adopted), nil
}

// adopted are the orphans that this process was given.
func (f processTree) adopted(all []process) (orphans []process, err error) {
	if !f.adopts {
		return nil, nil
	}
	self := os.Getpid()
	own, err := unix.Getsid(self)
	if err != nil {
		return nil, fmt.Errorf("read own session: %w", err)
	}
	for _, p := range all {
		if p.parent == self && p.session != own && p.pid != f.leader {
			orphans = append(orphans, p)
		}
	}
	return orphans, nil
}

func onlyDead(all []process) []process {
	return plain.Kept(all, func(p process) bool { return p.dead })
}

// addDescendants adds the descendants of the members to them.
func addDescendants(member map[int]bool, all []process) {
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if member[p.parent] && !member[p.pid] {
				member[p.pid], grown = true, true
			}
		}
	}
}

// reap collects zombies, and returns how many there were.
func reap(zombies []process) (reaped int) {
	for _, p := range zombies {
		if pid, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && pid == p.pid {
			reaped++
		}
	}
	return reaped
}

// settled finds who lives once no zombie is left. A process that ended since the look before
// left one, and may have left a child that was not listed yet: only a look that finds neither
// proves that the tree is gone.
func (f processTree) settled() ([]process, error) {
	for {
		living, zombies, err := f.members()
		if reaped := reap(zombies); err != nil || len(living) > 0 || reaped == 0 {
			return living, err
		}
	}
}

// reapPause is the least time between two looks for zombies: an agent that starts and
// orphans a process each millisecond must not make this one look all the time.
const reapPause = time.Second

// keepReaping reaps orphans as they end, for else a long session could fill the
// process table with them. The function it returns ends that.
func (f processTree) keepReaping() (stop func()) {
	if !f.adopts {
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
			if all, err := listProcesses(); err == nil { // only the last look may not fail
				orphans, _ := f.adopted(all)
				reap(onlyDead(orphans))
			}
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

// terminate asks every process to end, also those that are stopped and would not hear it. A process
// that ignores it, or is not found, is killed later.
func (f processTree) terminate(living []process) {
	_ = unix.Kill(-f.leader, unix.SIGTERM)
	_ = unix.Kill(-f.leader, unix.SIGCONT)
	for _, p := range living {
		if p.group != f.leader {
			_ = p.signal(unix.SIGTERM)
			_ = p.signal(unix.SIGCONT)
		}
	}
}

// Looks at a tree that was asked to end: most of them end at once, the others take as
// long as their cleaning up does.
const (
	firstWait = 2 * time.Millisecond
	lastWait  = 100 * time.Millisecond
)

// end returns once the tree is gone. It asks its processes to end, unless they were asked before,
// and kills it when it is not gone by the time that over fires.
func (f processTree) end(asked bool, over <-chan time.Time) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		living, err := f.settled()
		if err != nil || len(living) == 0 {
			return err
		}
		if !asked {
			f.terminate(living)
			asked = true
		}
		select {
		case <-over:
			return f.kill()
		case <-time.After(wait):
		}
	}
}

func (f processTree) kill() error {
	for range maxSweeps {
		living, err := f.settled()
		if err != nil || len(living) == 0 {
			return err
		}
		_ = unix.Kill(-f.leader, unix.SIGKILL) // all at once: its members cannot outrun it
		errs := plain.Each(living, process.kill)
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return fmt.Errorf("kill what is left of run %s: it forks faster than it dies", f.run)
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
