package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// migrate brings a store from version have to the latest, in one transaction.
func (d *DB) migrate(ctx context.Context, have int) error {
	return d.update(ctx, func(ctx context.Context, c *sql.Conn) error {
		// Another process may have been quicker while this one waited.
		if err := c.QueryRowContext(ctx, "pragma user_version").Scan(&have); err != nil {
			return err
		}
		if have > table.Latest() {
			return fleet.WithHint(
				fmt.Errorf("its schema is version %d, this program knows %d: %w", have, table.Latest(), fleet.ErrUsage),
				"use the stint that wrote it, or a newer one")
		}
		if have == 0 {
			return errEmpty()
		}
		return apply(ctx, c, have)
	})
}

func errEmpty() error { return fleet.WithHint(errors.New("it is empty: not a store"), hintNoStore) }

// apply runs the migrations after version have.
func apply(ctx context.Context, c *sql.Conn, have int) error {
	for i, m := range table.Migrations()[have:] {
		if _, err := c.ExecContext(ctx, m.SQL); err != nil {
			return fmt.Errorf("migrate with %s: %w", m.Name, err)
		}
		if _, err := c.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", have+i+1)); err != nil {
			return err
		}
	}
	return nil
}

// create makes a complete store under a name of its own and links it into place: a process that opens stint.db finds
// either nothing or a finished store in WAL mode. If many processes create it at once, one wins. Dying before the link
// leaves only a stray stint.db.new-* file, which nobody opens.
func create(ctx context.Context, path string, o Options) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), File+".new-*") // mode 0600
	if err != nil {
		return err
	}
	draft := f.Name()
	defer func() {
		// The last connection's close folded the write-ahead log into the file,
		// unless there was no room for that.
		for _, path := range []string{draft, draft + "-wal", draft + "-shm"} {
			if e := os.Remove(path); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	if err := fill(ctx, draft, o); err != nil {
		return err
	}
	if err := os.Link(draft, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// fill writes the schema and the owner into an empty database file.
func fill(ctx context.Context, path string, o Options) error {
	db, err := connect(path, writes)
	if err != nil {
		return err
	}
	d := newDB(db, o)
	_, err = db.ExecContext(ctx, "pragma journal_mode = "+journalMode)
	if err == nil {
		err = d.fill(ctx, o)
	}
	return errors.Join(err, d.Close())
}

func (d *DB) fill(ctx context.Context, o Options) error {
	return d.update(ctx, func(ctx context.Context, c *sql.Conn) error {
		if err := apply(ctx, c, 0); err != nil {
			return err
		}
		_, err := c.ExecContext(ctx, "insert into fleet (one, name, workspace) values (1, ?, ?)", o.Fleet, o.Workspace)
		return err
	})
}

// inMemory makes a store that ends with the process, for a dry run of a fleet without one.
func inMemory(ctx context.Context, o Options) (*DB, error) {
	db, err := connectAs("/stint", "memory")
	if err != nil {
		return nil, err
	}
	d := newDB(db, o)
	if err := d.fill(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// syncFolder makes a new name in dir survive a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Adopt gives the store at o.Dir to o.Workspace if its old workspace no longer exists: the operator moved it. It returns
// the old workspace, or "" if nothing had to change.
func Adopt(ctx context.Context, o Options) (former string, err error) {
	path := filepath.Join(o.Dir, File)
	db, err := connect(path, writes)
	if err != nil {
		return "", err
	}
	d := newDB(db, o)
	defer func() { err = errors.Join(err, d.Close()) }()
	var version int
	if err = db.QueryRowContext(ctx, "pragma user_version").Scan(&version); err == nil && version == 0 {
		err = errEmpty()
	}
	if err != nil {
		return "", notOpened(path, err)
	}
	name, workspace, _, err := d.owner(ctx)
	if err != nil {
		return "", fmt.Errorf("read owner of %s: %w", path, translate(err))
	}
	if name != o.Fleet || workspace == o.Workspace || exists(workspace) {
		return "", nil
	}
	if o.DryRun {
		return workspace, nil
	}
	if _, err := db.ExecContext(ctx, "update fleet set workspace = ? where workspace = ?", o.Workspace, workspace); err != nil {
		return "", fmt.Errorf("adopt store %s: %w", path, translate(err))
	}
	return workspace, nil
}

// exists reports whether something is at path. A path that cannot be looked at counts as there.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
