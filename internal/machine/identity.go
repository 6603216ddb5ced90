// Package machine describes the machine of a process to the fleet.
//
// A state folder has the [Identity] of its machine, and [Local] knows the machine's present boot. A process can judge
// only sessions of its own machine; those from before its boot are gone. [Memory] keeps what the machine has seen of a
// shared store, and [Pressure] measures its shortage of memory.
package machine

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// IdentityFile is the identity's name in the state folder.
const IdentityFile = "host"

const schema = "stint/identity@1"

// Identity identifies the machine of a state folder.
type Identity struct {
	ID      string `json:"id"`      // random
	Name    string `json:"name"`    // the machine's name when it got the identity, for people
	Machine string `json:"machine"` // machine-id(5) at that time; empty: it had none, like many containers
}

// Local knows the machine of this process.
type Local struct {
	id   string // machine-id(5); empty: it has none
	root fs.FS
}

// This reads the machine's facts below a root folder.
func This(root fs.FS) Local {
	m := Local{id: line(root, "etc/machine-id"), root: root}
	if m.id == "uninitialized" { // during the first boot
		m.id = ""
	}
	return m
}

// Boot returns an id that differs for each boot; empty: unknown. It is read only on demand: a claim does not need it.
func (m Local) Boot() string { return line(m.root, "proc/sys/kernel/random/boot_id") }

func line(root fs.FS, path string) string {
	text, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Elapsed returns the time since the machine booted, sleep included. Setting a clock does not change it.
func Elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that runs a session's box has it
	}
	return time.Duration(t.Nano())
}

// Foreign reports whether the identity is of another machine. It is false if either has no machine-id: nobody can know.
func (i Identity) Foreign(m Local) bool {
	return i.Machine != "" && m.id != "" && i.Machine != m.id
}

// Seat returns the location of the sessions that a process on this machine starts, and whose life it can judge. If
// the identity is another machine's, there are no such sessions.
//
// A boot of a machine without a machine-id proves nothing: its state folder may have moved to another machine while
// sessions live on the first. There only the locks decide.
func (i Identity) Seat(m Local) fleet.Location {
	switch {
	case i.Foreign(m):
		return fleet.Location{Host: "none"}
	case i.Machine == "" || m.id == "":
		return fleet.Location{Host: i.ID}
	}
	return fleet.Location{Host: i.ID, Boot: m.Boot()}
}

// Host describes the machine with this identity, as far as this process sees it.
func (i Identity) Host(m Local) fleet.Host {
	return fleet.Host{ID: i.ID, Name: i.Name, Machine: i.Machine, Boot: i.Seat(m).Boot, Arch: runtime.GOARCH}
}

const hintAdopt = "stint host adopt"

// Check refuses a state folder that was copied from another machine, where its sessions may still live. A folder without
// an identity gets one of this machine if create is set.
func Check(state string, m Local, create bool) error {
	i, err := ReadIdentity(state)
	if errors.Is(err, fleet.ErrNotFound) && create {
		return found(state, m)
	}
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return nil
	case err != nil:
		return err
	case i.Foreign(m):
		return fleet.WithHint(
			fmt.Errorf("state folder %s was copied from another host, %s, whose sessions may live: %w", state, i.Name, fleet.ErrUsage), hintAdopt)
	}
	return nil
}

// ReadIdentity reads the identity of a state folder. Without one the error wraps [fleet.ErrNotFound].
func ReadIdentity(state string) (Identity, error) {
	path := filepath.Join(state, IdentityFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Identity{}, fmt.Errorf("%s: %w", path, fleet.ErrNotFound)
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read who this machine is: %w", err)
	}
	var kept onDisk
	if err := json.Unmarshal(text, &kept); err != nil || kept.Schema != schema || kept.ID == "" {
		return Identity{}, fleet.WithHint(fmt.Errorf("%s says of no machine who it is: %w", path, fleet.ErrUsage), hintAdopt)
	}
	return kept.Identity, nil
}

// Adopt gives a state folder a new identity of this machine if its own is another machine's or unreadable, and sets the
// name. It reports false if nothing had to change.
//
// If we die in it, the folder keeps its old identity.
func Adopt(state string, m Local, name string, dryRun bool) (i Identity, changed bool, err error) {
	i, err = ReadIdentity(state)
	switch {
	case err != nil || i.Foreign(m):
		i = fresh(m)
	case name == "" || name == i.Name:
		return i, false, nil
	}
	i.Name = cmp.Or(name, i.Name)
	if dryRun {
		return i, true, nil
	}
	text, err := i.text()
	if err != nil {
		return i, false, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return i, false, err
	}
	err = renameio.WriteFile(filepath.Join(state, IdentityFile), text, 0o600, renameio.WithExistingPermissions())
	return i, err == nil, err
}

// onDisk is the format of the identity's file.
type onDisk struct {
	Schema string `json:"schema"`
	Identity
}

func fresh(m Local) Identity {
	name, _ := os.Hostname() // only for people
	return Identity{ID: strings.ToLower(rand.Text()), Name: name, Machine: m.id}
}

func (i Identity) text() ([]byte, error) {
	text, err := json.Marshal(onDisk{schema, i})
	return append(text, '\n'), err
}

// found gives a state folder its first identity. If several processes do so, one wins.
func found(state string, m Local) error {
	text, err := fresh(m).text()
	if err == nil {
		err = WriteOnce(filepath.Join(state, IdentityFile), text)
	}
	if err != nil {
		return fmt.Errorf("say which machine this is: %w", err)
	}
	return nil
}

// WriteOnce makes a file of mode 0600, and its folder, unless the file exists. If several processes do so, one wins.
//
// If we die before the link, a stray draft stays, which nobody reads.
func WriteOnce(path string, text []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(dir, filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()
	_, err = draft.Write(text)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
