package systemd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestInstalled(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name, timer, service := installTimer(t, m, `/bin/true --config "a b" fanout`, "OnCalendar=yearly\n[Install]\nWantedBy=timers.target\n")
	file := func(unit string) string { return filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd/user", unit) }
	for unit, want := range map[string]Installed{
		service: {
			Load: "loaded", Active: "inactive", Enabled: "static", Fragment: file(service),
			Argv: []string{"/bin/true", "--config", "a b", "fanout"}, Result: "success",
		},
		timer:                           {Load: "loaded", Active: "inactive", Enabled: "disabled", Fragment: file(timer), Result: "success"},
		"stint-" + name + "_none.timer": {Load: "not-found", Active: "inactive", Result: "success"},
	} {
		var got Installed
		// When another test enables a unit, all are stale until the manager is reloaded.
		eventually(t, unit+" is not stale", func(ctx context.Context) bool {
			got = must.Get(m.Installed(ctx, unit))(t)
			return !got.Stale
		})
		must.Equal(t, unit, got, want)
	}
	must.Do(t, m.StartUnit(testContext(t), timer))
	t.Cleanup(func() { stopUnit(t, m, timer) })
	if got, err := m.Installed(testContext(t), timer); err != nil || got.Active != "active" {
		t.Errorf("started: got %+v, %v, want it active", got, err)
	}
	// The timer keeps its service loaded. Other tests reload the manager: a change that it has
	// read meanwhile is made again.
	eventually(t, "the changed service is stale", func(ctx context.Context) bool {
		must.Do(t, os.WriteFile(file(service), []byte("[Service]\nType=oneshot\nExecStart=/bin/false\n"), 0o600))
		got := must.Get(m.Installed(ctx, service))(t)
		return got.Stale
	})
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name := "STINT_TEST_" + string(testFleet(t, m))
	const value = `a "b" \c=d’`
	systemctl := func(ctx context.Context, args ...string) {
		if out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("systemctl %q: %v: %s", args, err, out)
		}
	}
	systemctl(t.Context(), "set-environment", name+"="+value)
	t.Cleanup(func() { systemctl(context.WithoutCancel(t.Context()), "unset-environment", name) })
	got := must.Get(m.Environment())(t)
	if found := fleet.Variable(got, name); found != value {
		t.Errorf("got %q, want %q", found, value)
	}
	if fleet.Variable(got, "PATH") == "" {
		t.Errorf("no PATH in %q", got)
	}
}
