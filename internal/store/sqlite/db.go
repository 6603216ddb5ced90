// Package sqlite keeps the fleet's memory in one SQLite file, which many short-lived processes open at once. It owns the
// file: who may open it, its schema, its lock and its clock.
//
// Every exported method is one transaction with one reading of the clock. A write reads it once it holds the write lock:
// waiting for the lock neither shortens a time-to-live nor makes an expired claim look alive. A read does so before its
// first statement, and delays no writer. Writes under a claim repeat its holder and epoch. Package book decides, on rows
// that package table reads and writes. Other processes write between any two calls: a caller must not keep a result
// longer than it can afford to be wrong.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mattn/go-sqlite3"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

// File is the store's file name in the state folder.
const File = "stint.db"

const (
	// A claim takes well under a millisecond; the wait is for storms, where SQLite's back-off is not fair. It must stay
	// below the time a unit has to stop, or a cancelled worker could not record its end.
	busyTimeoutMillis = "15000"
	// A writer locks at its start: an upgrade half-way can be refused, however long it waits.
	beginWrite = "begin immediate"
	beginRead  = "begin deferred"
	// Readers and one writer at a time, without blocking each other.
	journalMode = "WAL"
	// A grant that a caller knows of must survive a power cut.
	synchronous = "FULL"
	// Statements that a connection keeps prepared: supervisors repeat a few.
	statements = "32"
	// One connection: a process does one thing at a time here, and a second connection costs a millisecond.
	maxConnections = 1
)

// mode is the way to open a file.
type mode int

const (
	writes mode = iota
	reads
	frozen // a file that nobody can write; no lock is taken
)

var _ store.Store = (*DB)(nil)

// DB is an open store.
type DB struct {
	book.Writer  // on this store
	table.Reader // of it

	sql    *sql.DB
	now    func() time.Time // by the machine's clock
	start  func() Start
	learn  rank.Settings
	dryRun bool
	path   string
	file   os.FileInfo // the file that was opened; nil in memory
}

// Options name a store and its owner.
type Options struct {
	Dir       string // the state folder
	Fleet     fleet.Name
	Workspace string
	Now       func() time.Time // the machine's clock, which may be set
	Start     func() Start     // the machine's boot; nil: the store uses the machine's clock
	Settings  rank.Settings    // for learning from grades
	Host      func() string    // this machine's identity, for cooldowns after its own sessions; nil or empty: it has none
	DryRun    bool             // undo every write; a missing store is made in memory
}

// Open opens the store for writing, and makes it, with its folder, if there is none. A store of another fleet or
// workspace, or of a newer schema, is refused with an error that wraps [fleet.ErrUsage].
func Open(ctx context.Context, o Options) (*DB, error) {
	path := filepath.Join(o.Dir, File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if o.DryRun {
			return inMemory(ctx, o)
		}
		if err := create(ctx, path, o); err != nil {
			return nil, fmt.Errorf("create store %s: %w", path, translate(err))
		}
	}
	return open(ctx, path, o, writes)
}

// OpenRead opens an existing store for reading. Without one it returns an error that wraps [fleet.ErrNotFound] and
// creates nothing.
//
// Even a reader makes a file beside the store, to see what writers do. On a full or read-only disk neither can: then the
// file itself is read, unless a log beside it holds later writes.
func OpenRead(ctx context.Context, o Options) (*DB, error) {
	path := filepath.Join(o.Dir, File)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("store %s: %w", path, fleet.ErrNotFound)
	}
	d, err := open(ctx, path, o, reads)
	if err != nil && unwritable(err) && settled(path) {
		d, err = open(ctx, path, o, frozen)
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.sql.ExecContext(ctx, "pragma query_only = 1"); err != nil {
		return nil, errors.Join(translate(err), d.Close())
	}
	return d, nil
}

// unwritable reports whether an error may come from a disk that cannot be written.
func unwritable(err error) bool {
	var e sqlite3.Error
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.As(err, &e) &&
		(e.Code == sqlite3.ErrFull || e.Code == sqlite3.ErrIoErr || e.Code == sqlite3.ErrReadonly || e.Code == sqlite3.ErrCantOpen)
}

