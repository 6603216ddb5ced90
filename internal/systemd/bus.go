// Package systemd is the user's service manager over D-Bus: it starts workers as
// transient services and waits until they run, lists units, and installs and reads
// a fleet's timer. No other package speaks D-Bus.
//
// It decides nothing: what to start, under which name and with which limits, comes
// in as a [fleet.UnitSpec]. It never starts a bus or a manager that is not there,
// never listens to units at large, and sends the manager no word that the manager
// would expand or split.
//
// The caller guarantees that unit names are unique, and that every ctx ends: a
// manager that hangs is waited for until then.
package systemd

import (
	"context"
	"fmt"
	"os"
	"strconv"

	sdbus "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"stint/internal/fleet"
)

const hintNoManager = "let your service manager run without a login (loginctl enable-linger), " +
	"or start the workers without it: stint fanout --exec"

// Manager is a connection to the user's service manager. Its methods may be called
// from several goroutines.
type Manager struct {
	conn   *sdbus.Conn
	raw    *dbus.Conn      // for what the library has no method for
	lost   <-chan struct{} // closed when the bus hangs up
	cancel context.CancelFunc
}

// Connect opens the user's manager on the bus at $DBUS_SESSION_BUS_ADDRESS, else
// $XDG_RUNTIME_DIR/bus, else /run/user/<uid>/bus, and makes sure that the manager
// answers. The first of the three that is set is the only one tried: a fleet must
// not end up with another manager because its own is down. The connection outlives
// ctx; [Manager.Close] ends it.
func Connect(ctx context.Context) (*Manager, error) {
	address, origin := busAddress(os.Getenv, os.Getuid())
	m, err := connect(ctx, address)
	if err != nil {
		err = fmt.Errorf("reach the user's service manager at %s (%s): %w", address, origin, err)
		return nil, fleet.WithHint(err, hintNoManager)
	}
	return m, nil
}

// Close ends the connection. Units started over it run on.
func (m *Manager) Close() {
	m.conn.Close()
	m.cancel()
}

// busAddress finds the user's bus and says where the address is from. The library's
// own search would end in dbus-launch, which starts a bus without a manager.
func busAddress(getenv func(string) string, uid int) (address, origin string) {
	if a := getenv("DBUS_SESSION_BUS_ADDRESS"); a != "" && a != "autolaunch:" {
		return a, "from $DBUS_SESSION_BUS_ADDRESS"
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return socketAddress(dir), "from $XDG_RUNTIME_DIR"
	}
	return socketAddress("/run/user/" + strconv.Itoa(uid)), "neither $DBUS_SESSION_BUS_ADDRESS nor $XDG_RUNTIME_DIR is set"
}

func socketAddress(dir string) string {
	return "unix:path=" + dbus.EscapeBusAddressValue(dir+"/bus")
}

// connect ties the connection to ctx while it is being made, for the library's
// handshake takes no ctx, and lets go of ctx once the manager has answered.
func connect(ctx context.Context, address string) (*Manager, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	m, err := open(life, address)
	stop()
	if ended := context.Cause(ctx); ended != nil {
		err = ended // The handshake says only that the connection was closed.
	}
	if err != nil {
		cancel()
		return nil, err
	}
	m.cancel = cancel
	return m, nil
}

// open makes the two connections that the library wants, one for calls and one for
// signals, and asks for one property: a bus may well run without a manager on it.
func open(ctx context.Context, address string) (*Manager, error) {
	var raw *dbus.Conn
	conn, err := sdbus.NewConnection(func() (*dbus.Conn, error) {
		c, err := dial(ctx, address)
		if err != nil {
			return nil, err
		}
		raw = c // The second wins; they hang up together.
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := conn.SystemStateContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("read the manager's state: %w", err)
	}
	return &Manager{conn: conn, raw: raw, lost: raw.Context().Done()}, nil
}

// dial offers the uid as the only proof of who we are: the library's other method
// reads and writes cookies in the home folder.
func dial(ctx context.Context, address string) (*dbus.Conn, error) {
	uid := dbus.AuthExternal(strconv.Itoa(os.Geteuid()))
	return dbus.Connect(address, dbus.WithContext(ctx), dbus.WithAuth(uid))
}
