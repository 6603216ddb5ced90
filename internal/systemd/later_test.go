package systemd

import (
	"context"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

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
