package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"stint/internal/fleet"
)

const (
	// stopTime bounds the wait for a unit to stop: its agent has ten seconds to end, and
	// its supervisor twenty to record that.
	stopTime = time.Minute
	// endTime bounds the stop of a session whose supervisor is gone.
	endTime = 5 * time.Second
)

// Locks knows the locks that runs hold while they live.
type Locks interface {
	// Lives reports whether some process of the run still holds its lock. For a run that never
	// took it here the error wraps [fleet.ErrNotFound].
	Lives(run fleet.RunID) (bool, error)
}

// Units is the service manager.
type Units interface {
	// Populated reports whether one of the units has, or is about to have, a process.
	Populated(ctx context.Context, units ...string) (bool, error)
	// Stop stops units, one after the other, and waits until they are down.
	Stop(ctx context.Context, units ...string) error
}

// Sessions finds out which sessions live: by the lock that a session holds while it lives, then by
// its cgroup. Children of Node and Python drop the lock that they inherited.
type Sessions struct {
	State string                // the fleet's state folder
	Here  func() fleet.Location // where this process is; nil: nobody knows
	Locks Locks
	Units Units
	Log   *slog.Logger
}

// Liveness says whether any process of a run's session is left. Nobody is asked about a session of
// another machine, or of before this one was started.
func (s Sessions) Liveness(ctx context.Context, r fleet.Run) fleet.Liveness {
	if s.Here != nil {
		if said, certain := s.Here().Says(r.Location); certain {
			return said
		}
	}
	lives, err := s.Locks.Lives(r.ID)
	if r.StartedAt.IsZero() && r.EndedAt.IsZero() && r.Unit != "" && !lives {
		waits, err := s.Units.Populated(ctx, fleet.TimerUnit(r.Unit), r.Unit)
		return s.answer(ctx, r, waits, err)
	}
	if errors.Is(err, fleet.ErrNotFound) {
		return fleet.Unknown // it never ran here
	}
	if err == nil && !lives {
		lives, err = traceOf(s.State, r.ID).left()
	}
	return s.answer(ctx, r, lives, err)
}

// answer returns whether a run is alive, from the word of the one who was asked.
func (s Sessions) answer(ctx context.Context, r fleet.Run, there bool, err error) fleet.Liveness {
	switch {
	case err != nil:
		s.Log.WarnContext(ctx, "cannot determine whether a run lives", slog.String("run_id", string(r.ID)), slog.Any("err", err))
		return fleet.Unknown
	case there:
		return fleet.Lives
	default:
		return fleet.Gone
	}
}

// Supervised reports whether the process that began a run is still there: whether it has the
// run's lock open, which no other process of that number would.
func (s Sessions) Supervised(r fleet.Run) bool {
	return r.PID != 0 && len(opened(r.PID, fleet.FilesOf(s.State, r.ID).Alive)) > 0
}

// Suspended reports whether a signal has stopped that process, as Ctrl-Z does: it keeps neither
// its claim nor its time.
func (s Sessions) Suspended(r fleet.Run) bool {
	p, there := readProcess(r.PID)
	return there && p.stopped && s.Supervised(r)
}

// Stop asks a run's supervisor to end the session: by the service manager, where it is a unit
// of that, and waits until it is down. A session that has not begun is kept from it.
func (s Sessions) Stop(ctx context.Context, r fleet.Run) error {
	notBegun := r.StartedAt.IsZero()
	if r.Unit != "" {
		ctx, cancel := context.WithTimeout(ctx, stopTime)
		defer cancel()
		if notBegun { // it may rest until a timer of its own starts it
			return s.Units.Stop(ctx, fleet.TimerUnit(r.Unit), r.Unit)
		}
		return s.Units.Stop(ctx, r.Unit)
	}
	if notBegun {
		return nil
	}
	// From here on a signal reaches this process or none, even if another gets its number.
	p, err := os.FindProcess(r.PID)
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if !s.Supervised(r) {
		return nil // it ended a moment ago
	}
	// One that is stopped hears the first once it goes on, as units do by the manager.
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("end its supervisor, process %d: %w", r.PID, err)
		}
	}
	return nil
}

// End ends whatever is left of a run's session. Without a cgroup that is the agent and its group.
//
// If we die in here, the run is open, and the next one to stop or to reap it ends the rest.
func (s Sessions) End(ctx context.Context, r fleet.Run) error {
	if r.Unit != "" {
		stopping, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		if err := s.Units.Stop(stopping, r.Unit); err != nil {
			return err
		}
	}
	return traceOf(s.State, r.ID).end()
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
