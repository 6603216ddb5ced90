package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// The statements of a claim, to be run without stint.
const (
	claimPragmas = `pragma busy_timeout = 15000; pragma foreign_keys = 1; pragma synchronous = full;`
	claimOwner   = `pragma user_version; select name, workspace from fleet;`
	claimLook    = `select key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason
		from claims where key = :key;`
	claimGrant = `insert into claims (key, holder, epoch, acquired_at, expires_at, note)
		values (:key, :holder, 1, :now, :expires, '')
		on conflict (key) do update set holder = excluded.holder, epoch = epoch + 1, acquired_at = :now, renewals = 0,
			note = '', expires_at = :expires, released_at = null, ending = '', reason = ''
		where released_at is not null or expires_at <= :now
		returning key, holder, epoch, acquired_at, expires_at, renewals, note, released_at, ending, reason;`
)

// shell runs the sqlite3 shell on statements about a key.
func (f bench) shell(b *testing.B, key string, statements ...string) time.Duration {
	b.Helper()
	return f.timed(b, 0, f.command(cmp.Or(f.sqlite3, "sqlite3"), "-batch", "-bail", f.database(), about(key, statements...)))
}

// about fills a key into statements.
func about(key string, statements ...string) string {
	now := time.Now().UnixMilli()
	return strings.NewReplacer(":key", "'"+key+"'", ":holder", "'"+claimant+"'", ":now", fmt.Sprint(now),
		":expires", fmt.Sprint(now+time.Hour.Milliseconds())).Replace(strings.Join(statements, "\n"))
}

// claimant takes what is measured.
const claimant = "claimant"

// freshKeys names keys that nobody has claimed, in no order.
func freshKeys() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("stored-%06d-%d", rand.IntN(1_000_000), n)
	}
}

func (f bench) shellGrants(b *testing.B, key string) time.Duration {
	b.Helper()
	return f.shell(b, key, claimPragmas, claimOwner, "begin immediate;", claimLook, claimGrant, "commit;")
}

func (f bench) shellDenies(b *testing.B) time.Duration {
	b.Helper()
	return f.shell(b, "held", claimPragmas, claimOwner, "begin immediate;", claimLook, "rollback;")
}

// BenchmarkNoise measures the sqlite3 shell beside itself: the machine adds as much to the
// others as this ratio is off 1, and spreads.
func BenchmarkNoise(b *testing.B) {
	one, other, fresh := newBench(b, "true"), newBench(b, "true"), freshKeys()
	measure(b,
		func() time.Duration { return one.shellGrants(b, fresh()) },
		func() time.Duration { return other.shellGrants(b, fresh()) },
	).report(b)
}

// BenchmarkClaim measures "stint claim" beside the sqlite3 shell, as whole processes.
func BenchmarkClaim(b *testing.B) {
	program := must.Get(exec.LookPath("sqlite3"))(b)
	b.Run("granted", func(b *testing.B) {
		ours, theirs, fresh := newBench(b, "true"), newBench(b, "true"), freshKeys()
		ours.binary, theirs.sqlite3 = ours.copied(b, ours.binary), theirs.copied(b, program)
		measure(b,
			func() time.Duration { return ours.stint(b, 0, "claim", fresh(), "--holder", claimant) },
			func() time.Duration { return theirs.shellGrants(b, fresh()) },
		).report(b)
	})
	b.Run("denied", func(b *testing.B) {
		ours, theirs := newBench(b, "true"), newBench(b, "true")
		ours.binary, theirs.sqlite3 = ours.copied(b, ours.binary), theirs.copied(b, program)
		measure(b,
			func() time.Duration { return ours.stint(b, 4, "claim", "held", "--holder", "other") },
			func() time.Duration { return theirs.shellDenies(b) },
		).report(b)
	})
}

