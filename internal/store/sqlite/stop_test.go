package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

// stops lets a test in before each statement of a store, commits included. An
// error from it takes the statement's place.
type stops struct{ before func() error }

// stopsConnector connects to a store's file.
type stopsConnector struct {
	stops
	dsn string
}

func (c stopsConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, fmt.Errorf("got a connection of type %T", conn)
	}
	return stopsConn{inner, c.stops}, nil
}

func (c stopsConnector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

type stopsConn struct {
	*sqlite3.SQLiteConn
	stops
}

func (c stopsConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if query == "rollback" {
		return c.SQLiteConn.ExecContext(ctx, query, args)
	}
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.SQLiteConn.ExecContext(ctx, query, args)
}

func (c stopsConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.before(); err != nil {
		return nil, err
	}
	return c.SQLiteConn.QueryContext(ctx, query, args)
}

// openAt opens a store with a stop before every statement from here on.
func openAt(ctx context.Context, o Options, before func() error) (*DB, error) {
	d, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := d.sql.Close(); err != nil {
		return nil, err
	}
	d.sql = sql.OpenDB(stopsConnector{
		stops{before}, "file:" + filepath.Join(o.Dir, File) + "?_foreign_keys=1&_busy_timeout=" + busyTimeoutMillis,
	})
	d.sql.SetMaxOpenConns(maxConnections)
	return d, nil
}

// stoppedWrite is a write of many statements, and what makes the store ready for it.
type stoppedWrite struct {
	prepare func(ctx context.Context, d *DB) error
	write   func(ctx context.Context, d *DB) error
}

func stoppedWrites() map[string]stoppedWrite {
	run := fleet.Run{ID: "0r1", Category: "code", Key: "k", Epoch: 1, CreatedAt: storetest.Start()}
	take := storekit.RunTake{
		TakeRequest: store.TakeRequest{Key: "k", Holder: run.ID.Holder(), TTL: time.Hour}, Run: run.ID, Task: "k",
		Lessons: []fleet.LessonUse{{Lesson: "a", Injected: true}, {Lesson: "b"}},
	}
	take.Room = fleet.Room{Takes: true, Limit: 1}
	fire := fleet.Fire{Choices: []fleet.Choice{{Category: "code", Decision: fleet.Spawn, Run: run.ID}, {Category: "docs", Decision: fleet.Skip}}, Due: map[fleet.Category]float64{"code": 1, "docs": 0.5}}
	planned := func(ctx context.Context, d *DB) error {
		_, err := d.RecordFire(ctx, store.Firing{Fire: fire, Runs: []fleet.Run{run}})
		return err
	}
	begun := func(ctx context.Context, d *DB) error {
		if err := planned(ctx, d); err != nil {
			return err
		}
		_, _, err := storekit.TakeLane(ctx, d, store.Begin{Run: run.ID, Category: "code", Lane: 1, TTL: time.Hour})
		if err == nil {
			_, _, err = storekit.TakeForRun(ctx, d, take)
		}
		return err
	}
	end := func(v fleet.Verdict) func(context.Context, *DB) error {
		return func(ctx context.Context, d *DB) error {
			ended := run
			ended.Verdict = v
			return d.Complete(ctx, ended)
		}
	}
	noop := end(fleet.Verdict{Outcome: fleet.Noop})
	return map[string]stoppedWrite{
		"RecordFire": {begun, func(ctx context.Context, d *DB) error {
			_, err := d.RecordFire(ctx, store.Firing{Fire: fire, Runs: []fleet.Run{{ID: "0r2"}, {ID: "0r3"}}})
			return err
		}},
		"TakeForRun": {planned, func(ctx context.Context, d *DB) error {
			_, _, err := storekit.TakeForRun(ctx, d, take)
			return err
		}},
		"Complete": {begun, end(fleet.Verdict{Outcome: fleet.Failed, Grade: new(float64)})},
		"AddFates": {
			func(ctx context.Context, d *DB) error {
				return errors.Join(begun(ctx, d), end(fleet.Verdict{Outcome: fleet.Productive, Grade: new(0.5)})(ctx, d))
			},
			func(ctx context.Context, d *DB) error {
				_, err := d.AddFates(ctx, []fleet.ReviewOutcome{{Run: run.ID, Kind: fleet.FateMerged, Witness: "a"}, {Run: run.ID, Kind: fleet.FateTouched, Witness: "b"}})
				return err
			},
		},
		"Complete noop": {begun, noop},
		"Abandon": {begun, func(ctx context.Context, d *DB) error {
			_, err := d.Abandon(ctx, store.Gone{Run: run.ID, Reason: "found dead"})
			return err
		}},
		"SeePlaces": {begun, func(ctx context.Context, d *DB) error {
			return d.SeePlaces(ctx, storetest.Start(), []fleet.PlaceSight{
				{Run: run.ID, State: fleet.PlaceReviewed}, {Run: "0r2", State: fleet.PlaceWaits}, {Run: "0r3", State: fleet.PlaceOut},
			})
		}},
		"NotStarted": {planned, func(ctx context.Context, d *DB) error {
			_, err := d.NotStarted(ctx, 1, run.ID, "unit refused")
			return err
		}},
		"Resume": {
			func(ctx context.Context, d *DB) error {
				return errors.Join(begun(ctx, d), noop(ctx, d), d.Pause(ctx, fleet.Pause{Category: "code"}))
			},
			func(ctx context.Context, d *DB) error {
				_, err := d.Resume(ctx, "code")
				return err
			},
		},
	}
}

// world is all that a store holds, table by table.
func world(t *testing.T, o Options) map[string][]map[string]any {
	t.Helper()
	d := mustOpen(t, o)
	all := map[string][]map[string]any{}
	for _, table := range rowsOf(t, d, "select name from sqlite_schema where type = 'table'") {
		name := fmt.Sprint(table["name"])
		all[name] = rowsOf(t, d, "select * from "+name)
	}
	return all
}

// prepared is a store that is ready for a write.
func prepared(t *testing.T, w stoppedWrite) Options {
	t.Helper()
	o := testOptions(t, storetest.Start)
	o.Workspace = "/w"
	must.Do(t, w.prepare(t.Context(), mustOpen(t, o)))
	return o
}

// TestStoppedWrite has each write refused at every one of its statements, as by a full
// disk: what came before it is undone.
func TestStoppedWrite(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, w := range stoppedWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := prepared(t, w)
			checkStops(t, o, func(n int) bool {
				d := must.Get(openAt(t.Context(), o, func() error {
					if n--; n == 0 {
						return refused
					}
					return nil
				}))(t)
				err := w.write(t.Context(), d)
				must.Do(t, d.Close())
				if err != nil && !errors.Is(err, refused) {
					t.Fatalf("got %v, want what the statement failed with", err)
				}
				return err == nil
			})
		})
	}
}

