package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
)

// takeOne takes a claim that nobody else wants.
func takeOne(ctx context.Context, d *DB, key fleet.Key) error {
	g, _, err := d.Take(ctx, store.TakeRequest{Key: key, Holder: "bob", TTL: time.Hour})
	if err == nil && g != fleet.Granted {
		err = fmt.Errorf("got %s", g)
	}
	return err
}

// fails checks that an error has these words, and its hint others.
func fails(t *testing.T, err error, words, hint string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(fleet.Hint(err), hint) {
		t.Errorf("got %v, hint %q; want %q, hint %q", err, fleet.Hint(err), words, hint)
	}
}

// cutShort has a client stand still in the middle of a write, with the fleet's row locked, until it is
// let go on. Its write's end is sent then.
func cutShort(ctx context.Context, d *DB) (goOn chan<- bool, done <-chan error) {
	stands, on, end := make(chan bool, 1), make(chan bool), make(chan error, 1)
	go func() {
		first := true
		end <- d.Change(ctx, book.Any, func(p book.Tx) error {
			p.Now()
			if first {
				first = false
				stands <- true
				<-on
			}
			return nil
		})
	}()
	<-stands
	return on, end
}

// TestClientVanishes has a client stand still with the fleet's row locked: the server frees the row
// before those that wait for it give up, and the client that goes on writes all the same.
func TestClientVanishes(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Patience = 6 * time.Second
	goOn, done := cutShort(t.Context(), mustOpen(t, o))
	o.Patience = 0
	if err := takeOne(t.Context(), mustOpen(t, o), "k"); err != nil {
		t.Error(err)
	}
	goOn <- true
	if err := <-done; err != nil {
		t.Errorf("got %v of the client that stood still, want that it tries again", err)
	}
}

// TestLockedForLong has another session lock what a write needs, for a while or for ever: the write
// waits, or says what is wrong.
func TestLockedForLong(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"lock table %s.claims", "select from %s.fleet for update"} {
		for name, held := range map[string]float64{"a while": 2.2, "for ever": 60} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				o := testOptions(t)
				o.Patience = 3 * time.Second
				d := mustOpen(t, o)
				other := must.Get(pgx.Connect(t.Context(), o.DSN))(t)
				must.Get(other.Exec(t.Context(), "begin; "+fmt.Sprintf(what, d.schema)))(t)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := other.Exec(ctx, fmt.Sprintf("select pg_sleep(%f); commit", held))
					ended <- errors.Join(err, other.Close(context.WithoutCancel(ctx)))
				}()
				err := takeOne(t.Context(), d, "k")
				if name == "a while" {
					if err := errors.Join(err, <-ended); err != nil {
						t.Error(err)
					}
				} else {
					fails(t, err, "the store did not answer in 3s: ERROR: canceling statement due to lock timeout", "pg_locks")
				}
				cancel()
			})
		}
	}
}

// TestSlow has the server take too long at a statement.
func TestSlow(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Patience = 5 * time.Second
	d := mustOpen(t, o)
	err := d.line.use(t.Context(), true, func(ctx context.Context, c *pgconn.PgConn) error {
		return run(ctx, c, append(d.begins("begin"), sleeps))
	})
	fails(t, err, "statement timeout", "works too long")
}

var sleeps = table.Statement{SQL: "select from pg_sleep(60)"}

// TestBlackHole has a network lose all that is said one way, on a connection that stays, and on one
// that is to be made: the error is late, and has a hint. When the network heals the store answers, and
// has written once what arrived late, if it did.
func TestBlackHole(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]pgtest.Way{"to the server": pgtest.ToServer, "to the client": pgtest.ToClient} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, p := throughProxy(t)
			o.Patience = 2 * time.Second
			d := mustOpen(t, o)
			must.Do(t, takeOne(t.Context(), d, "before"))
			p.Hold(way)
			fails(t, takeOne(t.Context(), d, "k"), "the store did not answer in 2s", "a network that loses what is sent")
			fails(t, takeOne(t.Context(), d, "k"), "the store did not answer in 2s: failed to connect", "can be reached from here")
			_, err := d.Snapshot(t.Context())
			fails(t, err, "the store did not answer in 2s: failed to connect", "can be reached from here")
			p.Heal()
			g, c, err := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "bob", Renews: true, TTL: time.Hour})
			if err != nil || g == fleet.Denied || c.Epoch != 1 {
				t.Errorf("got %s at epoch %d (%v), want the first epoch", g, c.Epoch, err)
			}
		})
	}
}

