package systemd

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestFireAt asks for starts of a service at three times: the earliest counts, whichever was first asked for.
func TestFireAt(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	ran := filepath.Join(t.TempDir(), "ran")
	name, timer, _ := installTimer(t, m, "/bin/sh -c 'echo x >>"+ran+"'", "OnCalendar=2100-01-01 00:00:00 UTC\n")
	must.Do(t, m.StartUnit(testContext(t), timer))
	t.Cleanup(func() { stopUnit(t, m, timer) })
	now := time.Now() //nolint:forbidigo // the manager's own clock
	wake := fleet.WakeUnit(timer)
	next := func(want time.Time) {
		t.Helper()
		if got := must.Get(m.Timer(testContext(t), wake))(t); !got.Next.Equal(want.Truncate(time.Microsecond)) {
			t.Errorf("next start: got %v, want %v", got.Next, want)
		}
	}
	for _, ask := range []struct{ at, next time.Duration }{{time.Hour, time.Hour}, {2 * time.Hour, time.Hour}, {time.Minute, time.Minute}} {
		must.Do(t, m.FireAt(testContext(t), timer, now.Add(ask.at)))
		next(now.Add(ask.next))
	}
	stopUnit(t, m, timer)
	next(time.Time{})

	must.Do(t, m.StartUnit(testContext(t), timer))
	must.Do(t, m.FireAt(testContext(t), timer, time.Now().Add(2*time.Second))) //nolint:forbidigo // as above
	eventually(t, "one start, and nothing left of its timer", func(ctx context.Context) bool {
		text, _ := os.ReadFile(ran)
		units, err := m.List(ctx, "stint-"+name+"-wake*")
		return string(text) == "x\n" && err == nil && len(units) == 0
	})
}

// TestStartAfter waits for a worker whose time comes, whatever becomes of who asked.
func TestStartAfter(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	spec := testSpec(t, name, "0r1", "wait")
	before := time.Now() //nolint:forbidigo // measured against the manager's own clock
	must.Do(t, m.StartAfter(testContext(t), spec, time.Second))
	if m.mustPopulated(testContext(t), t, spec.Name) {
		t.Error("the worker runs before its time")
	}
	eventually(t, "the worker at work", func(ctx context.Context) bool { return m.mustPopulated(ctx, t, spec.Name) })
	if waited := time.Since(before); waited < time.Second { //nolint:forbidigo // as above
		t.Errorf("started after %v, want a second at least", waited)
	}
	if got := unitProperties(t, m, spec.Name)["Type"]; got != "exec" {
		t.Errorf("type %v, want the service that was asked for", got)
	}
	must.Do(t, m.Stop(testContext(t), spec.Name))
	eventually(t, "nothing left", func(ctx context.Context) bool {
		units, err := m.List(ctx, "stint-"+string(name)+"-*")
		return err == nil && len(units) == 0
	})
}
