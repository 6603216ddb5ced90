package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// contender makes the benchmark another process, which claims in the way named here
// in the workspace that it stands in: "store" or "bare".
const contender = "STINT_BENCH_CONTENDER"

// BenchmarkContention measures how many claims a second any number of processes are
// granted by one store, each process opening it once, beside the same statements in a
// bare loop over prepared statements.
func BenchmarkContention(b *testing.B) {
	if how, ok := os.LookupEnv(contender); ok {
		newContender(b, how).obey(b)
		return
	}
	const claims = 512 // between all
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := measure(b, race(b, n, claims/n, "store"), race(b, n, claims/n, "bare"))
			p.report(b)
			p.reportRates(b, claims)
		})
	}
}

// race is n processes that take so many claims each. Its time is from the word to the
// last one's answer.
func race(b *testing.B, n, claims int, how string) way {
	b.Helper()
	f := newBench(b, "true")
	var list []rival
	for range n {
		list = append(list, f.rival(b, how))
	}
	return func() time.Duration {
		start := time.Now()
		for _, r := range list {
			r.tell(b, claims)
		}
		for _, r := range list {
			r.hear(b)
		}
		took := time.Since(start)
		f.forget(b)
		return took
	}
}

// rival is another process at the store.
type rival struct {
	orders  io.Writer
	answers *bufio.Scanner
}

func (f bench) rival(b *testing.B, how string) rival {
	b.Helper()
	self := must.Get(os.Executable())(b)
	cmd := exec.Command(self, "-test.run=^$", "-test.bench=^BenchmarkContention$", "-test.benchtime=1x")
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), contender+"="+how)
	orders := must.Get(cmd.StdinPipe())(b)
	answers := must.Get(cmd.StderrPipe())(b) // the test binary's own talk is on its standard output
	must.Do(b, cmd.Start())
	b.Cleanup(func() {
		_ = orders.Close()
		_ = cmd.Wait() // what went wrong was heard
	})
	r := rival{orders, bufio.NewScanner(answers)}
	r.hear(b)
	return r
}

func (r rival) tell(b *testing.B, claims int) {
	b.Helper()
	must.Get(fmt.Fprintln(r.orders, claims))(b)
}

func (r rival) hear(b *testing.B) {
	b.Helper()
	if r.answers.Scan(); r.answers.Text() != "done" {
		b.Fatalf("a contender says %q, %v; want it done", r.answers.Text(), r.answers.Err())
	}
}

// contend takes one claim.
type contend func(key string) error

// newContender opens the store of the workspace that the process stands in.
func newContender(b *testing.B, how string) contend {
	b.Helper()
	dir := must.Get(os.Getwd())(b)
	f := bench{dir: dir}
	if how == "bare" {
		return f.bareLoop(b)
	}
	d := f.openStore(b)
	b.Cleanup(func() { _ = d.Close() })
	return func(key string) error {
		claimOnce(b, d, key)
		return nil
	}
}

// bareLoop claims through one connection and statements that were prepared once.
func (f bench) bareLoop(b *testing.B) contend {
	b.Helper()
	ctx := context.Background()
	db := must.Get(sql.Open("sqlite3", "file:"+f.database()+"?mode=rw&_busy_timeout=15000&_foreign_keys=1&_synchronous=full"))(b)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	var steps []*sql.Stmt
	for _, text := range []string{"begin immediate", claimLook, claimGrant, "commit"} {
		s := must.Get(db.PrepareContext(ctx, text))(b)
		b.Cleanup(func() { _ = s.Close() })
		steps = append(steps, s)
	}
	return func(key string) error {
		now := time.Now().UnixMilli()
		for i, s := range steps {
			var args []any
			switch i {
			case 1:
				args = []any{sql.Named("key", key)}
			case 2:
				args = []any{
					sql.Named("key", key), sql.Named("holder", claimant),
					sql.Named("now", now), sql.Named("expires", now+time.Hour.Milliseconds()),
				}
			}
			if err := finish(ctx, s, args); err != nil {
				return err
			}
		}
		return nil
	}
}

// finish runs a statement to its last row, where it ends.
func finish(ctx context.Context, s *sql.Stmt, args []any) (err error) {
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		continue
	}
	return rows.Err()
}

// obey claims as often as each line of the standard input says, and answers "done".
func (claim contend) obey(b *testing.B) {
	b.Helper()
	fmt.Fprintln(os.Stderr, "done") // opening
	orders := bufio.NewScanner(os.Stdin)
	for n := 0; orders.Scan(); {
		var claims int
		must.Get(fmt.Sscan(strings.TrimSpace(orders.Text()), &claims))(b)
		for range claims {
			n++
			if err := claim(fmt.Sprintf("contended-%d-%d", os.Getpid(), n)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
		}
		fmt.Fprintln(os.Stderr, "done")
	}
}