// BenchmarkBare measures "stint claim" beside a Go program that can do nothing but claim.
func BenchmarkBare(b *testing.B) {
	program := builtBeside(b, "STINT_BARE", "bareclaim")
	b.Run("granted", func(b *testing.B) {
		ours, theirs, fresh := newBench(b, "true"), newBench(b, "true"), freshKeys()
		ours.binary, theirs.binary = ours.copied(b, ours.binary), theirs.copied(b, program)
		measure(b,
			func() time.Duration { return ours.stint(b, 0, "claim", fresh(), "--holder", claimant) },
			func() time.Duration {
				return theirs.stint(b, 0, "claim", theirs.database(), fresh(), "--holder", claimant)
			},
		).report(b)
	})
	b.Run("denied", func(b *testing.B) {
		ours, theirs := newBench(b, "true"), newBench(b, "true")
		ours.binary, theirs.binary = ours.copied(b, ours.binary), theirs.copied(b, program)
		measure(b,
			func() time.Duration { return ours.stint(b, 4, "claim", "held", "--holder", "other") },
			func() time.Duration {
				return theirs.stint(b, 4, "claim", theirs.database(), "held", "--holder", "other")
			},
		).report(b)
	})
}

// builtBeside is a program that "make bench" has built beside stint, or that the environment names.
func builtBeside(b *testing.B, variable, name string) string {
	b.Helper()
	path := must.Get(filepath.Abs(cmp.Or(os.Getenv(variable), filepath.Join("../../bin", name))))(b)
	return path
}

// copied is a copy of a program in the fleet's folder. Two programs that the linker has just
// written, and one that was installed, differ in how their pages are cached, by a quarter of
// a claim's time.
func (f bench) copied(b *testing.B, program string) string {
	b.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		b.Fatalf("nothing to measure: %v; run: make bench", err)
	}
	path := filepath.Join(f.dir, "copy-of-"+filepath.Base(program))
	if err := os.WriteFile(path, data, 0o700); err != nil { //nolint:gosec // it is to be run
		b.Fatal(err)
	}
	return path
}

// BenchmarkStored measures a claim in a store of many claims beside one in a store of
// a hundred: as a whole process, and in this one, in batches long enough to pay for
// folding the log into the file.
func BenchmarkStored(b *testing.B) {
	const batch = 250
	few := newBench(b, "true")
	few.fill(b, 100)
	for _, n := range []int{10_000, 1_000_000} {
		many, fresh := newBench(b, "true"), freshKeys()
		many.fill(b, n)
		b.Run(fmt.Sprintf("process/%d", n), func(b *testing.B) {
			measure(b, many.one(b, fresh), few.one(b, fresh)).report(b)
		})
		b.Run(fmt.Sprintf("batch/%d", n), func(b *testing.B) {
			p := measure(b, many.batch(b, batch, fresh), few.batch(b, batch, fresh))
			p.report(b)
			p.reportRates(b, batch)
		})
	}
}

// one is a claim as a whole process, which is then forgotten.
func (f bench) one(b *testing.B, fresh func() string) way {
	b.Helper()
	return func() time.Duration {
		defer f.forget(b)
		return f.stint(b, 0, "claim", fresh(), "--holder", claimant)
	}
}

// batch is n claims in this process, which are then forgotten.
func (f bench) batch(b *testing.B, n int, fresh func() string) way {
	b.Helper()
	return func() time.Duration {
		defer f.forget(b)
		d := f.openStore(b)
		start := time.Now()
		for range n {
			claimOnce(b, d, fresh())
		}
		took := time.Since(start)
		must.Do(b, d.Close())
		return took
	}
}

func claimOnce(b *testing.B, s store.Claims, key string) {
	b.Helper()
	grant, _, err := s.Take(b.Context(), store.TakeRequest{Key: fleet.Key(key), Holder: claimant, TTL: time.Hour})
	if err != nil || grant != fleet.Granted {
		b.Fatalf("take %q: %s, %v; want it granted", key, grant, err)
	}
}

// forget keeps a store at the size that it is named for.
func (f bench) forget(b *testing.B) {
	b.Helper()
	f.execute(b, "delete from claims where released_at is null and holder = '"+claimant+"'")
}