// TestFewConnections has twenty clients at a server with room for five: all get on, as each leaves when
// it is done, and one that finds no room for long gets an error that says so.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	must.Do(t, c.Stop(), c.Start("max_connections=5"))
	o := Options{DSN: c.DSN(), Fleet: "bob", Settings: rank.Defaults()}
	must.Get(Migrate(t.Context(), o))(t)
	done := make(chan error)
	for i := range 20 {
		go func() {
			done <- func() error {
				for n := range 3 {
					d, err := Open(o)
					if err != nil {
						return err
					}
					if err := errors.Join(takeOne(t.Context(), d, fleet.Key(fmt.Sprint(i, " ", n))), d.Close()); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range 20 {
		if err := <-done; err != nil {
			t.Errorf("got %v, hint %q", err, fleet.Hint(err))
		}
	}
	for range 5 {
		other, err := pgx.Connect(t.Context(), o.DSN)
		for isCode(err, codeBusy) { // the server's processes for those that left end on their own
			other, err = pgx.Connect(t.Context(), o.DSN)
		}
		must.Do(t, err)
		t.Cleanup(func() { _ = other.Close(context.WithoutCancel(t.Context())) })
	}
	o.Patience = 3 * time.Second
	fails(t, takeOne(t.Context(), mustOpen(t, o), "k"), "the store did not answer in 3s: failed to connect", "max_connections")
}

// TestBecomesReadOnly has an administrator stop all writes, and allow them again while one is tried.
func TestBecomesReadOnly(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := Options{DSN: c.DSN(), Fleet: "bob", Settings: rank.Defaults()}
	must.Get(Migrate(t.Context(), o))(t)
	d := mustOpen(t, o)
	must.Do(t, takeOne(t.Context(), d, "before"))
	admin := must.Get(pgx.Connect(t.Context(), o.DSN))(t)
	t.Cleanup(func() { _ = admin.Close(context.WithoutCancel(t.Context())) })
	set := func(value string) {
		t.Helper()
		for _, s := range []string{"alter system set default_transaction_read_only = " + value, "select pg_reload_conf()"} {
			must.Get(admin.Exec(t.Context(), s))(t)
		}
		for is := ""; is != value; { // the server's processes hear of it one by one
			must.Do(t, admin.QueryRow(t.Context(), "show default_transaction_read_only").Scan(&is))
		}
	}
	set("on")
	o.Patience = 4 * time.Second
	fails(t, takeOne(t.Context(), mustOpen(t, o), "k"), "read only connection", "no address of the store takes writes")
	taken := make(chan error, 1)
	go func() { taken <- takeOne(t.Context(), d, "k") }() // on the connection that it has
	set("off")
	if err := <-taken; err != nil {
		t.Error(err)
	}
}

// TestRefusedOnTheWay has the network fail when a refused write is undone: the caller hears why it was
// refused, and nothing else.
func TestRefusedOnTheWay(t *testing.T) {
	t.Parallel()
	o, p := throughProxy(t)
	p.Fate = func(_ int, said []byte) pgtest.Fate {
		if strings.Contains(string(said), "rollback") {
			return pgtest.RequestLost
		}
		return pgtest.Carried
	}
	d, refused, times := mustOpen(t, o), errors.New("refused"), 0
	err := d.Change(t.Context(), book.Any, func(p book.Tx) error { p.Now(); times++; return refused })
	if err != refused || times != 1 { //nolint:errorlint // nothing is to be about it
		t.Errorf("got %v after %d times, want that it was refused once", err, times)
	}
}

// TestClosed closes the store while a write is at work: the connection ends with the write.
func TestClosed(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t))
	goOn, done := cutShort(t.Context(), d)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	goOn <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
	c := <-d.line.free
	if d.line.free <- c; c != nil {
		t.Error("there is a connection still")
	}
}
