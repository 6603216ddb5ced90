// Package postgres is the memory of a fleet on many machines: a schema in a PostgreSQL database, 14
// or newer, that every machine of the fleet connects to. It owns the connection: who may use the
// schema, its lock and its clock.
//
// Every write is one transaction. Its first round trip locks the fleet's one row, so that there is one writer at a time
// as in SQLite, then reads the server's clock, then the rows that package book asks for, ahead or first; the last writes
// and commits. What is asked for later takes one more trip: the writes of sessions and fires, and most of the others,
// take two. A renewal locks the claims alone that it is about: a jam of writers delays no session's heartbeat. Nothing is prepared, listened to or kept beyond a
// transaction, so that any pooler will do, and no connection stays open while an agent works.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
)

var _ store.Store = (*DB)(nil)

// DB is an open store.
type DB struct {
	book.Writer  // on this store
	table.Reader // of it

	line   *line
	schema string            // of the fleet, quoted
	limits []table.Statement // of each transaction
	steps  []table.Migration
	now    func() time.Time
	learn  rank.Settings
	dryRun bool
	past   past
	self   func() fleet.Host
	known  atomic.Bool            // this machine is on record: a write of this process saw to it
	reads  atomic.Pointer[string] // why nothing can be written here, as it was last read
}

// Options say which store to open, and whose it must be.
type Options struct {
	DSN      string // as libpq has them: a connection URI, or words such as service=NAME
	Fleet    fleet.Name
	Now      func() time.Time  // in place of the server's clock; nil: the server's
	Settings rank.Settings     // by which grades are learnt from
	Host     func() string     // this machine's identity: a category rests here after its sessions here; nil, or empty: it has none
	Self     func() fleet.Host // what this machine says of itself with the first write; nil, or without an id: nothing
	DryRun   bool              // undo whatever is written
	Patience time.Duration     // how long a transaction is tried; 0: 15 s
	Memory   store.Memory      // this machine's, of what it has seen; nil: nobody looks whether the store lost writes
	Pause    time.Duration     // for which nothing is granted after that
}

// Open opens a fleet's store, which [Migrate] has made. Nothing is asked of the server before the
// first transaction.
func Open(o Options) (*DB, error) {
	config, err := pgconn.ParseConfig(o.DSN)
	if err != nil {
		return nil, fleet.WithHint(fmt.Errorf("store: %w", translate(err)), "~/.pg_service.conf, or the file that PGSERVICEFILE names, says where the store is: stint help hosts")
	}
	past := past{o.Memory, o.Pause, o.Host}
	line := newLine(config, cmp.Or(o.Patience, patience))
	past.guard(config)
	d := &DB{
		past: past, line: line, schema: schemaOf(o.Fleet), limits: limits(schemaOf(o.Fleet), line.most), steps: table.Migrations(),
		now: o.Now, learn: o.Settings, dryRun: o.DryRun, self: o.Self,
	}
	d.Writer, d.Reader = book.Writer{Engine: d}, table.Reader{Source: d, Host: o.Host}
	return d, nil
}

// Close closes the store.
func (d *DB) Close() error { return d.line.close() }

// Limits of a transaction: others wait for none that is stuck, and an administrator's
// synchronous_commit = off does not reach claims. They end with the transaction. The server gives up
// before patience does, for the error to say which limit it was; and it frees the row of a client
// that vanished before those that wait for it give up. No statement is so long that to compile it pays. Fractions come
// as they are.
func limits(schema string, most time.Duration) (list []table.Statement) {
	part := func(n, of int64) string { return strconv.FormatInt(max(1, most.Milliseconds()*n/of), 10) }
	for _, limit := range []string{
		"search_path = " + schema,
		"idle_in_transaction_session_timeout = " + part(1, 3),
		"lock_timeout = " + part(2, 3),
		"statement_timeout = " + part(4, 5),
		"synchronous_commit = on",
		"jit = off",
		"extra_float_digits = 1",
	} {
		list = append(list, table.Statement{SQL: "set local " + limit})
	}
	return list
}

// The clock is read after every lock: a row that was waited for may have expired meanwhile. The time, in seconds, is
// kept for statements of the same trip that need its day.
const (
	clock = "select set_config('stint.now', extract(epoch from clock_timestamp())::text, true)"
	today = "to_char(to_timestamp(current_setting('stint.now')::double precision) at time zone 'UTC', 'YYYY-MM-DD')"
)

// The row that every transaction reads first, and every write but a renewal locks.
const (
	terms = "select moved, schema, compat from fleet"
	lock  = terms + " for update"
)

// Whether anything can be written.
const standing = "select pg_is_in_recovery(), not has_any_column_privilege('fleet', 'update')"

