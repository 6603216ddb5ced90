package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"stint/internal/fleet"
	"stint/internal/lane"
	"stint/internal/session"
	"stint/internal/systemd"
)

// askManager is how long the service manager is waited for when it is asked about a
// unit. It answers in a millisecond, or hangs.
const askManager = 5 * time.Second

// sessions knows which sessions live, from whoever knows: the lock that a session
// holds while it lives, which costs a system call, then its unit's cgroup, or without
// a unit the processes that carry its id.
type sessions struct {
	locks lane.State
	log   *slog.Logger
}

// Liveness says whether any process of a run's session is left. The lock is asked
// first: the manager only when nobody holds it.
func (s sessions) Liveness(ctx context.Context, r fleet.Run) fleet.Liveness {
	if r.StartedAt.IsZero() && r.EndedAt.IsZero() && r.Unit != "" {
		waits, err := populated(ctx, timerOf(r), r.Unit)
		return s.answer(ctx, r, waits, err)
	}
	lives, err := s.locks.Lives(r.ID)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return fleet.Unknown // it never ran here
	case err != nil:
		return s.unknown(ctx, r, err)
	case lives:
		return fleet.Lives
	}
	left, err := s.left(ctx, r)
	return s.answer(ctx, r, left, err)
}

// answer is what is known of a run once somebody was asked whether anything of it is there.
func (s sessions) answer(ctx context.Context, r fleet.Run, there bool, err error) fleet.Liveness {
	switch {
	case err != nil:
		return s.unknown(ctx, r, err)
	case there:
		return fleet.Lives
	default:
		return fleet.Gone
	}
}

// left reports whether processes are left that dropped the lock they inherited, as
// children of Node and Python do. They may have left the unit's cgroup, too: for a scope
// of their own, as tmux does. The manager knows nothing of a cgroup that was populated when
// it was killed and started anew: the kernel does.
func (s sessions) left(ctx context.Context, r fleet.Run) (bool, error) {
	pids, err := session.Strays(r.ID)
	if err != nil || len(pids) > 0 || r.Unit == "" {
		return len(pids) > 0, err
	}
	if up, err := s.cgroup(r).Populated(); err != nil || up {
		return up, err
	}
	return populated(ctx, r.Unit)
}

// populated reports whether one of the units is up.
func populated(ctx context.Context, units ...string) (up bool, err error) {
	err = withManager(ctx, func(ctx context.Context, m *systemd.Manager) (err error) {
		for i := 0; i < len(units) && !up && err == nil; i++ {
			up, err = m.Populated(ctx, units[i])
		}
		return err
	})
	return up, err
}

// timerOf is the timer that starts a run's unit, if it follows another.
func timerOf(r fleet.Run) string { return strings.TrimSuffix(r.Unit, ".service") + ".timer" }

// cgroup is that of a run's unit; empty: nobody knows which that was.
func (s sessions) cgroup(r fleet.Run) systemd.Cgroup {
	return systemd.Cgroup(s.locks.Cgroup(r.ID, r.Unit))
}

// Supervised reports whether the process that began a run is still there.
func (s sessions) Supervised(r fleet.Run) bool {
	return session.Supervised(r, fleet.FilesOf(string(s.locks), r.ID))
}

// Suspended reports whether that process is stopped.
func (s sessions) Suspended(r fleet.Run) bool {
	return session.Suspended(r, fleet.FilesOf(string(s.locks), r.ID))
}

// awaitStop is how long a unit may take to be down: its agent has ten seconds to end, and
// its supervisor twenty to record that.
const awaitStop = time.Minute

// Stop tells a run's supervisor to end the session: by the service manager, where it is a
// unit of that, and waits until it is down. A session that has not begun is kept from it.
func (s sessions) Stop(ctx context.Context, r fleet.Run) error {
	switch {
	case r.Unit != "":
		return stopUnit(ctx, r)
	case r.StartedAt.IsZero():
		return nil
	}
	// From here on the number is this process's, whoever is given it after its end.
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

func stopUnit(ctx context.Context, r fleet.Run) error {
	ctx, cancel := context.WithTimeout(ctx, awaitStop)
	defer cancel()
	m, err := systemd.Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	if r.StartedAt.IsZero() { // it may rest until a timer of its own starts it
		if err := m.Stop(ctx, timerOf(r)); err != nil {
			return err
		}
	}
	return m.Stop(ctx, r.Unit)
}

// End ends whatever is left of a run's session.
func (s sessions) End(ctx context.Context, r fleet.Run) error {
	if r.Unit != "" {
		err := withManager(ctx, func(ctx context.Context, m *systemd.Manager) error { return m.Stop(ctx, r.Unit) })
		if err != nil {
			return err
		}
		if err := s.cgroup(r).Kill(); err != nil {
			return fmt.Errorf("end what its manager has forgotten of unit %s: %w", r.Unit, err)
		}
	}
	return session.End(r.ID, fleet.FilesOf(string(s.locks), r.ID).Alive)
}

func (s sessions) unknown(ctx context.Context, r fleet.Run, err error) fleet.Liveness {
	s.log.WarnContext(ctx, "cannot tell whether a run lives", slog.String("run_id", string(r.ID)), slog.Any("err", err))
	return fleet.Unknown
}

func withManager(ctx context.Context, fn func(context.Context, *systemd.Manager) error) error {
	ctx, cancel := context.WithTimeout(ctx, askManager)
	defer cancel()
	m, err := systemd.Connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	return fn(ctx, m)
}
