package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-sqlite3"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
	"stint/internal/testkit/storetest"
)

// opener is Open or OpenRead.
type opener func(context.Context, Options) (*DB, error)

// files lists what is in a folder, with modes.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		info := must.Get(e.Info())(t)
		list = append(list, fmt.Sprintf("%s %v", e.Name(), info.Mode()))
	}
	return list
}

// raw opens the store's file as anybody could.
func raw(t *testing.T, o Options) *sql.DB {
	t.Helper()
	db := must.Get(sql.Open("sqlite3", filepath.Join(o.Dir, File)))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestOpenMakesTheStore(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	o.Dir = filepath.Join(o.Dir, "state", "bob")
	d := must.Get(Open(t.Context(), o))(t)
	if _, _, err := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	must.Equal(t, "open", files(t, o.Dir), []string{"stint.db -rw-------", "stint.db-shm -rw-------", "stint.db-wal -rw-------"})
	must.Do(t, d.Close())
	must.Equal(t, "closed", files(t, o.Dir), []string{"stint.db -rw-------"})
	must.Equal(t, "folder", files(t, filepath.Dir(o.Dir)), []string{"bob drwx------"})
	c, held, err := check(t, mustOpen(t, o), "k")
	if !held || c.Epoch != 1 || err != nil {
		t.Errorf("got %+v, %v, %v after opening again, want it held", c, held, err)
	}
}

func TestConnection(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "15000", "user_version": fmt.Sprint(table.Latest()),
	} {
		var got string
		if err := d.sql.QueryRowContext(t.Context(), "pragma "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", pragma, got, err, want)
		}
	}
}

// TestStrangePaths has folders that mean something in an address.
func TestStrangePaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?mode=memory", "a%20b%", "a#b", "a&b=c", "a'b\"c", "ünïcode 任务", "a:b", "a;b", "-a", "a\nb", "a+b"} {
		parent := t.TempDir()
		o := Options{Dir: filepath.Join(parent, name), Fleet: "bob", Workspace: "/w", Now: storetest.Start}
		d, err := Open(t.Context(), o)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := d.Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		got := append(files(t, parent), files(t, o.Dir)...)
		if diff := cmp.Diff(got, []string{name + " drwx------", "stint.db -rw-------"}); diff != "" {
			t.Errorf("%q (-got +want):\n%s", name, diff)
		}
		if d, err := OpenRead(t.Context(), o); err != nil {
			t.Errorf("%q: %v", name, err)
		} else if err := d.Close(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestOpenRefuses has stores that must be left exactly as they are.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	execute := func(query string) func(*testing.T, Options) {
		return func(t *testing.T, o Options) {
			t.Helper()
			must.Get(raw(t, o).ExecContext(t.Context(), query))(t)
		}
	}
	write := func(data []byte) func(*testing.T, Options) {
		return func(t *testing.T, o Options) {
			t.Helper()
			must.Do(t, os.WriteFile(filepath.Join(o.Dir, File), data, 0o600))
		}
	}
	tests := []struct {
		name    string
		spoil   func(*testing.T, Options)
		options func(*Options)
		usage   bool
		want    string
		hint    string
	}{
		{"a newer schema", execute("pragma user_version = 99"), nil, true, "its schema is version 99, this program knows 1", "use the stint that wrote it"},
		{"another fleet", nil, func(o *Options) { o.Fleet = "alice" }, true, `it belongs to fleet "bob", not "alice"`, `"state" folder of its own`},
		{"another workspace", nil, func(o *Options) { o.Workspace = "/x" }, true, "it belongs to workspace /home/bob/work, not /x", "stint init"},
		{"an empty file", write(nil), nil, false, "it is empty: not a store", ""},
		{"garbage", write(bytes.Repeat([]byte("garbage "), 1000)), nil, false, "file is not a database", "this is not a store"},
		{"another database", execute("pragma user_version = 0"), nil, false, "it is empty: not a store", ""},
		{"no owner", execute("delete from fleet"), nil, false, "no rows in result set", ""},
	}
	for _, tt := range tests {
		for how, open := range map[string]opener{"write": Open, "read": OpenRead} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				t.Parallel()
				o := testOptions(t, storetest.Start)
				must.Do(t, mustOpen(t, o).Close())
				if tt.spoil != nil {
					tt.spoil(t, o)
				}
				if tt.options != nil {
					tt.options(&o)
				}
				before := contents(t, o)
				d, err := open(t.Context(), o)
				if err == nil {
					_ = d.Close()
					t.Fatal("got a store, want it refused")
				}
				if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "open store "+o.Dir) {
					t.Errorf("got %q, want it to name the store and say %q", err, tt.want)
				}
				if got := errors.Is(err, fleet.ErrUsage); got != tt.usage {
					t.Errorf("got wrong usage: %v, want %v: %v", got, tt.usage, err)
				}
				if !strings.Contains(fleet.Hint(err), tt.hint) {
					t.Errorf("got hint %q, want %q", fleet.Hint(err), tt.hint)
				}
				if !bytes.Equal(contents(t, o), before) {
					t.Error("got the file changed, want it left as it was")
				}
			})
		}
	}
}

