package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
	"stint/internal/testkit/storetest"
)

var cluster pgtest.Shared

// TestMain draws a fifth of the random logs that rapid draws by default: each write is two trips to a server here, and
// the rules behind them are the same as on SQLite, whose tests draw a hundred.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	os.Exit(cluster.Main(m))
}

// TestStore runs what databases differ in through a proxy that counts: each transaction takes two round
// trips, whether it grants, denies or only reads.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time, s rank.Settings) func() store.Store {
		t.Helper()
		var n atomic.Int64
		o, p := throughProxy(t)
		o.Now, o.Settings = now, s
		t.Cleanup(func() {
			// Same reads around the count, and Repeat ends transactions half-way.
			exact := !strings.HasSuffix(t.Name(), "/Same") && !strings.HasSuffix(t.Name(), "/Repeat")
			if want := 2 * n.Load(); exact && int64(p.Trips()) != want && !t.Failed() {
				t.Errorf("%d round trips, want %d", p.Trips(), want)
			}
		})
		return func() store.Store {
			d := mustOpen(t, o)
			d.Engine, d.Source = counted{d, &n}, counted{d, &n}
			return d
		}
	}, storetest.Differing()...)
}

// counted counts the transactions of a store.
type counted struct {
	*DB
	n *atomic.Int64
}

func (c counted) Change(ctx context.Context, k book.Kind, decide func(book.Tx) error) error {
	c.n.Add(1)
	return c.DB.Change(ctx, k, decide)
}

func (c counted) Read(ctx context.Context, ask func(time.Time) []table.Statement) error {
	c.n.Add(1)
	return c.DB.Read(ctx, ask)
}

var fleets atomic.Int64

func newFleet() fleet.Name { return fleet.Name(fmt.Sprintf("t%d", fleets.Add(1))) }

// testOptions are of a fleet of its own, which has a schema, as its role: it owns nothing.
func testOptions(t *testing.T) Options {
	t.Helper()
	o := Options{DSN: cluster.DSN(t), Fleet: newFleet(), Settings: rank.Defaults()}
	administer(t, makes(Role(o.Fleet), -1), makes(Reader(o.Fleet), -1))
	must.Get(Migrate(t.Context(), o))(t)
	o.DSN = as(o.DSN, Role(o.Fleet))
	return o
}

// as is where a server is, as another role.
func as(dsn, role string) string { return strings.Replace(dsn, "user=stint", "user="+role, 1) }

// administer runs statements as the server's administrator.
func administer(t *testing.T, statements ...string) {
	t.Helper()
	must.Do(t, try(t, cluster.DSN(t), strings.Join(statements, "\n")))
}

// try runs a statement on a connection of its own.
func try(t *testing.T, dsn, sql string) error {
	t.Helper()
	c := must.Get(pgx.Connect(t.Context(), dsn))(t)
	_, err := c.Exec(t.Context(), sql)
	return errors.Join(err, c.Close(context.WithoutCancel(t.Context())))
}

func mustOpen(t *testing.T, o Options) *DB {
	t.Helper()
	d := must.Get(Open(o))(t)
	t.Cleanup(func() { must.Do(t, d.Close()) })
	return d
}

// TestIntroduce has a machine that never fires be on record with its first write, in the round trips that this
// takes anyway, and its row stand as its next fire has it.
func TestIntroduce(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	self := fleet.Host{ID: "a", Name: "one", Boot: "1", Slots: 3, Labels: []string{"big"}}
	o.Self = func() fleet.Host { return self }
	d := mustOpen(t, o)
	hosts := func() []fleet.Host {
		t.Helper()
		list, _, err := d.Hosts(t.Context())
		must.Do(t, err)
		return list
	}
	take := store.TakeRequest{Key: "k", Holder: "bob", Renews: true, TTL: time.Hour}
	if _, _, err := d.Take(t.Context(), take); err != nil {
		t.Fatal(err)
	}
	got := hosts()
	if len(got) != 1 || got[0].Name != "one" || got[0].Slots != 3 || !got[0].FiredAt.IsZero() || got[0].HeardAt.IsZero() {
		t.Fatalf("got %+v, want the machine, heard of and never fired", got)
	}
	other := o
	other.Self = func() fleet.Host { return fleet.Host{ID: "b", Name: "one"} }
	if _, _, err := mustOpen(t, other).Take(t.Context(), take); err != nil {
		t.Fatalf("of another machine with that name: %v", err)
	}
	if got := hosts(); len(got) != 1 {
		t.Errorf("got %+v, want none that has the name of another", got)
	}
	must.Get(d.RecordFire(t.Context(), store.Firing{Host: self}))(t)
	fired := hosts()[0].FiredAt
	if _, _, err := mustOpen(t, o).Take(t.Context(), take); err != nil || fired.IsZero() || !hosts()[0].FiredAt.Equal(fired) {
		t.Errorf("got %v, %+v, want the fire of %s to stand", err, hosts(), fired)
	}
}
