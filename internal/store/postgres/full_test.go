package postgres

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
)

// TestDiskFull fills the disk under a server. Writes fail, and say why; once there is room again the next one works, and
// what was granted is there, once.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := must.Get(os.MkdirTemp("", "disk"))(t) //nolint:usetesting // the server's user does not get into the test's
	t.Cleanup(func() { must.Do(t, os.Remove(disk)) })
	mount := []string{"mount", "-t", "tmpfs", "-o", "size=96m,mode=0777", "tmpfs", disk}
	if os.Geteuid() != 0 {
		mount = append([]string{"sudo", "-n"}, mount...)
	}
	if said, err := exec.CommandContext(t.Context(), mount[0], mount[1:]...).CombinedOutput(); err != nil {
		t.Skipf("a small disk takes root: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if os.Geteuid() != 0 {
			must.Do(t, exec.Command("sudo", "-n", "umount", disk).Run())
			return
		}
		must.Do(t, syscall.Unmount(disk, 0))
	})
	c, err := pgtest.NewIn(disk)
	cluster := removed(t, c, err)
	o := Options{DSN: cluster.DSN(), Fleet: "bob", Settings: rank.Defaults()}
	must.Get(Migrate(t.Context(), o))(t)
	d := mustOpen(t, o)
	must.Do(t, takeOne(t.Context(), d, "first"))
	filler := filepath.Join(disk, "filler")
	f := must.Get(os.Create(filler))(t)
	_, full := io.Copy(f, zeros{})
	must.Do(t, f.Close())
	if !errors.Is(full, syscall.ENOSPC) {
		t.Fatalf("got %v, want a full disk", full)
	}

	granted, key := []fleet.Key{"first"}, fleet.Key("")
	for i := 0; err == nil; i++ {
		key = fleet.Key(fmt.Sprintf("k%0200d", i))
		if err = takeOne(t.Context(), d, key); err == nil {
			granted = append(granted, key)
		}
	}
	t.Logf("%d granted before: %v", len(granted), err)
	fails(t, err, "No space left on device", "disk")
	must.Do(t, os.Remove(filler))
	must.Do(t, takeOne(t.Context(), d, key))
	s := must.Get(d.List(t.Context(), store.Listing{All: true}))(t)
	if len(s.Claims) != len(granted)+1 {
		t.Errorf("got %d claims, want the %d that were granted, and one", len(s.Claims), len(granted))
	}
	for _, c := range s.Claims {
		if c.Epoch != 1 {
			t.Errorf("claim %s: got epoch %d", c.Key, c.Epoch)
		}
	}
}

// zeros have no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