// contents is the store's file with what its log adds to it.
func contents(t *testing.T, o Options) []byte {
	t.Helper()
	db := raw(t, o)
	_, _ = db.ExecContext(t.Context(), "pragma wal_checkpoint(truncate)") // what is no database has no log
	must.Do(t, db.Close())
	data := must.Get(os.ReadFile(filepath.Join(o.Dir, File)))(t)
	return data
}

func TestOpenInTheWay(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a folder":          func(path string) error { return os.Mkdir(path, 0o700) },
		"a link to nowhere": func(path string) error { return os.Symlink("/nonexistent/stint.db", path) },
		"a link to itself":  func(path string) error { return os.Symlink(path, path) },
		"a file as its state": func(path string) error {
			return errors.Join(os.Remove(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		},
	} {
		o := testOptions(t, storetest.Start)
		must.Do(t, put(filepath.Join(o.Dir, File)))
		for how, open := range map[string]opener{"write": Open, "read": OpenRead} {
			if d, err := open(t.Context(), o); err == nil {
				_ = d.Close()
				t.Errorf("%s, %s: got a store, want an error", name, how)
			} else if !strings.Contains(err.Error(), o.Dir) {
				t.Errorf("%s, %s: got %q, want it to name the store", name, how, err)
			}
		}
	}
}

func TestOpenReadMakesNothing(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	for _, dir := range []string{o.Dir, filepath.Join(o.Dir, "state")} {
		missing := o
		missing.Dir = dir
		if _, err := OpenRead(t.Context(), missing); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("got %v, want not found", err)
		}
	}
	if got := files(t, o.Dir); len(got) > 0 {
		t.Errorf("got %v, want nothing made", got)
	}
}

func TestOpenReadWritesNothing(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	w := mustOpen(t, o)
	d := must.Get(OpenRead(t.Context(), o))(t)
	t.Cleanup(func() { _ = d.Close() })
	if _, _, err := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); err == nil {
		t.Error("got a claim from a store opened for reading, want an error")
	}
	if _, _, err := w.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if _, held, err := check(t, d, "k"); !held || err != nil {
		t.Errorf("got held %v, %v, want what was written meanwhile", held, err)
	}
}

// TestMovedWhileOpen has the record copied away while others have the store open, as a command that waits for the lock.
func TestMovedWhileOpen(t *testing.T) {
	t.Parallel()
	from, to := testOptions(t, storetest.Start), testOptions(t, storetest.Start)
	w := mustOpen(t, from)
	r := must.Get(OpenRead(t.Context(), from))(t)
	t.Cleanup(func() { _ = r.Close() })
	must.Get(book.Copy(t.Context(), mustOpen(t, from), mustOpen(t, to), "postgres", false))(t)
	if _, _, err := w.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("got %v, want no claim from a store that was moved", err)
	}
	if _, err := r.Snapshot(t.Context()); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("got %v, want no look at a store that was moved", err)
	}
}

// spoiling is a store that loses a row after each write.
type spoiling struct{ *DB }

func (s spoiling) Change(ctx context.Context, k book.Kind, decide func(book.Tx) error) error {
	err := s.DB.Change(ctx, k, decide)
	if err == nil {
		_, err = s.sql.ExecContext(ctx, "delete from denials where id = (select max(id) from denials)")
	}
	return err
}