// settled reports whether the file itself has all writes.
func settled(path string) bool {
	log, err := os.Stat(path + "-wal")
	return errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0
}

// Close closes the store.
func (d *DB) Close() error { return d.sql.Close() }

func open(ctx context.Context, path string, o Options, how mode) (*DB, error) {
	db, err := connect(path, how)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	d := newDB(db, o)
	d.dryRun, d.path = o.DryRun, path
	if err = d.check(ctx, o, how != writes); err == nil {
		d.file, err = os.Stat(path)
	}
	if err != nil {
		return nil, errors.Join(notOpened(path, err), d.Close())
	}
	return d, nil
}

// notOpened is the error of a store that could not be opened. Where SQLite cannot make files beside it, it gives the cause of
// its second try, to read them, which are not there.
func notOpened(path string, err error) error {
	folder := filepath.Dir(path)
	if denied := syscall.Access(folder, 2 /* W_OK */); unwritable(err) && denied != nil {
		err = fmt.Errorf("%s cannot be written: %w", folder, denied)
	}
	return fmt.Errorf("open store %s: %w", path, translate(err))
}

func newDB(db *sql.DB, o Options) *DB {
	d := &DB{sql: db, now: o.Now, start: o.Start, learn: o.Settings}
	d.Writer, d.Reader = book.Writer{Engine: d}, table.Reader{Source: d, Host: o.Host}
	return d
}

// connect opens the file without ever creating it: a mistyped path must not
// become a second, empty store in which every claim is free.
func connect(path string, how mode) (*sql.DB, error) {
	if how == frozen {
		return connectAs(path, "ro", "immutable")
	}
	return connectAs(path, "rw")
}

