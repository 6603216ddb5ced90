// Package postgres keeps the memory of a fleet on many machines, in a schema of a PostgreSQL database, 14 or newer, to
// which every machine connects. It owns the connection: who may use the schema, its lock and its clock.
//
// Every write is one transaction. Its first round trip locks the fleet's one row, so that there is one writer at a time
// as in SQLite, then reads the server's clock, then the rows that package book asks for ahead or first. The last trip
// writes and commits. Rows asked for later cost another trip: the writes of sessions and fires, and most others, take
// two. A renewal locks only its claims: a jam of writers delays no session's heartbeat. Nothing is prepared, listened to
// or kept beyond a transaction, so that any pooler will do. No connection stays open while an agent works.
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
	limits []table.Statement // set in each transaction
	steps  []table.Migration
	now    func() time.Time
	learn  rank.Settings
	dryRun bool
	past   past
	self   func() fleet.Host
	known  atomic.Bool            // a write of this process has stored this machine
	reads  atomic.Pointer[string] // the reason why nothing can be written here, at the last look
}

// Options name a store and its owner.
type Options struct {
	DSN      string // in libpq's form: a URI, or words such as service=NAME
	Fleet    fleet.Name
	Now      func() time.Time  // replaces the server's clock; nil: the server's
	Settings rank.Settings     // for learning from grades
	Host     func() string     // this machine's identity, for cooldowns after its own sessions; nil or empty: it has none
	Self     func() fleet.Host // this machine's description, for its first write; nil, or without an id: none
	DryRun   bool              // undo whatever is written
	Patience time.Duration     // time for all tries of a transaction; 0: 15 s
	Memory   store.Memory      // this machine's memory of the store; nil: losses are not noticed
	Pause    time.Duration     // after a loss, nothing is granted for this time
}

// Open opens a fleet's store, made by [Migrate]. The server is not asked before the first transaction.
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

// Limits of a transaction. Nobody waits for a stuck one, and an administrator's synchronous_commit = off does not reach
// claims. They end with the transaction. The server gives up before our patience ends, so that the error names the
// limit, and it frees the row of a vanished client before those that wait for the row give up. No statement is long
// enough for compilation to pay. Fractions keep all their digits.
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

// The clock is read after every lock: a claim may have expired while its row was waited for. The time, in seconds, is
// kept for statements of the same trip that need its day.
const (
	clock = "select set_config('stint.now', extract(epoch from clock_timestamp())::text, true)"
	today = "to_char(to_timestamp(current_setting('stint.now')::double precision) at time zone 'UTC', 'YYYY-MM-DD')"
)

// The row that every transaction reads first. Every write but a renewal locks it.
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

// OnlyReads tells why nothing could be written here at the last look; empty: it could.
func (d *DB) OnlyReads() string {
	if why := d.reads.Load(); why != nil {
		return *why
	}
	return ""
}

// mayUse refuses a store that was moved, or is for other versions of stint.
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

// fits refuses a schema that lacks something the program knows, or that excludes old programs such as this one. A newer
// schema that has everything will do: columns that a program does not know have defaults.
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

// Change runs a write that book decides. If we die before the last trip, nothing was written; in it, all or nothing. A
// caller that got no answer may repeat the write.
func (d *DB) Change(ctx context.Context, k book.Kind, decide func(book.Tx) error) error {
	return d.line.use(ctx, true, func(ctx context.Context, c *pgconn.PgConn) error {
		var self fleet.Host                                                             // this machine, to be stored
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
			_ = say(ctx, c, "rollback") // if this fails, the connection is closed
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

// write is a write in progress.
type write struct {
	d       *DB
	tx      book.Tx
	m       book.Meeting
	kind    book.Kind
	begun   bool
	failed  error       // the server's failure to answer
	fleet   table.Fleet // the fleet's row; zero for a renewal
	written int64       // by this machine
}

// read asks the server. The first question begins the write. It locks the fleet's row, except for a renewal, then claims
// in the order of their keys, so that two writes never wait for each other. Then it reads the clock: a claim may have
// expired during the wait.
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

// counts reports whether the write takes part in finding losses.
func (w *write) counts() bool { return w.kind != book.Renewal && w.m.Host != "" }

// meet compares this machine's memory of the store with the store. It writes the lineage first and by itself, since the
// rest may be refused.
//
// If we die before the commit, the next writer finds the same. If we die after it, the new lineage decides what follows.
func (w *write) meet(ctx context.Context, c *pgconn.PgConn) error {
	row := w.fleet
	row.Lineage = w.m.Lineage(row.Lineage, w.written, w.tx.Now())
	if book.Same(row.Lineage, w.fleet.Lineage) {
		return nil
	}
	return cmp.Or(w.save(ctx, c, row, table.Fleets().Put(row)), error(passed{errMet}))
}

// commit writes the decision.
func (w *write) commit(ctx context.Context, c *pgconn.PgConn) error {
	list := w.tx.Save()
	if !w.begun && len(list) > 0 { // the rule asked nothing
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

// save writes. If we die before the machine remembers the write, and the store loses it, nobody notices.
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

// begins returns the first statements of a transaction.
func (d *DB) begins(how string) []table.Statement {
	return append([]table.Statement{{SQL: how}}, d.limits...)
}

// clock reads the store's clock and this machine's, unless an option replaces the store's.
func (d *DB) clock(now, local *time.Time) table.Statement {
	s := table.Statement{SQL: clock}
	if d.now != nil {
		micros := d.now().UnixMicro()
		s = table.Statement{SQL: "select set_config('stint.now', $1, true)", Args: []any{fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)}}
	}
	s.Scan = func(row table.Scanner) error {
		var seconds string // with six decimals
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
