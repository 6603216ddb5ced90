package sqlite

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// mostTurn is how long a writer waits for its turn: by then a process holds it that does not go on.
const mostTurn = 5 * time.Second

// turn waits until the writers of this machine that came before are done. SQLite asks for its lock
// at longer and longer intervals, so that newcomers overtake those who wait: of a hundred writers
// some waited as long as all of the others together. The lock of a folder is given on in the order
// in which it was asked for. Only the order depends on it; without it SQLite's lock excludes all the
// same.
func (d *DB) turn(ctx context.Context) (leave func()) {
	if d.folder == nil {
		return func() {}
	}
	unlock := func() { _ = flock(d.folder, syscall.LOCK_UN) }
	if flock(d.folder, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return unlock
	}
	got := make(chan error, 1)
	go func() { got <- flock(d.folder, syscall.LOCK_EX) }()
	patience := time.NewTimer(mostTurn)
	defer patience.Stop()
	select {
	case err := <-got:
		if err == nil {
			return unlock
		}
		return func() {}
	case <-ctx.Done():
	case <-patience.C:
	}
	go func() { // gives back what comes late
		if <-got == nil {
			unlock()
		}
	}()
	return func() {}
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
