package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
	"stint/internal/testkit/storekit"
)

// benchServer is a fleet on a server of its own, which flushes to disk as those do that people use.
type benchServer struct {
	bench
	cluster *pgtest.Cluster
	proxy   *pgtest.Proxy // nil: there is none between
	admin   *pgx.Conn
}

func newBenchServer(b *testing.B, settings ...string) benchServer {
	b.Helper()
	f := benchServer{bench: newBench(b, "true")}
	c := must.Get(pgtest.New())(b)
	b.Cleanup(func() { _ = c.Remove() })
	must.Do(b, c.Stop())
	must.Do(b, c.Start(append([]string{"fsync=on"}, settings...)...))
	f.cluster = c
	must.Get(postgres.Migrate(b.Context(), f.options()))(b)
	f.admin = f.connect(b)
	config := must.Get(os.ReadFile(filepath.Join(f.dir, "stint.toml")))(b)
	f.write(b, "stint.toml", "store = \"postgres:///postgres?host="+c.Dir+"&user=stint&sslmode=disable\"\n"+string(config))
	f.stint(b, 0, "claim", "held", "--holder", "somebody", "--ttl", "24h")
	return f
}

// behind has the fleet's clients reach the server through a network whose round trips take so long.
func (f benchServer) behind(b *testing.B, delay time.Duration) benchServer {
	b.Helper()
	p := must.Get(pgtest.Between(context.WithoutCancel(b.Context()), f.cluster.Dir))(b)
	p.Delay = delay
	b.Cleanup(func() { _ = p.Close() })
	f.proxy = p
	return f
}

func (f benchServer) dsn() string {
	if f.proxy != nil {
		return f.proxy.DSN()
	}
	return f.cluster.DSN()
}

func (f benchServer) options() postgres.Options {
	return postgres.Options{DSN: f.dsn(), Fleet: "bench", Settings: rank.Defaults(), Patience: time.Minute}
}

// open opens the store in this process, and connects.
func (f benchServer) open(b *testing.B) *postgres.DB {
	b.Helper()
	d, err := postgres.Open(f.options())
	if err == nil {
		b.Cleanup(func() { _ = d.Close() })
		_, err = d.List(b.Context(), store.Listing{})
	}
	must.Do(b, err)
	return d
}

// connect connects without stint.
func (f benchServer) connect(b *testing.B) *pgx.Conn {
	b.Helper()
	c, err := pgx.Connect(b.Context(), f.dsn())
	if err == nil {
		b.Cleanup(func() { _ = c.Close(context.WithoutCancel(b.Context())) })
		_, err = c.Exec(b.Context(), "set search_path = stint_bench")
	}
	must.Do(b, err)
	return c
}

func (f benchServer) admit(b *testing.B, statements ...string) {
	b.Helper()
	for _, s := range statements {
		if _, err := f.admin.Exec(b.Context(), s); err != nil {
			b.Fatalf("%v: %s", err, s)
		}
	}
}

// The statements of a claim on a server, to be run without stint.
const (
	serverBegin = `begin; set local search_path = stint_bench; set local idle_in_transaction_session_timeout = 5000;
		set local lock_timeout = 10000; set local statement_timeout = 12000; set local synchronous_commit = on;
		select moved from fleet for update;
		select key from claims where key = :key or holder = :holder and released_at is null order by key for update;
		select extract(epoch from clock_timestamp());
		select key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason, attempt from claims where key = :key;`
	serverGrant = `insert into claims (key, holder, epoch, acquired_at, expires_at, note)
		values (:key, :holder, 1, :now, :expires, '')
		on conflict (key) do update set holder = excluded.holder, epoch = claims.epoch + 1, acquired_at = excluded.acquired_at, renewals = 0,
			note = '', expires_at = excluded.expires_at, released_at = null, ending = '', reason = ''
		where claims.released_at is not null or claims.expires_at <= :now
		returning key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason;`
)

// psql runs the server's shell on statements about a key, which it sends at once.
func (f benchServer) psql(b *testing.B, program, key string, statements ...string) time.Duration {
	b.Helper()
	return f.timed(b, 0, f.command(program, "-X", "-q", "-A", "-t", "-d", f.dsn(), "-c", about(key, statements...)))
}

// psqlScript has it read them from a file, and send one after the other.
func (f benchServer) psqlScript(b *testing.B, program, key string, statements ...string) time.Duration {
	b.Helper()
	f.write(b, "claim.sql", about(key, statements...))
	return f.timed(b, 0, f.command(program, "-X", "-q", "-A", "-t", "-d", f.dsn(), "-f", "claim.sql"))
}