func (d *DB) stands(row table.Scanner) error {
	var standby, reader bool
	if err := row.Scan(&standby, &reader); err != nil {
		return err
	}
	var why string
	switch {
	case standby:
		why = "the server of the store is a standby, which only reads, and may be behind"
	case reader:
		why = "the role " + d.line.config.User + " of the store only reads"
	}
	d.reads.Store(&why)
	return nil
}

// OnlyReads says why nothing can be written here, by the last look; empty: it can.
func (d *DB) OnlyReads() string {
	if why := d.reads.Load(); why != nil {
		return *why
	}
	return ""
}

// mayUse refuses a store that was moved, or is for programs of other versions.
func (d *DB) mayUse(row table.Scanner) error {
	var (
		to             string
		schema, compat int
	)
	if err := row.Scan(&to, &schema, &compat); err != nil {
		return err
	}
	return cmp.Or(store.Moved(to), fits(schema, compat, len(d.steps)))
}

// fits refuses a store whose schema lacks what a program knows, or that older programs such as this one
// may use no more. A newer one that has all of it will do: columns that a program does not know have
// defaults.
func fits(schema, compat, known int) error {
	switch {
	case schema < known:
		return fleet.WithHint(fmt.Errorf("the store's schema is version %d, and this stint needs %d: %w", schema, known, fleet.ErrUsage),
			"bring the store up to date, once for all machines: stint store migrate")
	case compat > known:
		return fleet.WithHint(fmt.Errorf("the store's schema is version %d, for programs that know %d or newer, and this stint knows %d: %w",
			schema, compat, known, fleet.ErrUsage), "upgrade stint on this machine; the store is as it should be")
	}
	return nil
}

// Change runs a write that book decides. If we die before the last trip nothing was written, if in
// it all or nothing was: a write may be repeated by a caller who never heard its answer.
func (d *DB) Change(ctx context.Context, k book.Kind, decide func(book.Tx) error) error {
	return d.line.use(ctx, true, func(ctx context.Context, c *pgconn.PgConn) error {
		var self fleet.Host                                                             // to be taken down
		if d.self != nil && k != book.Renewal && k != book.Copying && !d.known.Load() { // a copy finds an empty store
			self = d.self()
		}
		w := write{d: d, m: d.past.meeting(), kind: k}
		w.tx = book.Tx{Tx: table.NewTx(d.learn, func(list []table.Statement) error { return w.read(ctx, c, list) })}
		w.tx.Far(today)
		if self.ID != "" {
			w.tx.Ahead(w.tx.About(self)...)
		}
		err := w.tx.Decide(func() error {
			err := decide(w.tx)
			if err == nil && self.ID != "" {
				w.tx.Introduce(self)
			}
			return err
		})
		switch {
		case w.failed != nil:
			return w.failed
		case err != nil && w.begun:
			_ = say(ctx, c, "rollback") // a connection on which it fails is closed
			return decidedError{err}
		case err != nil:
			return decidedError{err}
		case d.dryRun:
			return say(ctx, c, "rollback")
		}
		err = w.commit(ctx, c)
		if err == nil && self.ID != "" {
			d.known.Store(true)
		}
		return err
	})
}

// write is a write in the making.
type write struct {
	d       *DB
	tx      book.Tx
	m       book.Meeting
	kind    book.Kind
	begun   bool
	failed  error       // why the server did not answer
	fleet   table.Fleet // the row; zero for a renewal
	written int64       // by this machine
}

// read asks the server. With the first question the write begins: the fleet's row is locked, unless only a claim is
// renewed, then claims, by key, for two that lock several never to wait for each other; then the clock is read, for what
// was waited for may have expired meanwhile.
func (w *write) read(ctx context.Context, c *pgconn.PgConn, list []table.Statement) error {
	for i := range list {
		if list[i].Lock && !w.d.dryRun {
			list[i].SQL += " order by key for update"
		}
	}
	if !w.begun {
		w.begun = true
		w.failed = w.begin(ctx, c, list)
	} else {
		w.failed = run(ctx, c, list)
	}
	return w.failed
}

