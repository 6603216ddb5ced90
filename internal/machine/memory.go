package machine

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"stint/internal/store"
)

// SeenFile names the file in the state folder that keeps the last known state of a shared store.
const SeenFile = "store.seen"

// Memory keeps, in a state folder, what this machine has seen of a shared store.
type Memory string

// Seen reads the memory. If the file is unreadable, the machine has seen nothing.
func (m Memory) Seen() (s store.Seen) {
	_ = m.locked(os.O_RDONLY, (*flock.Flock).RLock, func(f *os.File) (err error) {
		s, err = read(f)
		return err
	})
	return s
}

// Remember keeps s, unless something later is there. If the machine dies before that is on disk, the memory lags behind
// the store.
func (m Memory) Remember(s store.Seen) {
	_ = m.change(func(before store.Seen) store.Seen {
		if before.Before(s) {
			return s
		}
		return before
	})
}

// Accept forgets the store's timeline: a person says that a later one is gone for good. It returns the memory before.
func (m Memory) Accept(dryRun bool) (was store.Seen, err error) {
	err = m.change(func(before store.Seen) store.Seen {
		was = before
		if !dryRun {
			before.Timeline = 0
		}
		return before
	})
	return was, err
}

// change replaces the memory, under its lock.
func (m Memory) change(to func(store.Seen) store.Seen) error {
	return m.locked(os.O_CREATE|os.O_RDWR, (*flock.Flock).Lock, func(f *os.File) error {
		before, _ := read(f)
		after := to(before)
		if after == before {
			return nil
		}
		text, err := json.Marshal(after)
		if err != nil {
			return err
		}
		// If we die between the two, readers stop at the line's end.
		if _, err := f.WriteAt(append(text, '\n'), 0); err != nil {
			return err
		}
		return f.Truncate(int64(len(text)) + 1)
	})
}

func read(f io.ReadSeeker) (s store.Seen, err error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return store.Seen{}, err
	}
	if err := json.NewDecoder(f).Decode(&s); err != nil {
		return store.Seen{}, err
	}
	return s, nil
}

// locked opens the file under a lock.
func (m Memory) locked(flag int, lock func(*flock.Flock) error, do func(*os.File) error) (err error) {
	l := flock.New(filepath.Join(string(m), SeenFile), flock.SetFlag(flag), flock.SetPermissions(0o600))
	if err := lock(l); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	f, err := os.OpenFile(l.Path(), flag, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return do(f)
}