// BenchmarkServerClaim measures "stint claim" on a server beside psql, as whole processes.
func BenchmarkServerClaim(b *testing.B) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql") // the one of $PATH is a script that looks for it
	if err != nil || len(programs) == 0 {
		b.Fatal("PostgreSQL is not installed: run scripts/setup bench")
	}
	f, fresh := newBenchServer(b), freshKeys()
	f.binary = f.copied(b, f.binary)
	psql := f.copied(b, slices.Max(programs))
	b.Run("granted", func(b *testing.B) {
		measure(b,
			func() time.Duration { return f.stint(b, 0, "claim", fresh(), "--holder", claimant) },
			func() time.Duration { return f.psql(b, psql, fresh(), serverBegin, serverGrant, "commit;") },
		).report(b)
	})
	b.Run("script", func(b *testing.B) {
		measure(b,
			func() time.Duration { return f.stint(b, 0, "claim", fresh(), "--holder", claimant) },
			func() time.Duration { return f.psqlScript(b, psql, fresh(), serverBegin, serverGrant, "commit;") },
		).report(b)
	})
	b.Run("denied", func(b *testing.B) {
		measure(b,
			func() time.Duration { return f.stint(b, 4, "claim", "held", "--holder", "other") },
			func() time.Duration { return f.psql(b, psql, "held", serverBegin, "rollback;") },
		).report(b)
	})
}

