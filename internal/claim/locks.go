package claim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"stint/internal/agent/rundir"
	"stint/internal/fleet"
)

// Locks is the fleet's state folder, in which the locks of this machine are kept: flock(2) on files
// that are never unlinked. So no two processes can hold locks on two files of one name. The text in
// a lock file is for people; the kernel alone knows its holder.
type Locks string

// Take takes one lane of a category, counted from 1, without waiting. When it is taken
// the error wraps [fleet.ErrBusy].
func (s Locks) Take(c fleet.Category, lane int, run fleet.RunID) (fleet.Lane, error) {
	dir := filepath.Join(string(s), "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fleet.Lane{}, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s.%d.lock", c, lane))
	lock := flock.New(path, flock.SetPermissions(0o600))
	taken, err := lock.TryLock()
	if err != nil {
		return fleet.Lane{}, fmt.Errorf("lock lane %s.%d: %w", c, lane, err)
	}
	if !taken {
		return fleet.Lane{}, fmt.Errorf("lane %s.%d: %w", c, lane, fleet.ErrBusy)
	}
	// Only people read this; failing to write it loosens no lock.
	_ = os.WriteFile(path, fmt.Appendf(nil, "run %s pid %d\n", run, os.Getpid()), 0o600)
	return fleet.Lane{Number: lane, Release: lock.Close}, nil
}

// Live takes the lock by which a run is known to live, and returns its file. The
// agent inherits the file, and nobody ever unlocks it: the kernel frees the lock
// when the last process that kept the descriptor is gone. A run that lives already
// is an error that wraps [fleet.ErrBusy].
func (s Locks) Live(run fleet.RunID) (*os.File, error) {
	files := fleet.FilesOf(string(s), run)
	if err := rundir.MakeFolder(files.Dir); err != nil {
		return nil, fmt.Errorf("lock of run %s: %w", run, err)
	}
	f, err := rundir.Make(files.Alive)
	if err != nil {
		return nil, fmt.Errorf("lock of run %s: %w", run, err)
	}
	if err := outwait(f); err != nil {
		return nil, errors.Join(fmt.Errorf("run %s: %w", run, err), f.Close())
	}
	return f, nil
}

// outwait locks a file that nobody holds for longer than it takes to probe it,
// unless it is held for good.
func outwait(f *os.File) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	enough := time.After(2 * time.Second) // a probe takes microseconds, on a loaded machine a time slice
	for {
		err := lock(f, unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-again.C:
		case <-enough:
			return fmt.Errorf("some process of it lives: %w", fleet.ErrBusy)
		}
	}
}

// Lives reports whether some process of the run still holds its lock. For a run that never took
// it here the error wraps [fleet.ErrNotFound]. Where something else is in its place, nobody
// knows: that is another error.
func (s Locks) Lives(run fleet.RunID) (bool, error) {
	f, err := rundir.Open(fleet.FilesOf(string(s), run).Alive)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("lock of run %s: %w", run, fleet.ErrNotFound)
	}
	if err != nil {
		return false, fmt.Errorf("lock of run %s: %w", run, err)
	}
	err = lock(f, unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, f.Close()
	}
	return false, errors.Join(err, f.Close())
}

func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}
