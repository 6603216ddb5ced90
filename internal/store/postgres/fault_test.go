package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

// throughProxy are options of a fleet whose server is behind a proxy.
func throughProxy(t *testing.T) (Options, *pgtest.Proxy) {
	t.Helper()
	o := testOptions(t)
	p := must.Get(pgtest.Between(context.WithoutCancel(t.Context()), cluster.Dir(t)))(t)
	t.Cleanup(func() { must.Do(t, p.Close()) })
	o.DSN = as(p.DSN(), Role(o.Fleet))
	return o, p
}

// TestLostOnTheWay records a fire and its session on a server behind a network that loses both trips
// of each transaction once, the request or the answer: all that is answered and on record is the same
// as without.
func TestLostOnTheWay(t *testing.T) {
	t.Parallel()
	for name, fate := range map[string]pgtest.Fate{"requests": pgtest.RequestLost, "answers": pgtest.AnswerLost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			tell := func(o Options) (d *DB, said []string) {
				o.Now = clock.Now
				d = mustOpen(t, o)
				return d, aDay(t, d)
			}
			quiet, want := tell(testOptions(t))
			o, p := throughProxy(t)
			var lost struct{ first, second, refused int }
			var firstLost, secondLost bool // of this transaction
			p.Fate = func(_ int, said []byte) pgtest.Fate {
				switch begins := bytes.Contains(said, []byte("begin")); {
				case begins && !firstLost:
					firstLost = true
					lost.first++
					return fate
				case begins:
					return pgtest.Carried
				case bytes.Contains(said, []byte("rollback")): // is not repeated
					firstLost = false
					lost.refused++
					return fate
				case !secondLost:
					secondLost = true
					lost.second++
					return fate
				}
				firstLost, secondLost = false, false
				return pgtest.Carried
			}
			noisy, got := tell(o)
			must.Equal(t, "told", got, want)
			if lost.first < 13 || lost.second < 13 || lost.refused == 0 {
				t.Errorf("%+v were lost, want that this is a test", lost)
			}
			// A take that is repeated renews.
			must.Equal(t, "on record", dump(t, noisy), dump(t, quiet), cmpopts.IgnoreFields(table.Claim{}, "Renewals"))
		})
	}
}

// aDay is a fire, a session from its beginning to its end, and claims by hand.
func aDay(t *testing.T, s store.Store) []string {
	t.Helper()
	ctx := t.Context()
	var said []string
	say := func(parts ...any) { said = append(said, fmt.Sprint(parts...)) }
	const run = fleet.RunID("0r1")
	fired, err := s.RecordFire(ctx, store.Firing{
		Fire: fleet.Fire{At: storetest.Start(), Own: true, Moves: []fleet.Category{"code"}, Choices: []fleet.Choice{{Category: "code", Decision: fleet.Spawn, Run: run}}},
		Runs: []fleet.Run{{ID: run, Category: "code", Agent: "claude", Source: fleet.FromSelected, CreatedAt: storetest.Start()}}, Attempt: "x",
	})
	say(fired.ID, err)
	g, c, err := storekit.TakeLane(ctx, s, store.Begin{Run: run, Category: "code", Lane: 1, TTL: time.Hour})
	say(g != fleet.Denied, c.Epoch, err) // a take that is repeated renews
	g, c, err = storekit.TakeForRun(ctx, s, storekit.RunTake{
		TakeRequest: store.TakeRequest{Key: "fix", Holder: run.Holder(), TTL: time.Hour, Renews: true}, Run: run, Task: "fix",
		Terms: fleet.Terms{Agent: "claude", Budgets: []fleet.Budget{{Scope: fleet.CategoryScope("code"), Runs: 3}}},
	})
	say(g != fleet.Denied, c.Epoch, err) // a take that is repeated renews
	kept, err := s.Renew(ctx, store.Hold{Key: "fix", Holder: run.Holder(), Epoch: 1}, time.Hour)
	say(kept.Epoch, err, s.OnBranch(ctx, run, "stint/x", fleet.Conversation{}))
	end := fleet.Run{ID: run, Category: "code", Task: "fix", Key: "fix", Epoch: 1, Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: new(0.5)}}
	say(s.Complete(ctx, end))
	for _, name := range []string{"", "y"} {
		g, c, err = s.Take(ctx, store.TakeRequest{Key: fleet.Key("by hand" + name), Holder: "bob", TTL: time.Hour, Attempt: name + "z"})
		say(g != fleet.Denied, c.Epoch, err) // a take that is repeated renews
	}
	g, _, err = s.Take(ctx, store.TakeRequest{Key: "by hand", Holder: "alice", TTL: time.Hour})
	say(g, err)
	_, err = s.Renew(ctx, store.Hold{Key: "by hand", Holder: "alice", Epoch: 1}, time.Hour)
	say(err)
	_, err = s.Release(ctx, store.Hold{Key: "by hand", Holder: "bob", Epoch: 1}, fleet.EndingReleased, "")
	say(err, s.Pause(ctx, fleet.Pause{Category: "code", Reason: "so"}))
	by, why, err := s.Respawn(ctx, run, &fleet.Run{ID: "0r2", Category: "code", Source: fleet.FromRespawn, CreatedAt: storetest.Start()}, "good", store.Bounds{})
	say(by, why, err)
	l, err := s.Ledger(ctx)
	say(book.Discrepancies(l), err)
	return said
}

