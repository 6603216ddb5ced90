package systemd

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestBusAddress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		env  map[string]string
		want string
	}{
		"the address wins":           {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/a", "XDG_RUNTIME_DIR": "/b"}, "unix:path=/a"},
		"then the runtime folder":    {map[string]string{"XDG_RUNTIME_DIR": "/b c"}, "unix:path=/b%20c/bus"},
		"no bus is to be launched":   {map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:", "XDG_RUNTIME_DIR": "/b"}, "unix:path=/b/bus"},
		"then the usual folder":      {nil, "unix:path=/run/user/1234/bus"},
		"empty is as good as absent": {map[string]string{"XDG_RUNTIME_DIR": ""}, "unix:path=/run/user/1234/bus"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := busAddress(func(name string) string { return tt.env[name] }, 1234)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestConnectUnreachable sets the environment, so it runs alone.
func TestConnectUnreachable(t *testing.T) {
	address := "unix:path=" + filepath.Join(t.TempDir(), "bus")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	_, err := Connect(testContext(t))
	if err == nil {
		t.Fatal("got a manager where there is no bus")
	}
	for _, want := range []string{address, "$DBUS_SESSION_BUS_ADDRESS", "no such file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got error %q, want %q in it", err, want)
		}
	}
	for _, want := range []string{"loginctl enable-linger", "--exec"} {
		if !strings.Contains(fleet.Hint(err), want) {
			t.Errorf("got hint %q, want %q in it", fleet.Hint(err), want)
		}
	}
}

func TestConnectToSilence(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bus")
	listener := must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = listener.Close() }) // Its end is no news.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := connect(ctx, "unix:path="+path)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the end of the ctx", err)
	}
}

func TestConnectToBusWithoutManager(t *testing.T) {
	t.Parallel()
	address, _ := startBus(t)
	_, err := connect(testContext(t), address)
	if err == nil || !strings.Contains(err.Error(), "read the manager's state") {
		t.Errorf("got error %v, want none to answer", err)
	}
}

func TestConnectionOutlivesContext(t *testing.T) {
	t.Parallel()
	fake := startFake(t)
	ctx, cancel := context.WithCancel(testContext(t))
	m := must.Get(connect(ctx, fake.address))(t)
	defer m.Close()
	cancel()
	if err := m.Start(testContext(t), fakeSpecs("done"))[0]; err != nil {
		t.Errorf("got error %v after the connecting ctx ended", err)
	}
}
