// Package machine holds what a fleet knows of the machine that a process is on.
//
// A state folder has the [Identity] of its machine, and [Local] says which start of the machine this
// is. A process knows only of sessions of its own machine, and that those of before its start are
// gone. [Memory] keeps what the machine has seen of a shared store, and [Pressure] says how short
// of memory the machine itself is.
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
	Name    string `json:"name"`    // of the machine when it got the identity, for people
	Machine string `json:"machine"` // machine-id(5) then; empty: it had none, as many containers
}

// Local has the facts about the machine of this process.
type Local struct {
	id   string // machine-id(5); empty: it has none
	root fs.FS
}

// This reads it below a root folder.
func This(root fs.FS) Local {
	m := Local{id: line(root, "etc/machine-id"), root: root}
	if m.id == "uninitialized" { // while it boots for the first time
		m.id = ""
	}
	return m
}

// Boot is another one each time the machine is started; empty: nobody knows. It is read only
// where it is asked for, as a claim has no use for it.
func (m Local) Boot() string { return line(m.root, "proc/sys/kernel/random/boot_id") }

func line(root fs.FS, path string) string {
	text, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Elapsed is the time since the machine was started, also while it slept. No clock is set by it.
func Elapsed() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic(err) // every kernel that runs a session's box has it
	}
	return time.Duration(t.Nano())
}

// Foreign reports whether the identity is of another machine. Where either has no machine-id,
// nobody can know.
func (i Identity) Foreign(m Local) bool {
	return i.Machine != "" && m.id != "" && i.Machine != m.id
}

// Seat is the place of the sessions that a process on this machine starts, and of those whose life it
// can judge. With an identity of another machine there are none.
//
// A start of a machine without a machine-id proves nothing: its state folder may have moved to
// another, while the sessions live on. There the locks decide alone.
func (i Identity) Seat(m Local) fleet.Location {
	switch {
	case i.Foreign(m):
		return fleet.Location{Host: "none"}
	case i.Machine == "" || m.id == "":
		return fleet.Location{Host: i.ID}
	}
	return fleet.Location{Host: i.ID, Boot: m.Boot()}
}

// Host describes a machine with the identity, by the facts that can be seen from here.
func (i Identity) Host(m Local) fleet.Host {
	return fleet.Host{ID: i.ID, Name: i.Name, Machine: i.Machine, Boot: i.Seat(m).Boot, Arch: runtime.GOARCH}
}

const hintAdopt = "stint host adopt"

// Check refuses a state folder that was copied from another machine, on which its sessions may
// live. It gives a folder that has no identity yet one of this machine, unless it is only to look.
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

// ReadIdentity reads the identity of a state folder. Where there is none yet the error wraps
// [fleet.ErrNotFound].
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

// Adopt gives a state folder an identity of this machine, in place of one that is another's or
// cannot be read, or another name. It reports false where it has what is wanted already.
//
// If we die in it, the folder has the identity that it had.
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

// onDisk is an identity as it is in its file.
type onDisk struct {
	Schema string `json:"schema"`
	Identity
}

func fresh(m Local) Identity {
	name, _ := os.Hostname() // it is for people
	return Identity{ID: strings.ToLower(rand.Text()), Name: name, Machine: m.id}
}

func (i Identity) text() ([]byte, error) {
	text, err := json.Marshal(onDisk{schema, i})
	return append(text, '\n'), err
}

// found gives a state folder its first identity. One of many processes that do so wins.
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

// WriteOnce makes a file of mode 0600, and its folder, unless there is one: of many processes that do so one wins.
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
