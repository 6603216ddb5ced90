package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxTurn bounds the wait of a writer for its turn: a process that holds it longer does not go on.
const maxTurn = 5 * time.Second

// turn waits until the writers of this machine that came before are done. SQLite asks for its lock
// at longer and longer intervals, so that newcomers overtake those who wait: of a hundred writers
// some waited as long as all of the others together. The lock of a folder is given on in the order
// in which it was asked for. Only the order depends on it; without it SQLite's lock excludes all the
// same.
//
// Each turn opens the folder for itself and gives its lock back by closing it. One that comes late, after its
// writer went on without it or the store was closed, is so nobody else's to give back.
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