func (w *write) begin(ctx context.Context, c *pgconn.PgConn, list []table.Statement) error {
	row := table.Statement{SQL: lock, Scan: w.d.mayUse}
	if w.kind == book.Renewal || w.d.dryRun {
		row.SQL = terms
	}
	trip := append(append(w.d.begins("begin"), w.d.past.asks(&w.m)...), row)
	if w.kind != book.Renewal {
		trip = append(trip, table.Fleets().Select(func(f table.Fleet) { w.fleet = f }, ""))
	}
	if w.counts() {
		trip = append(trip, table.Writes().Select(func(a table.Acknowledged) { w.written = a.Writes }, "where host = $1", w.m.Host))
	}
	locks := plain.Kept(list, func(s table.Statement) bool { return s.Lock })
	rest := plain.Kept(list, func(s table.Statement) bool { return !s.Lock })
	var now, local time.Time
	err := run(ctx, c, slices.Concat(trip, locks, []table.Statement{w.d.clock(&now, &local)}, rest))
	if isCode(err, codeForbidden) {
		return fmt.Errorf("the role %s of the store may not write: %w", w.d.line.config.User, err)
	}
	if err != nil {
		return err
	}
	if w.m.Seen.Deposed(w.m.Server) {
		return deposed{w.m}
	}
	w.tx.Tx.Begin(now, local)
	w.tx.Fleet.Know(w.fleet)
	if w.counts() && !w.d.dryRun {
		return w.meet(ctx, c)
	}
	return nil
}

// counts reports whether the write is one by which losses are found out.
func (w *write) counts() bool { return w.kind != book.Renewal && w.m.Host != "" }

// meet compares what this machine has seen of the store with what the store says. The lineage is written before
// anything else is, and by itself, for what follows may be refused.
//
// If we die before the commit, the next writer finds the same; if after it, what follows is decided by it.
func (w *write) meet(ctx context.Context, c *pgconn.PgConn) error {
	row := w.fleet
	row.Lineage = w.m.Lineage(row.Lineage, w.written, w.tx.Now())
	if book.Same(row.Lineage, w.fleet.Lineage) {
		return nil
	}
	return cmp.Or(w.save(ctx, c, row, table.Fleets().Put(row)), error(passed{errMet}))
}

// commit writes what was decided.
func (w *write) commit(ctx context.Context, c *pgconn.PgConn) error {
	list := w.tx.Save()
	if !w.begun && len(list) > 0 { // nothing was asked
		if err := w.read(ctx, c, nil); err != nil {
			return err
		}
	}
	if !w.begun {
		return nil
	}
	row, _ := w.tx.Fleet.Get(table.Fleet{})
	return w.save(ctx, c, row, list...)
}

// save writes. If we die after it and before the machine remembers it, the write is not missed should the store lose it.
func (w *write) save(ctx context.Context, c *pgconn.PgConn, row table.Fleet, list ...table.Statement) error {
	counts := len(list) > 0 && w.counts()
	seen := store.Seen{
		System: w.m.Server.System, Timeline: w.m.Server.Timeline, Incarnation: row.Lineage.Incarnation,
		Host: w.m.Host, Writes: w.written + 1,
	}
	if counts {
		list = append(list, table.Writes().Put(table.Acknowledged{Host: w.m.Host, Writes: seen.Writes}))
	}
	err := run(ctx, c, append(list, table.Statement{SQL: "commit"}))
	if err == nil && counts {
		w.d.past.memory.Remember(seen)
	}
	return err
}

// isCode reports whether the server answered with an error of this code.
func isCode(err error, code string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == code
}

// Read reads rows as of one instant. It takes no lock.
func (d *DB) Read(ctx context.Context, ask func(now time.Time) []table.Statement) error {
	return d.line.use(ctx, false, func(ctx context.Context, c *pgconn.PgConn) error {
		var now time.Time
		m := d.past.meeting()
		trip := append(d.begins("begin isolation level repeatable read read only"), d.past.asks(&m)...)
		trip = append(trip, table.Statement{SQL: terms, Scan: d.mayUse}, table.Statement{SQL: standing, Scan: d.stands}, d.clock(&now, nil))
		if err := run(ctx, c, trip); err != nil {
			return err
		}
		if m.Seen.Deposed(m.Server) {
			return deposed{m}
		}
		return run(ctx, c, append(ask(now), table.Statement{SQL: "commit"}))
	})
}

// begins returns the statements by which a transaction begins.
func (d *DB) begins(how string) []table.Statement {
	return append([]table.Statement{{SQL: how}}, d.limits...)
}

// clock reads the store's clock, and beside it this machine's, unless somebody gave the store another.
func (d *DB) clock(now, local *time.Time) table.Statement {
	s := table.Statement{SQL: clock}
	if d.now != nil {
		micros := d.now().UnixMicro()
		s = table.Statement{SQL: "select set_config('stint.now', $1, true)", Args: []any{fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)}}
	}
	s.Scan = func(row table.Scanner) error {
		var seconds string // with six places
		err := row.Scan(&seconds)
		if err != nil {
			return err
		}
		micros, err := strconv.ParseInt(strings.Replace(seconds, ".", "", 1), 10, 64)
		*now = time.UnixMilli(micros / 1000).UTC()
		if d.now == nil && local != nil {
			*local = time.Now() //nolint:forbidigo // it is compared with the server's at the same instant
		}
		return err
	}
	return s
}