// dump is all that is on record, and all that the store shows of it.
func dump(t *testing.T, d *DB) []any {
	t.Helper()
	return append(storetest.Everything(t, d), storetest.EveryRow(t, d))
}

// TestServerGoesAway kills the server under eight writers, again and again: none gets an error, no
// grant that was acknowledged is lost, and the epochs have no gap.
func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := Options{DSN: c.DSN(), Fleet: "bob", Settings: rank.Defaults(), Patience: time.Minute}
	must.Get(Migrate(t.Context(), o))(t)
	const writers, takes = 8, 60
	var granted atomic.Int64
	done := make(chan error, writers)
	for i := range writers {
		d, holder := mustOpen(t, o), fleet.Holder(fmt.Sprint("w", i))
		go func() {
			done <- func() error {
				for n := range takes {
					key := fleet.Key(fmt.Sprint("k", i))
					g, c, err := d.Take(t.Context(), store.TakeRequest{Key: key, Holder: holder, TTL: time.Hour, Attempt: fmt.Sprint(n)})
					if err != nil || g != fleet.Granted || int(c.Epoch) != n+1 {
						return fmt.Errorf("%s: %s at epoch %d: %w", key, g, c.Epoch, err)
					}
					granted.Add(1)
					if _, err := d.Release(t.Context(), store.Hold{Key: key, Holder: holder, Epoch: c.Epoch}, fleet.EndingReleased, ""); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	ended := 0
	for kills := 1; kills <= 3; kills++ {
		for want := int64(kills * writers * takes / 5); granted.Load() < want && ended < writers; {
			select {
			case err := <-done:
				if ended++; err != nil {
					t.Fatal(err)
				}
			case <-time.After(time.Millisecond):
			}
		}
		must.Do(t, c.Stop(), c.Start())
	}
	for ; ended < writers; ended++ {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestWaitsForTheRow has the fleet's row locked by another while a claim expires: who waited for it
// reads the clock afterwards, and a renewal waits for nobody.
func TestWaitsForTheRow(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	ctx, d := t.Context(), mustOpen(t, o)
	other := must.Get(pgx.Connect(ctx, o.DSN))(t)
	t.Cleanup(func() { _ = other.Close(context.WithoutCancel(ctx)) })
	for _, key := range []fleet.Key{"short", "long"} {
		ttl := map[fleet.Key]time.Duration{"short": 300 * time.Millisecond, "long": time.Hour}[key]
		if g, _, err := d.Take(ctx, store.TakeRequest{Key: key, Holder: "bob", TTL: ttl}); err != nil || g != fleet.Granted {
			t.Fatal(g, err)
		}
	}
	locked := make(chan error)
	go func() {
		_, err := other.Exec(ctx, `begin; select from `+d.schema+`.fleet for update`)
		locked <- err
		_, err = other.Exec(ctx, "select pg_sleep(0.6); commit")
		locked <- err
	}()
	must.Do(t, <-locked)
	renewed := must.Get(mustOpen(t, o).Renew(ctx, store.Hold{Key: "long", Holder: "bob", Epoch: 1}, time.Hour))(t)
	g, c, err := d.Take(ctx, store.TakeRequest{Key: "short", Holder: "bob", Renews: true, TTL: time.Hour})
	if err != nil || g != fleet.Granted || c.Epoch != 2 {
		t.Errorf("got %s at epoch %d (%v), want it granted anew: it expired while the row was waited for", g, c.Epoch, err)
	}
	must.Do(t, <-locked)
	if !renewed.ExpiresAt.Before(c.AcquiredAt.Add(time.Hour)) {
		t.Errorf("the renewal is as late as %s, want that it did not wait", renewed.ExpiresAt)
	}
}

// TestRenewalsBesideTakes has a claim renewed and taken by eight at once: no renewal is lost to a take
// that read before it, and none revives what another has taken.
func TestRenewalsBesideTakes(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	ctx := t.Context()
	done := make(chan error, 8)
	for i := range cap(done) {
		d, holder := mustOpen(t, o), fleet.Holder(fmt.Sprint("w", i))
		go func() {
			done <- func() error {
				for range 40 {
					g, c, err := d.Take(ctx, store.TakeRequest{Key: "k", Holder: holder, TTL: time.Duration(1+rand.N(4)) * time.Millisecond}) //nolint:gosec // a test
					if err != nil {
						return err
					}
					if g == fleet.Denied {
						continue
					}
					for err == nil { // until it was too late
						var renewed store.Kept
						renewed, err = d.Renew(ctx, store.Hold{Key: "k", Holder: holder, Epoch: c.Epoch}, time.Millisecond)
						if err == nil && (renewed.Epoch != c.Epoch || renewed.Holder != holder) {
							return fmt.Errorf("%s renewed %+v", holder, renewed.Claim)
						}
					}
					if !errors.Is(err, fleet.ErrLost) {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestFaults has servers and roles that cannot be used: each error says what to do.
func TestFaults(t *testing.T) {
	t.Parallel()
	o := Options{DSN: cluster.DSN(t)}
	for name, test := range map[string]struct {
		dsn        string
		want, hint string
	}{
		"no schema":    {o.DSN, `relation "fleet" does not exist`, "stint store migrate"},
		"no database":  {strings.Replace(o.DSN, "dbname=postgres", "dbname=nosuch", 1), `database "nosuch" does not exist`, "make the database"},
		"no role":      {strings.Replace(o.DSN, "user=stint", "user=nobody", 1), `role "nobody" does not exist`, "does not let this role in"},
		"read only":    {o.DSN + " options='-c default_transaction_read_only=on'", "read only connection", "no address of the store takes writes"},
		"no server":    {"host=/nosuch user=stint", "failed to connect", "check that the server of the store runs"},
		"no such DSN":  {"host=/nosuch port=x password=hush", "cannot parse", "pg_service.conf"},
		"nobody there": {"host=127.0.0.1 port=1 user=stint sslmode=disable connect_timeout=1", "failed to connect", "check that the server of the store runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{DSN: test.dsn, Fleet: "nobodys", Settings: rank.Defaults(), Patience: 3 * time.Second}
			d, err := Open(o)
			if err == nil {
				t.Cleanup(func() { _ = d.Close() })
				_, _, err = d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "bob", TTL: time.Hour})
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(fleet.Hint(err), test.hint) {
				t.Errorf("got %v, hint %q; want %q, hint %q", err, fleet.Hint(err), test.want, test.hint)
			}
			if err != nil && strings.Contains(err.Error()+fleet.Hint(err), "hush") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

// TestIdle closes a connection that nobody uses.
func TestIdle(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t))
	must.Get(d.Snapshot(t.Context()))(t)
	d.line.rest()
	if c := <-d.line.free; c != nil {
		t.Error("there is a connection still")
	}
	d.line.free <- nil
	if _, err := d.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}