// TestCopyIsCompared has a copied store lose a row before the first is marked as moved: that stays in use.
func TestCopyIsCompared(t *testing.T) {
	t.Parallel()
	from := testOptions(t, storetest.Start)
	w := mustOpen(t, from)
	must.Do(t, w.AddRun(t.Context(), fleet.Run{ID: "0r1", Category: "code", Source: fleet.FromHand}))
	must.Do(t, storekit.Deny(t.Context(), w, fleet.DeniedClaim{Run: "0r1", Key: "k", Holder: "h"}))
	must.Do(t, w.Complete(t.Context(), fleet.Run{ID: "0r1", Verdict: fleet.Verdict{Outcome: fleet.RunDenied}}))
	_, err := book.Copy(t.Context(), mustOpen(t, from), spoiling{mustOpen(t, testOptions(t, storetest.Start))}, "postgres", false)
	if err == nil || !strings.Contains(err.Error(), "table denials has 0 rows, which are not the 1 that were copied") {
		t.Errorf("got %v, want the missing row found", err)
	}
	if _, err := w.Snapshot(t.Context()); err != nil {
		t.Errorf("got %v, want the store in use", err)
	}
}

// TestReadersAndAWriter reads while a writer is in the midst of a transaction.
func TestReadersAndAWriter(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	w := mustOpen(t, o)
	d, err := OpenRead(t.Context(), o)
	must.Do(t, err)
	t.Cleanup(func() { _ = d.Close() })
	err = w.update(t.Context(), func(_ context.Context, in *sql.Conn) error {
		held := table.Claim{Claim: fleet.Claim{Key: "k", Holder: "h", Epoch: 1, AcquiredAt: storetest.Start(), ExpiresAt: storetest.Start().Add(time.Hour)}}
		if err := run(t.Context(), in, table.Claims().Put(held)); err != nil {
			return err
		}
		s, err := d.Snapshot(t.Context())
		if len(s.Claims) > 0 {
			t.Errorf("got %v, want nothing before the commit", s.Claims)
		}
		return err
	})
	must.Do(t, err)
}

