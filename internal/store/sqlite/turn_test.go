package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"stint/internal/store"
	"stint/internal/testkit/must"
)

// lockFolder takes the turn by hand, once it is free.
func lockFolder(t *testing.T, d *DB) {
	t.Helper()
	folder := must.Get(os.Open(filepath.Dir(d.path)))(t)
	must.Do(t, errors.Join(flock(folder, syscall.LOCK_EX), folder.Close()))
}

// TestTurn gives the turn on as it was asked for, also within one process, and does not wait for ever for one that is
// kept.
func TestTurn(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, nil))
	leave := d.turn(t.Context())
	got := make(chan func())
	go func() { got <- d.turn(t.Context()) }()
	select {
	case <-got:
		t.Fatal("two have the turn")
	case <-time.After(50 * time.Millisecond):
	}
	leave()
	leave = <-got
	start := time.Now()       //nolint:forbidigo // the kernel waits by the real clock
	d.turn(t.Context())()     // the second does not go on
	took := time.Since(start) //nolint:forbidigo // as above
	if took < maxTurn/2 || took > 3*maxTurn {
		t.Errorf("waited for %s, want %s", took, maxTurn)
	}
	leave()
	lockFolder(t, d) // the third has given back what came late
}

// TestClosedBeforeItsTurn closes a store while a turn that its writer gave up is still to come.
func TestClosedBeforeItsTurn(t *testing.T) {
	t.Parallel()
	d := must.Get(Open(t.Context(), testOptions(t, nil)))(t)
	leave := d.turn(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := d.Take(ctx, store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want it to have given up", err)
	}
	must.Do(t, d.Close())
	leave()
	lockFolder(t, d)
}
