package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

const busConfig = `<busconfig><type>session</type><listen>unix:dir=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`

// startBus runs a message bus of the test's own.
func startBus(t *testing.T) (address string, daemon *exec.Cmd) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "bus.conf")
	must.Do(t, os.WriteFile(config, fmt.Appendf(nil, busConfig, dbus.EscapeBusAddressValue(t.TempDir())), 0o600))
	daemon = exec.CommandContext(testContext(t), "dbus-daemon", "--nofork", "--print-address", "--config-file="+config)
	stdout, err := daemon.StdoutPipe()
	if err == nil {
		err = daemon.Start()
	}
	must.Do(t, err)
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }) // It has no other end.
	address = must.Get(bufio.NewReader(stdout).ReadString('\n'))(t)
	return strings.TrimSpace(address), daemon
}

// fakeManager answers as systemd does, but what becomes of a unit is in its name:
// "late" ends well at the next start, "never" does not end, "refused" is no job at
// all, "hangup" kills the bus, and any other name is the result that its job has
// before its method has even returned.
type fakeManager struct {
	address string
	conn    *dbus.Conn
	daemon  *exec.Cmd
	jobs    atomic.Uint32
	late    []func()
	never   func() // called when "never" has been asked for
}

const (
	fakePath  = dbus.ObjectPath("/org/freedesktop/systemd1")
	fakeIface = "org.freedesktop.systemd1.Manager"
)

func startFake(t *testing.T) *fakeManager {
	t.Helper()
	f := &fakeManager{}
	f.address, f.daemon = startBus(t)
	conn := must.Get(dial(testContext(t), f.address))(t)
	t.Cleanup(func() { _ = conn.Close() }) // Its end is no news.
	f.conn = conn
	err := errors.Join(
		conn.Export(f, fakePath, fakeIface),
		conn.Export(f, fakePath, "org.freedesktop.DBus.Properties"),
	)
	if _, nameErr := conn.RequestName("org.freedesktop.systemd1", 0); err != nil || nameErr != nil {
		t.Fatal(err, nameErr)
	}
	return f
}

func (f *fakeManager) Get(_, _ string) (dbus.Variant, *dbus.Error) {
	return dbus.MakeVariant("running"), nil
}

func (f *fakeManager) StartTransientUnit(name, _ string, _ []sdbus.Property, _ []sdbus.PropertyCollection) (dbus.ObjectPath, *dbus.Error) {
	for _, finish := range f.late {
		finish()
	}
	f.late = nil
	id := f.jobs.Add(1)
	job := dbus.ObjectPath(fmt.Sprintf("%s/job/%d", fakePath, id))
	finish := func(result string) { _ = f.conn.Emit(fakePath, fakeIface+".JobRemoved", id, job, name, result) }
	switch result := strings.TrimSuffix(name, ".service"); result {
	case "refused":
		return "", dbus.NewError("org.freedesktop.DBus.Error.AccessDenied", []any{"not today"})
	case "hangup":
		_ = f.daemon.Process.Kill()
	case "late":
		f.late = append(f.late, func() { finish("done") })
	case "never":
		if f.never != nil {
			f.never()
		}
	default:
		finish(result)
	}
	return job, nil
}

func fakeSpecs(names ...string) []fleet.UnitSpec {
	specs := make([]fleet.UnitSpec, len(names))
	for i, name := range names {
		specs[i] = fleet.UnitSpec{
			Name: name + ".service", Argv: []string{"/bin/true"}, RuntimeMax: time.Hour, StopTimeout: time.Second,
		}
	}
	return specs
}

func TestStartFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		units []string
		wants []string // one a unit, part of its error; empty: it started
	}{
		"a result before the reply":  {[]string{"done"}, []string{""}},
		"all queued, then awaited":   {[]string{"late", "late", "done"}, []string{"", "", ""}},
		"each has its own result":    {[]string{"failed", "done", "canceled"}, []string{`ended as "failed"`, "", `ended as "canceled"`}},
		"nothing but done will do":   {[]string{"timeout", "dependency", "skipped"}, []string{`"timeout"`, `"dependency"`, `"skipped"`}},
		"a refusal stops no other":   {[]string{"refused", "done"}, []string{"not today", ""}},
		"the bus goes down meantime": {[]string{"never", "hangup"}, []string{"the connection to the bus was lost", "start unit hangup"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := must.Get(connect(testContext(t), startFake(t).address))(t)
			defer m.Close()
			for i, err := range m.Start(testContext(t), fakeSpecs(tt.units...)) {
				if want := tt.wants[i]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got error %v, want %q", tt.units[i], err, want)
				}
			}
		})
	}
}

func TestStartEndsWithContext(t *testing.T) {
	t.Parallel()
	fake := startFake(t)
	m := must.Get(connect(testContext(t), fake.address))(t)
	defer m.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fake.never = cancel
	err := m.Start(ctx, fakeSpecs("never"))[0]
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "never.service") {
		t.Errorf("got error %v, want the end of the ctx, and the unit", err)
	}
}

// TestAwaitTakesAResultThatIsThere has both a result and the end of the ctx, or of the bus.
func TestAwaitTakesAResultThatIsThere(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	lost := make(chan struct{})
	close(lost)
	for range 50 { // a select takes either at random
		for _, m := range []*Manager{{lost: make(chan struct{})}, {lost: lost}} {
			job := newJob()
			job <- jobDone
			if err := m.await(ended, "done", job); err != nil {
				t.Fatalf("got error %v for a unit that had started by then", err)
			}
			if err := m.await(ended, "never", newJob()); err == nil {
				t.Fatal("got no error for a unit without a result")
			}
		}
	}
}