// everyWrite calls each method that writes, as far as they get.
func everyWrite(ctx context.Context, d *DB) error {
	run := fleet.Run{ID: "0r1", Category: "code", CreatedAt: storetest.Start()}
	hold := store.Hold{Key: "k", Holder: "run:0r1", Epoch: 1}
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	_, _, err := d.Take(ctx, store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour})
	try(err)
	try(d.AddRun(ctx, run))
	_, _, err = storekit.TakeLane(ctx, d, store.Begin{Run: run.ID, Category: "code", Lane: 1, TTL: time.Hour})
	try(err)
	_, _, err = storekit.TakeForRun(ctx, d, storekit.RunTake{
		TakeRequest: store.TakeRequest{Key: "k", Holder: hold.Holder, TTL: time.Hour}, Run: run.ID, Task: "k", Lessons: []fleet.LessonUse{{Lesson: "a"}},
	})
	try(err)
	_, err = d.Renew(ctx, hold, time.Hour)
	try(err)
	_, err = d.RecordFire(ctx, store.Firing{Fire: fleet.Fire{Due: map[fleet.Category]float64{"code": 1}}, Runs: []fleet.Run{{ID: "0r2"}}})
	try(err)
	_, err = d.NotStarted(ctx, 1, "0r2", "")
	try(err)
	run.Key, run.Epoch, run.Verdict = "k", 1, fleet.Verdict{Outcome: fleet.Failed, Grade: new(float64)}
	try(d.Complete(ctx, run))
	_, err = d.Abandon(ctx, store.Gone{Run: run.ID})
	try(err)
	try(d.Pause(ctx, fleet.Pause{Category: "code"}))
	_, err = d.Resume(ctx, "code")
	try(err)
	_, err = d.Release(ctx, hold, fleet.EndingReleased, "")
	try(err)
	for _, err := range errs {
		// A dry run undid the rows that the next steps would need.
		var foreign sqlite3.Error
		dangling := errors.As(err, &foreign) && foreign.ExtendedCode == sqlite3.ErrConstraintForeignKey
		if err != nil && !dangling && !errors.Is(err, fleet.ErrLost) && !errors.Is(err, fleet.ErrUsage) {
			return err
		}
	}
	return nil
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	live := mustOpen(t, o)
	if _, _, err := live.Take(t.Context(), store.TakeRequest{Key: "held", Holder: "h", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	before := contents(t, o)
	o.DryRun = true
	d := mustOpen(t, o)
	grant, c, err := d.Take(t.Context(), store.TakeRequest{Key: "new", Holder: "h", TTL: time.Hour})
	if grant != fleet.Granted || c.Epoch != 1 || err != nil {
		t.Errorf("got %s, %+v, %v, want what would be granted", grant, c, err)
	}
	if grant, _, err := d.Take(t.Context(), store.TakeRequest{Key: "held", Holder: "x", TTL: time.Hour}); grant != fleet.Denied || err != nil {
		t.Errorf("got %s, %v, want what is held denied", grant, err)
	}
	if err := everyWrite(t.Context(), d); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(contents(t, o), before) {
		t.Error("got the store changed, want it left as it was")
	}
}

func TestDryRunWithoutStore(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	parent := o.Dir
	o.Dir, o.DryRun = filepath.Join(parent, "state"), true
	d := mustOpen(t, o)
	if err := everyWrite(t.Context(), d); err != nil {
		t.Error(err)
	}
	if got := files(t, parent); len(got) > 0 {
		t.Errorf("got %v, want nothing made", got)
	}
	if _, err := os.Stat("/stint"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no file of the name of what is in memory", err)
	}
}

// TestOneClockInTheTransaction shows that every method that writes reads the clock
// once, while it holds the write lock: nobody else can have it then.
func TestOneClockInTheTransaction(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	must.Do(t, mustOpen(t, o).Close())
	other := must.Get(sql.Open("sqlite3", "file:"+filepath.Join(o.Dir, File)+"?_txlock=immediate&_busy_timeout=0"))(t)
	t.Cleanup(func() { _ = other.Close() })
	reads := 0
	o.Now = func() time.Time {
		reads++
		if began, err := other.BeginTx(t.Context(), nil); err == nil {
			_ = began.Rollback()
			t.Error("got the clock read without the write lock, want it held")
		}
		return storetest.Start()
	}
	d := mustOpen(t, o)
	reads = 0
	must.Do(t, everyWrite(t.Context(), d))
	if reads != 12 {
		t.Errorf("got %d readings of the clock by 12 calls, want one each", reads)
	}
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	gone, here := "/home/bob/work", t.TempDir()
	loop := filepath.Join(t.TempDir(), "loop")
	must.Do(t, os.Symlink(loop, loop))
	tests := []struct {
		name    string
		of, by  string
		options func(*Options)
		want    string
	}{
		{"moved", gone, here, nil, gone},
		{"the same", gone, gone, nil, ""},
		{"still there", here, "/x", nil, ""},
		{"cannot be looked at", loop, "/x", nil, ""},
		{"of another fleet", gone, here, func(o *Options) { o.Fleet = "alice" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t, storetest.Start)
			o.Workspace = tt.of
			must.Do(t, mustOpen(t, o).Close())
			by := o
			by.Workspace = tt.by
			if tt.options != nil {
				tt.options(&by)
			}
			got, err := Adopt(t.Context(), by)
			if got != tt.want || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			owner := o
			if tt.want != "" {
				owner = by
			}
			mustOpen(t, owner)
		})
	}
}

func TestAdoptDryRun(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	mustOpen(t, o)
	by := o
	by.Workspace, by.DryRun = t.TempDir(), true
	if got, err := Adopt(t.Context(), by); got != o.Workspace || err != nil {
		t.Errorf("got %q, %v, want %q: what would be", got, err, o.Workspace)
	}
	mustOpen(t, o)
}

func TestAdoptNothing(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	if got, err := Adopt(t.Context(), o); err == nil {
		t.Errorf("got %q, want an error", got)
	}
	if got := files(t, o.Dir); len(got) > 0 {
		t.Errorf("got %v, want nothing made", got)
	}
}

// check is the last claim of a key, and whether its holder may write under it.
func check(t *testing.T, d *DB, key fleet.Key) (c fleet.Claim, held bool, err error) {
	t.Helper()
	c, at, err := d.Check(t.Context(), key)
	return c, c.Current(at), err
}

// TestSchemaWithoutComments shows that no comment is kept, and no table too many: each command would parse it again.
func TestSchemaWithoutComments(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, testOptions(t, storetest.Start))
	if list := rowsOf(t, d, "select name from sqlite_schema where sql like '%--%'"); len(list) > 0 {
		t.Errorf("got comments in %v", list)
	}
	if n := len(rowsOf(t, d, "select name from sqlite_schema where sql <> ''")); n < 30 {
		t.Errorf("got %d tables and indexes, want all", n)
	}
	if n := len(rowsOf(t, d, "select name from sqlite_schema where type = 'table'")); n > 20 {
		t.Errorf("got %d tables, want at most 20: what has one key, or one life, has one row", n)
	}
}