// atOnce has clients do something n times each, and says how long that took.
func atOnce(b *testing.B, clients, n int, do func(client, i int) error) time.Duration {
	b.Helper()
	var all sync.WaitGroup
	start := time.Now()
	for client := range clients {
		all.Go(func() {
			for i := range n {
				if err := do(client, i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}

// exchange is a claim by compare-and-swap: one statement, which commits by itself.
const exchange = `insert into claims (key, holder, epoch, acquired_at, expires_at, note) values ($1, $2, 1, $3, $4, '')
	on conflict (key) do update set holder = excluded.holder, epoch = claims.epoch + 1, acquired_at = excluded.acquired_at,
		renewals = 0, note = '', expires_at = excluded.expires_at, released_at = null, ending = '', reason = ''
	where claims.released_at is not null or claims.expires_at <= (extract(epoch from clock_timestamp()) * 1000)::bigint
	returning epoch`

// exchanges are clients that claim so, each on a connection of its own, by a statement that is prepared.
func (f benchServer) exchanges(b *testing.B, clients, n int, fresh func(client, i int) string) way {
	b.Helper()
	var list []*pgx.Conn
	for range clients {
		list = append(list, f.connect(b))
	}
	return func() time.Duration {
		return atOnce(b, clients, n, func(client, i int) error {
			now, epoch := time.Now().UnixMilli(), 0
			return list[client].QueryRow(b.Context(), exchange, fresh(client, i), claimant, now, now+time.Hour.Milliseconds()).Scan(&epoch)
		})
	}
}

// freshForEach names keys that nobody has claimed, for clients that ask at once.
func freshForEach(kind string) func(client, i int) string {
	var mu sync.Mutex
	fresh := freshKeys()
	return func(client, _ int) string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%s-%s-%d", kind, fresh(), client)
	}
}

// BenchmarkServerRate measures claims in connections that are kept, beside a bare loop that
// compares and swaps.
func BenchmarkServerRate(b *testing.B) {
	const claims = 64 // between all
	for _, clients := range []int{1, 8} {
		for how, setting := range map[string]string{"": "fsync=on", "/unflushed": "fsync=off"} {
			b.Run(fmt.Sprint(clients, how), func(b *testing.B) {
				f := newBenchServer(b, setting)
				p := measure(b, f.claims(b, clients, claims/clients), f.exchanges(b, clients, claims/clients, freshForEach("raw")))
				p.report(b)
				p.reportRates(b, claims)
				f = f.behind(b, 0)
				counted := f.claims(b, 1, claims)
				before := f.proxy.Trips()
				counted()
				b.ReportMetric(float64(f.proxy.Trips()-before)/claims, "trips")
			})
		}
	}
}

// claims are clients that claim, each on a connection of its own.
func (f benchServer) claims(b *testing.B, clients, n int) way {
	b.Helper()
	var list []*postgres.DB
	for range clients {
		list = append(list, f.open(b))
	}
	fresh := freshForEach("ours")
	return func() time.Duration {
		return atOnce(b, clients, n, func(client, i int) error {
			g, _, err := list[client].Take(b.Context(), store.TakeRequest{Key: fleet.Key(fresh(client, i)), Holder: claimant, TTL: time.Hour})
			if err == nil && g != fleet.Granted {
				err = fmt.Errorf("got %s, want it granted", g)
			}
			return err
		})
	}
}

// BenchmarkServerSession measures the largest write, by which a session has its claim, its agent and its
// share of three budgets, 1 ms from the server, beside the bare loop there.
func BenchmarkServerSession(b *testing.B) {
	const clients, each = 8, 8
	f := newBenchServer(b).behind(b, time.Millisecond)
	var list []*postgres.DB
	for range clients {
		list = append(list, f.open(b))
	}
	budgets := []fleet.Budget{{Scope: fleet.FleetScope, Runs: 1e6}, {Scope: fleet.CategoryScope("code"), Runs: 1e6}, {Scope: fleet.AgentScope("fake"), Runs: 1e6}}
	trips, rounds := 0, 0
	ours := func() time.Duration {
		f.admit(b, "delete from claims", "delete from runs", "delete from spent", "delete from events", "delete from rankings", "delete from agents",
			fmt.Sprintf(`insert into runs (id, category, rank, source, agent, created_at, started_at)
				select '0r' || n, 'code', 0, 'selected', 'fake', 1, 1 from generate_series(1, %d) n`, clients*each))
		before := f.proxy.Trips()
		took := atOnce(b, clients, each, func(client, i int) error {
			run := fleet.RunID(fmt.Sprintf("0r%d", client*each+i+1))
			task := fleet.TaskID(run)
			g, _, err := storekit.TakeForRun(b.Context(), list[client], storekit.RunTake{
				TakeRequest: store.TakeRequest{Key: task.Key(), Holder: run.Holder(), Renews: true, TTL: time.Hour},
				Terms:       fleet.Terms{Agent: "fake", Slots: 1e6, Budgets: budgets}, Run: run, Task: task,
			})
			if err == nil && g != fleet.Granted {
				err = fmt.Errorf("got %s, want it granted", g)
			}
			return err
		})
		trips += f.proxy.Trips() - before
		rounds++
		return took
	}
	p := measure(b, ours, f.exchanges(b, clients, each, freshForEach("raw")))
	p.report(b)
	p.reportRates(b, clients*each)
	b.ReportMetric(float64(trips)/float64(rounds*clients*each), "trips")
}

// BenchmarkServerLook measures reading what a ranking needs, in a fleet with so many runs under way and
// two hundred thousand behind it, beside the same claims and runs asked for and thrown away.
func BenchmarkServerLook(b *testing.B) {
	f := newBenchServer(b)
	f.admit(b, fmt.Sprintf(`insert into runs (id, category, rank, source, agent, created_at, started_at, ended_at, outcome, nth, counted, grade)
		select '0a' || to_char(n, 'FM000000'), 'c' || n %% 20, 0, 'selected', 'fake', n, n, n, 'productive', n, n, 0.5 from generate_series(1, %d) n`, 200_000),
		"vacuum analyze runs")
	for _, n := range []int{300, 10_000} {
		f.admit(b, "delete from runs where id > '0b'", "delete from claims",
			fmt.Sprintf(`insert into runs (id, category, rank, source, agent, created_at, started_at, task, key, epoch)
			select '0b' || to_char(n, 'FM000000'), 'c' || n %% 20, 0, 'selected', 'fake', n, n, 't' || n, 't' || n, 1 from generate_series(1, %d) n`, n),
			fmt.Sprintf(`insert into claims (key, holder, epoch, acquired_at, expires_at)
			select 't' || n, 'run:0b' || to_char(n, 'FM000000'), 1, 1, 9000000000000 from generate_series(1, %d) n`, n),
			"vacuum analyze")
		d, bare := f.open(b), f.connect(b)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			measure(b,
				func() time.Duration {
					start := time.Now()
					if s, err := d.Snapshot(b.Context()); err != nil || len(s.Open) != n || len(s.Claims) != n {
						b.Fatal(len(s.Open), len(s.Claims), err)
					}
					return time.Since(start)
				},
				func() time.Duration {
					start := time.Now()
					var batch pgx.Batch
					batch.Queue("select * from runs where ended_at is null order by id")
					batch.Queue("select * from claims where released_at is null and expires_at > $1", start.UnixMilli())
					must.Do(b, bare.SendBatch(b.Context(), &batch).Close())
					return time.Since(start)
				},
			).report(b)
		})
	}
}

// BenchmarkServerLinked measures what the driver of a server costs those who have none: the start of a bare program,
// and a claim that it takes in a file, beside the same program without the driver. Both have the rest that stint links.
func BenchmarkServerLinked(b *testing.B) {
	for name, args := range map[string]func(f bench, key string) []string{
		"start": func(bench, string) []string { return []string{"--help"} },
		"claim": func(f bench, key string) []string { return []string{"claim", f.database(), key, "--holder", claimant} },
	} {
		b.Run(name, func(b *testing.B) {
			with, without, fresh := newBench(b, "true"), newBench(b, "true"), freshKeys()
			with.binary = with.copied(b, builtBeside(b, "STINT_BARE_SERVER", "bareclaim-server"))
			without.binary = without.copied(b, builtBeside(b, "STINT_BARE_LINKED", "bareclaim-linked"))
			measure(b,
				func() time.Duration { return with.stint(b, 0, args(with, fresh())...) },
				func() time.Duration { return without.stint(b, 0, args(without, fresh())...) },
			).report(b)
		})
	}
}