func connectAs(path, mode string, also ...string) (*sql.DB, error) {
	query := url.Values{
		"mode":             {mode},
		"_busy_timeout":    {busyTimeoutMillis},
		"_foreign_keys":    {"1"},
		"_synchronous":     {synchronous},
		"_stmt_cache_size": {statements},
	}
	for _, key := range also {
		query.Set(key, "1")
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	db, err := sql.Open("sqlite3", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxConnections)
	return db, nil
}

// check reads the schema's version and the store's owner.
func (d *DB) check(ctx context.Context, o Options, reads bool) error {
	var have int
	if err := d.sql.QueryRowContext(ctx, "pragma user_version").Scan(&have); err != nil {
		return err
	}
	if have > 0 && have < table.Latest() && reads {
		return fleet.WithHint(fmt.Errorf("its schema is version %d, not %d yet", have, table.Latest()),
			"any command that writes brings it up to date, such as: stint reap")
	}
	if have != table.Latest() {
		if err := d.migrate(ctx, have); err != nil {
			return err
		}
	}
	name, workspace, moved, err := d.owner(ctx)
	switch {
	case err != nil:
		return err
	case moved != "":
		return store.Moved(moved)
	case name != o.Fleet:
		return fleet.WithHint(
			fmt.Errorf("it belongs to fleet %q, not %q: %w", name, o.Fleet, fleet.ErrUsage),
			`give this fleet a "state" folder of its own in stint.toml`)
	case workspace != o.Workspace:
		return fleet.WithHint(
			fmt.Errorf("it belongs to workspace %s, not %s: %w", workspace, o.Workspace, fleet.ErrUsage),
			`give this workspace a "state" folder of its own in stint.toml; if the workspace was moved, run: stint init`)
	}
	return nil
}

func (d *DB) owner(ctx context.Context) (name fleet.Name, workspace, moved string, err error) {
	err = d.sql.QueryRowContext(ctx, "select name, workspace, moved from fleet").Scan(&name, &workspace, &moved)
	return name, workspace, moved, err
}

// update runs fn in a transaction that holds the write lock from its start. Nothing interrupts it.
func (d *DB) update(ctx context.Context, fn func(context.Context, *sql.Conn) error) error {
	defer d.turn(ctx)()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	return d.within(ctx, beginWrite, func(c *sql.Conn) (keep bool, err error) {
		if err := fn(ctx, c); err != nil || d.dryRun {
			return false, err
		}
		return true, d.inPlace()
	})
}

// within runs fn in a transaction. It begins and ends it by hand: the driver begins all of a connection's alike, and
// database/sql has a goroutine watch each. Neither end may be interrupted, or the connection would stay in it.
func (d *DB) within(ctx context.Context, begin string, fn func(*sql.Conn) (keep bool, err error)) (err error) {
	c, err := d.sql.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	whole := context.WithoutCancel(ctx)
	if _, err := c.ExecContext(whole, begin); err != nil {
		return translate(err)
	}
	keep, err := fn(c)
	if err == nil && keep {
		if _, err = c.ExecContext(whole, "commit"); err == nil {
			return nil
		}
	}
	if _, undone := c.ExecContext(whole, "rollback"); err == nil {
		err = undone // the transaction may be over after a failure
	}
	return translate(err)
}

// inPlace fails if the store was removed or replaced since it was opened: writes to a file that nobody can find again
// would be lost silently.
func (d *DB) inPlace() error {
	if d.file == nil {
		return nil
	}
	there, err := os.Stat(d.path)
	if err == nil && os.SameFile(there, d.file) {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("store %s was removed or replaced while it was in use", d.path),
		"nothing was recorded; let the fleet's sessions end, then run: stint init")
}

// Read reads rows as of one instant. Even on a store opened for writing, it takes no lock that delays others.
func (d *DB) Read(ctx context.Context, ask func(now time.Time) []table.Statement) (err error) {
	return d.within(ctx, beginRead, func(c *sql.Conn) (keep bool, err error) {
		clocks, err := d.clocks(ctx, c)
		if err != nil {
			return false, err
		}
		return false, run(ctx, c, ask(clocks.now())...)
	})
}

// Change runs a write that book decides.
func (d *DB) Change(ctx context.Context, k book.Kind, decide func(book.Tx) error) error {
	return d.update(ctx, func(ctx context.Context, c *sql.Conn) error {
		now, err := d.wind(ctx, c, k == book.Firing)
		if err != nil {
			return err
		}
		tx := table.NewTx(d.learn, func(list []table.Statement) error { return run(ctx, c, list...) })
		tx.Begin(now, time.Time{})
		if err := tx.Decide(func() error { return decide(book.Tx{Tx: tx}) }); err != nil {
			return err
		}
		return run(ctx, c, tx.Save()...)
	})
}

// run runs statements, one after the other.
func run(ctx context.Context, on *sql.Conn, list ...table.Statement) error {
	for _, s := range list {
		if err := one(ctx, on, s); err != nil {
			return err
		}
	}
	return nil
}

func one(ctx context.Context, on *sql.Conn, s table.Statement) (err error) {
	values, err := s.Values()
	if err != nil {
		return err
	}
	if s.Scan == nil {
		_, err := on.ExecContext(ctx, s.SQL, values...)
		return err
	}
	rows, err := on.QueryContext(ctx, s.SQL, values...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := s.Scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

const hintNoStore = "this is not a store; restore stint.db from a backup, or move it away and begin anew: stint init --new-store"

// translate adds to errors of SQLite and the system what the operator can do.
func translate(err error) error {
	if fleet.Hint(err) != "" {
		return err
	}
	for fault, hint := range map[error]string{
		syscall.EROFS:  "the disk of the state folder is read-only: mount it for writing",
		syscall.ENOSPC: "the disk is full",
		syscall.EACCES: "the state folder must belong to this user",
	} {
		if errors.Is(err, fault) {
			return fleet.WithHint(err, hint)
		}
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	hints := map[sqlite3.ErrNo]string{
		sqlite3.ErrBusy:     "another stint process holds the store for long; look at: stint status",
		sqlite3.ErrFull:     "the disk is full; nothing was written",
		sqlite3.ErrIoErr:    "the state folder cannot be written; look at the disk: df",
		sqlite3.ErrReadonly: "the state folder is read-only for this user",
		sqlite3.ErrCantOpen: "check that the state folder exists, can be written, and belongs to this user",
		sqlite3.ErrCorrupt:  "the store is damaged; restore stint.db from a backup, or move it away and begin anew: stint init --new-store",
		sqlite3.ErrNotADB:   hintNoStore,
	}
	return fleet.WithHint(err, hints[e.Code])
}
