package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxTurn bounds a writer's wait for its turn: the process that holds it may be stopped.
const maxTurn = 5 * time.Second

// turn waits until the earlier writers of this machine are done. SQLite asks for its lock at growing intervals, so
// newcomers overtake those who wait: of a hundred writers some waited as long as all others together. A folder's lock is
// granted in the order of requests. Only that order depends on it; SQLite's lock excludes other writers in any case.
//
// Each turn opens the folder for itself and releases its lock by closing it. If the lock comes after its writer went on
// without it or closed the store, nobody else can release it.
func (d *DB) turn(ctx context.Context) func() {
	if d.file == nil {
		return func() {}
	}
	folder, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return func() {}
	}
	leave := func() { _ = folder.Close() }
	if flock(folder, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return leave
	}
	got := make(chan struct{})
	go func() { _ = flock(folder, syscall.LOCK_EX); close(got) }()
	patience := time.NewTimer(maxTurn)
	defer patience.Stop()
	select {
	case <-got:
		return leave
	case <-ctx.Done():
	case <-patience.C:
	}
	go func() { <-got; leave() }()
	return func() {}
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
