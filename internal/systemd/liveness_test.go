package systemd

import (
	"context"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func (m *Manager) mustPopulated(ctx context.Context, t *testing.T, unit string) bool {
	t.Helper()
	got := must.Get(m.Populated(ctx, unit))(t)
	return got
}

// TestPopulated follows units from before their start to after their end.
func TestPopulated(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := testFleet(t, m)
	ctx := testContext(t)
	works := testSpec(t, name, "0r1", "wait")
	fails := testSpec(t, name, "0r2", "1")
	for _, unit := range []string{works.Name, fails.Name, "stint-no-such.service"} {
		if m.mustPopulated(ctx, t, unit) {
			t.Errorf("%s is populated before it was ever started", unit)
		}
	}
	start(t, m, works)
	startKept(t, m, fails) // it may fail before it was seen to start
	if !m.mustPopulated(ctx, t, works.Name) {
		t.Error("a unit at work is not populated")
	}
	eventually(t, "the failed unit empty", func(ctx context.Context) bool { return !m.mustPopulated(ctx, t, fails.Name) })
	for range 2 { // stopping what is down is nothing to do
		if err := m.Stop(ctx, works.Name); err != nil {
			t.Error(err)
		}
		if m.mustPopulated(ctx, t, works.Name) {
			t.Error("populated after it was stopped")
		}
	}
	if err := m.Stop(ctx, "stint-no-such.service"); err != nil {
		t.Errorf("stop of an unknown unit: %v", err)
	}
}

// TestPopulatedOfAnUnreachableManager is an error, never an answer.
func TestPopulatedOfAnUnreachableManager(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	unit := fleet.UnitName(testFleet(t, m), "code", "0r1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := m.Populated(ctx, unit); err == nil {
		t.Errorf("populated %t of a manager that does not answer, want an error", got)
	}
	if err := m.Stop(ctx, unit); err == nil {
		t.Error("stopped by a manager that does not answer, want an error")
	}
}
