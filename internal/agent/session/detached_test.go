package session

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
)

// TestDetached starts a worker beside one that cannot be, under a fire that ends
// at once.
func TestDetached(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "dump", "run", "--run", "0r1")
	spec := fleet.UnitSpec{Argv: s.Argv, Environment: append(s.Environment, "STINT_RUN_ID=0r1")}
	state := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	errs := Detached{State: state}.Start(ctx, []fleet.UnitSpec{{Argv: []string{"/nonexistent/stint"}}, spec})
	cancel()
	if len(errs) != 2 || errs[0] == nil || errs[1] != nil {
		t.Fatalf("got %v, want an error for the first alone", errs)
	}
	if got, want := errs[0].Error(), "start worker: fork/exec /nonexistent/stint: no such file or directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	groupOf(t, s)
	got := dumped(t, s)
	if !got.Session || got.environment("STINT_RUN_ID") != "0r1" || strings.Join(got.Args[1:], " ") != "run --run 0r1" {
		t.Errorf("got %+v, want a session of its own with its environment and arguments", got)
	}
	if got.environment("PATH") != os.Getenv("PATH") {
		t.Errorf("got PATH %q, want what may be passed on", got.environment("PATH"))
	}
	info, err := os.Stat(filepath.Join(state, "workers.log"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("got log %v, %v, want mode 0600", info.Mode(), err)
	}
}

func TestDetachedWithoutState(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "exit", "0")
	errs := Detached{State: "/nonexistent"}.Start(t.Context(), []fleet.UnitSpec{{Argv: s.Argv, Environment: s.Environment}})
	if len(errs) != 1 || errs[0] == nil {
		t.Errorf("got %v, want one error", errs)
	}
}
