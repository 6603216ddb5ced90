package sqlite

import (
	"os"
	"syscall"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// TestTurn gives the turn on as it was asked for, and does not wait for ever for one that is kept.
func TestTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *DB {
		f := must.Get(os.Open(dir))(t)
		t.Cleanup(func() { _ = f.Close() })
		return &DB{folder: f}
	}
	first, second, third := open(), open(), open()
	leave := first.turn(t.Context())
	got := make(chan func())
	go func() { got <- second.turn(t.Context()) }()
	select {
	case <-got:
		t.Fatal("two have the turn")
	case <-time.After(50 * time.Millisecond):
	}
	leave()
	leave = <-got
	start := time.Now()       //nolint:forbidigo // the kernel waits by the real clock
	third.turn(t.Context())() // second does not go on
	took := time.Since(start) //nolint:forbidigo // as above
	if took < mostTurn/2 || took > 3*mostTurn {
		t.Errorf("waited for %s, want %s", took, mostTurn)
	}
	leave()
	if err := syscall.Flock(int(first.folder.Fd()), syscall.LOCK_EX); err != nil { // the third has given back what came late
		t.Error(err)
	}
}
