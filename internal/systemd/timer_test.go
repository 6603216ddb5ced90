package systemd

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// installUnits writes unit files that last as long as the test.
func installUnits(t *testing.T, m *Manager, content map[string]string) {
	t.Helper()
	dir := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd/user")
	must.Do(t, os.MkdirAll(dir, 0o755))
	for name, text := range content {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		t.Cleanup(func() { _ = os.Remove(path) }) // A file that stays harms nobody.
	}
	must.Do(t, m.Reload(testContext(t)))
}

// installTimer writes a timer, and the service that runs a command when it fires, of a fleet of their own.
func installTimer(t *testing.T, m *Manager, command, text string) (name, timer, service string) {
	t.Helper()
	name = string(testFleet(t, m))
	timer, service = "stint-"+name+".timer", "stint-"+name+".service"
	installUnits(t, m, map[string]string{timer: "[Timer]\n" + text, service: "[Service]\nType=oneshot\nExecStart=" + command + "\n"})
	return name, timer, service
}

func TestTimer(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	gate := filepath.Join(t.TempDir(), "gate")
	must.Do(t, syscall.Mkfifo(gate, 0o600))
	_, timer, _ := installTimer(t, m, "/bin/sh -c 'read end <"+gate+"'",
		"OnActiveSec=0\nAccuracySec=1ms\nOnCalendar=2100-01-01 00:00:00 UTC\n[Install]\nWantedBy=timers.target\n")
	if got, err := m.Timer(testContext(t), timer); err != nil || got != (TimerState{}) {
		t.Errorf("before the start: got %v, %v, want never", got, err)
	}
	must.Do(t, m.StartUnit(testContext(t), timer))
	t.Cleanup(func() { stopUnit(t, m, timer) })
	if err := m.StartUnit(testContext(t), timer); err != nil {
		t.Errorf("second start: %v", err)
	}
	var got TimerState
	eventually(t, "the timer has fired", func(ctx context.Context) (fires bool) {
		var err error
		if got, err = m.Timer(ctx, timer); err != nil {
			t.Fatal(err)
		}
		return got.Firing
	})
	if !got.Active || !got.Next.IsZero() {
		t.Errorf("while its service runs: got %+v, want an active timer whose next fire is not known", got)
	}
	must.Do(t, os.WriteFile(gate, []byte("end\n"), 0))
	eventually(t, "its service is done", func(ctx context.Context) bool {
		var err error
		if got, err = m.Timer(ctx, timer); err != nil {
			t.Fatal(err)
		}
		return !got.Firing
	})
	if !got.Active {
		t.Error("after its fire the timer is not active")
	}
	if want := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC); !got.Next.Equal(want) {
		t.Errorf("got next %v, want %v", got.Next, want)
	}
	if year := got.Last.Year(); year < 2020 || year >= 2100 {
		t.Errorf("got last %v, want about now", got.Last)
	}
}

// TestTimerWithStamp does not take the time of a stamp for a fire: the file is made when the
// timer is started for the first time, and the next start goes by it.
func TestTimerWithStamp(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	_, timer, _ := installTimer(t, m, "/bin/true", "OnCalendar=2100-01-01 00:00:00 UTC\nPersistent=true\n")
	t.Cleanup(func() {
		stopUnit(t, m, timer)
		if out, err := exec.Command("systemctl", "--user", "clean", "--what=state", timer).CombinedOutput(); err != nil {
			t.Errorf("remove the time stamp: %v: %s", err, out)
		}
	})
	for range 2 {
		stopUnit(t, m, timer)
		must.Do(t, m.StartUnit(testContext(t), timer))
	}
	properties, err := m.conn.GetUnitTypePropertiesContext(testContext(t), timer, "Timer")
	if err != nil || instant(properties["LastTriggerUSec"]).IsZero() {
		t.Fatalf("the manager goes by no time stamp: %v, %v", properties["LastTriggerUSec"], err)
	}
	if got, err := m.Timer(testContext(t), timer); err != nil || !got.Last.IsZero() || got.Next.IsZero() {
		t.Errorf("got %v, %v, want no last fire, and a next one", got, err)
	}
}

func TestEnable(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	name, timer, service := installTimer(t, m, "/bin/true", "OnCalendar=yearly\n[Install]\nWantedBy=timers.target\n")
	t.Cleanup(func() {
		if err := m.Disable(context.WithoutCancel(t.Context()), timer, true); err != nil {
			t.Error(err)
		}
	})
	var got []bool
	for range 2 {
		changed := must.Get(m.Enable(testContext(t), timer, true))(t)
		got = append(got, changed)
	}
	must.Equal(t, "changed", got, []bool{true, false})
	if _, err := m.Enable(testContext(t), service, true); err == nil || !strings.Contains(err.Error(), "no [Install] section") {
		t.Errorf("got error %v for a unit that cannot be enabled", err)
	}
	if _, err := m.Enable(testContext(t), "stint-"+name+"_none.timer", true); err == nil || !strings.HasPrefix(err.Error(), "enable unit stint-") {
		t.Errorf("got error %v for a unit that does not exist", err)
	}
	if err := m.StartUnit(testContext(t), "stint-"+name+"_none.timer"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got error %v for the start of a unit that does not exist", err)
	}
}

// TestForget leaves nothing of a timer: neither that it is enabled, nor the stamp of its last
// fire, which the manager keeps among the user's files.
func TestForget(t *testing.T) {
	t.Parallel()
	m := testManager(t)
	_, timer, _ := installTimer(t, m, "/bin/true", "OnCalendar=2100-01-01 00:00:00 UTC\nPersistent=true\n[Install]\nWantedBy=timers.target\n")
	must.Get(m.Enable(testContext(t), timer, true))(t)
	must.Do(t, errors.Join(m.Reload(testContext(t)), m.StartUnit(testContext(t), timer)))
	data := os.Getenv("XDG_DATA_HOME")
	if data == "" {
		data = filepath.Join(os.Getenv("HOME"), ".local/share")
	}
	stamp := filepath.Join(data, "systemd/timers/stamp-"+timer)
	if _, err := os.Stat(stamp); err != nil {
		t.Fatalf("the manager keeps its stamps elsewhere: %v", err)
	}
	for range 2 { // the second finds nothing to do
		if err := errors.Join(m.Disable(testContext(t), timer, true), m.Stop(testContext(t), timer), m.Forget(testContext(t), timer)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(stamp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stamp: %v, want it gone", err)
	}
	if got, err := m.Installed(testContext(t), timer); err != nil || got.Enabled != "disabled" || got.Active != "inactive" {
		t.Errorf("got %+v, %v, want it disabled and inactive", got, err)
	}
	if err := m.Forget(testContext(t), "stint-none@x.timer"); err != nil {
		t.Errorf("of a unit that there is not: %v", err)
	}
}