// checkStops stops a write at its first statement, its second and so on, until it gets
// through. Until then nothing may be written.
func checkStops(t *testing.T, o Options, write func(n int) (through bool)) {
	t.Helper()
	before := world(t, o)
	for n := 1; ; n++ {
		through := write(n)
		diff := cmp.Diff(world(t, o), before, exactly())
		if through {
			if diff == "" || n < 4 {
				t.Errorf("got through after %d stops with nothing changed, or fewer statements than there are", n)
			}
			return
		}
		if diff != "" {
			t.Errorf("stopped at statement %d (-got +want):\n%s", n, diff)
		}
	}
}

// TestKilledWrite has a process die at every statement of each write, and at its commit.
func TestKilledWrite(t *testing.T) {
	t.Parallel()
	for name, w := range stoppedWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := prepared(t, w)
			checkStops(t, o, func(n int) bool {
				p := must.Get(startOther(t, killedMode+strconv.Itoa(n)+" "+name, nil))(t)
				p.tell(t, o.Dir)
				if !p.answers.Scan() {
					return false
				}
				if got := p.answers.Text(); got != "" {
					t.Fatalf("got %q, want the write through", got)
				}
				return true
			})
		})
	}
}

// killedMode, a number and a write make a process that dies at that statement.
const killedMode = "killed "

func killed(ctx context.Context, o Options, which string) error {
	number, name, _ := strings.Cut(which, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return err
	}
	d, err := openAt(ctx, o, func() error {
		if n--; n == 0 {
			return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("it is too late"))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(stoppedWrites()[name].write(ctx, d), d.Close())
}
