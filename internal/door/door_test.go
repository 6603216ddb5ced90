package door_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/door"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

const run = fleet.RunID("01kt1gw6g0000001")

// admit asks for something with the version that a client fills in.
func admit(s *door.Session, q door.Request) (door.Request, error) {
	q.Version = 1
	return s.Admit(q)
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	own := run.Holder()
	take := door.Request{Verb: door.ClaimTake, Key: "extra", Holder: own, TTL: time.Hour}
	with := func(change func(*door.Request)) door.Request {
		q := take
		change(&q)
		return q
	}
	for _, tt := range []struct {
		name    string
		q       door.Request
		refused string // empty: it may ask for that
	}{
		{"a key", take, ""},
		{"its own key", with(func(q *door.Request) { q.Key = "category:code:1" }), ""},
		{"another's lane", with(func(q *door.Request) { q.Key = "category:code:2" }), "reserved for lanes"},
		{"no key", with(func(q *door.Request) { q.Key = "" }), "must not be empty"},
		{"a key with a line break", with(func(q *door.Request) { q.Key = "a\nb" }), "control characters"},
		{"another holder", with(func(q *door.Request) { q.Holder = "alice" }), "under its own name alone"},
		{"no holder", with(func(q *door.Request) { q.Holder = "" }), "under its own name alone"},
		{"another run", with(func(q *door.Request) { q.Run = "0other" }), "this is the socket of run"},
		{"no time", with(func(q *door.Request) { q.TTL = 0 }), "a millisecond or more"},
		{"time that has gone", with(func(q *door.Request) { q.Verb, q.TTL = door.ClaimRenew, -1 }), "a millisecond or more"},
		{"a note of two lines", with(func(q *door.Request) { q.Note = "a\nb" }), "control characters"},
		{"a reason that is too long", with(func(q *door.Request) { q.Reason = strings.Repeat("x", 5000) }), "want at most"},
		{"a release", with(func(q *door.Request) { q.Verb, q.Ending = door.ClaimRelease, fleet.EndingDone }), ""},
		{"a release of its own claim", with(func(q *door.Request) {
			q.Verb, q.Key, q.Ending = door.ClaimRelease, "category:code:1", fleet.EndingDone
		}), "ends with it"},
		{"an ending that is none", with(func(q *door.Request) { q.Verb, q.Ending = door.ClaimRelease, "stolen" }), "want one of"},
		{"a verb that is none", door.Request{Verb: "stop"}, "may not ask"},
		{"no verb", door.Request{}, "may not ask"},
		{"no task to add", door.Request{Verb: door.TaskAdd}, "no task"},
		{"a task outside of the folder", door.Request{Verb: door.TaskShow, Task: "../x"}, "slash"},
	} {
		_, err := admit(&door.Session{Run: run, Key: "category:code:1", TTL: time.Minute}, tt.q)
		switch {
		case tt.refused == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused) || !errors.Is(err, fleet.ErrUsage)):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.refused)
		}
	}
	if _, err := (&door.Session{Run: run}).Admit(take); err == nil || !strings.Contains(err.Error(), "version 0") {
		t.Errorf("no version: %v", err)
	}
}

// TestAdmitMakesItItsOwn has what a session does not choose: in whose name it verifies, and how
// long its own claim lasts.
func TestAdmitMakesItItsOwn(t *testing.T) {
	t.Parallel()
	s := &door.Session{Run: run, Key: "fix", TTL: time.Minute}
	if q, err := admit(s, door.Request{Verb: door.ClaimVerify, Key: "other", Epoch: 1, Holder: "alice"}); err != nil || q.Holder != run.Holder() || q.Run != run {
		t.Errorf("verify: got %+v, %v", q, err)
	}
	for _, verb := range []door.Verb{door.ClaimTake, door.ClaimRenew} {
		if q, err := admit(s, door.Request{Verb: verb, Key: "fix", Holder: run.Holder(), TTL: time.Millisecond}); err != nil || q.TTL != time.Minute {
			t.Errorf("%s: got %s, %v", verb, q.TTL, err)
		}
	}
}

// TestAdmitIsBounded has a session that claims and adds without end. It may ask again
// for the keys that it has, and a dry run takes nothing.
func TestAdmitIsBounded(t *testing.T) {
	t.Parallel()
	s := &door.Session{Run: run, Key: "fix", TTL: time.Minute}
	for _, q := range []door.Request{
		{Verb: door.ClaimTake, Holder: run.Holder(), TTL: time.Hour},
		{Verb: door.TaskAdd, Draft: &door.Draft{}},
	} {
		admitted := 0
		for i := range 500 {
			q.Key = fleet.Key(fmt.Sprint("key-", i))
			q.DryRun = true
			if _, err := admit(s, q); err != nil && admitted < 100 {
				t.Fatal(err)
			}
			q.DryRun = false
			if _, err := admit(s, q); err == nil {
				admitted++
			}
		}
		if admitted != 100 {
			t.Errorf("%s: got %d admitted, want 100", q.Verb, admitted)
		}
	}
	for _, key := range []fleet.Key{"fix", "key-0"} {
		if _, err := admit(s, door.Request{Verb: door.ClaimTake, Key: key, Holder: run.Holder(), TTL: time.Hour}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// serve opens a door in a folder that may lie deep.
func serve(t *testing.T, folder string, answer func(context.Context, door.Request) (door.Answer, error)) (path string, shut func()) {
	t.Helper()
	path = filepath.Join(folder, "door")
	must.Do(t, os.MkdirAll(folder, 0o700))
	shut = must.Get(door.Server{
		Session: door.Session{Run: run, Key: "fix", TTL: time.Minute}, Answer: answer, Log: slog.New(slog.DiscardHandler),
	}.Serve(path))(t)
	t.Cleanup(shut)
	return path, shut
}

func echo(_ context.Context, q door.Request) (door.Answer, error) {
	return door.Answer{Claim: fleet.Claim{Key: q.Key}}, nil
}

// knock verifies a claim.
func knock(t *testing.T, path string) error {
	t.Helper()
	a, err := door.Ask(t.Context(), path, door.Request{Verb: door.ClaimVerify, Key: "fix", Epoch: 1})
	if err == nil && a.Claim.Key != "fix" {
		t.Errorf("got %+v", a)
	}
	return err
}

// TestServe opens doors at short paths and at paths that no address holds, shuts them, and opens
// them where a server has died, or something else is.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]string{"short": "s", "long": strings.Repeat("a-deep-folder/", 30)} {
		folder := filepath.Join(t.TempDir(), below)
		path, shut := serve(t, folder, echo)
		if err := knock(t, path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		shut()
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: the socket is left: %v", name, err)
		}
		if err := knock(t, path); !errors.Is(err, door.ErrClosed) {
			t.Errorf("%s: got %v, want a closed door", name, err)
		}
		must.Do(t, os.WriteFile(path, nil, 0o600))
		if err := knock(t, path); !errors.Is(err, door.ErrClosed) {
			t.Errorf("%s: got %v of a file, want a closed door", name, err)
		}
		path, _ = serve(t, folder, echo) // and once more, where something is
		if err := knock(t, path); err != nil {
			t.Errorf("%s, once more: %v", name, err)
		}
	}
}

// TestServeStale opens a door where the socket of a server that died is left.
func TestServeStale(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, "door"), Net: "unix"}))(t)
	l.SetUnlinkOnClose(false)
	must.Do(t, l.Close())
	if err := knock(t, filepath.Join(folder, "door")); !errors.Is(err, door.ErrClosed) {
		t.Errorf("got %v of a stale socket, want a closed door", err)
	}
	path, _ := serve(t, folder, echo)
	if err := knock(t, path); err != nil {
		t.Error(err)
	}
}

// TestAnotherUser refuses whoever is not the user of the session, also where the folder is open to others.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can have a thread of another user")
	}
	asked := false
	path, _ := serve(t, t.TempDir(), func(ctx context.Context, q door.Request) (door.Answer, error) {
		asked = true
		return echo(ctx, q)
	})
	said := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocks it: the thread is another user's to its end
		const same = ^uintptr(0)
		_, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, 65534, same)
		// It may use the files of the user all the same.
		_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, 0, 0, 0)
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
		if errno != 0 || err != nil {
			said <- fmt.Sprint(errno, err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, `{"version":1,"verb":"claim verify"}`)
		text, _ := io.ReadAll(conn)
		said <- string(text)
	}()
	if got := <-said; !strings.Contains(got, "user 65534: this is the socket of user 0") || asked {
		t.Errorf("got %q, and asked is %t", got, asked)
	}
}

// TestFaults brings each error that callers branch on to the one who asked, with its words.
func TestFaults(t *testing.T) {
	t.Parallel()
	var fault error
	path, _ := serve(t, t.TempDir(), func(context.Context, door.Request) (door.Answer, error) {
		if fault == nil {
			panic("a fault in this program")
		}
		return door.Answer{Claim: fleet.Claim{Key: "kept"}}, fault
	})
	for _, known := range []error{fleet.ErrUsage, fleet.ErrNotFound, fleet.ErrNothing, fleet.ErrHeld, fleet.ErrLost, fleet.ErrBusy} {
		fault = fleet.WithHint(fmt.Errorf("so: %w", known), "do this")
		a, err := door.Ask(t.Context(), path, door.Request{Verb: door.ClaimVerify})
		if !errors.Is(err, known) || err.Error() != fault.Error() || fleet.Hint(err) != "do this" || a.Claim.Key != "kept" {
			t.Errorf("%v: got %v, hint %q, %+v", known, err, fleet.Hint(err), a)
		}
	}
	fault = nil
	if _, err := door.Ask(t.Context(), path, door.Request{Verb: door.ClaimVerify}); err == nil || !strings.Contains(err.Error(), "internal error") {
		t.Errorf("got %v of a panic", err)
	}
	fault = errors.New("so")
	if err := knock(t, path); err == nil || err.Error() != "so" {
		t.Errorf("after a panic: %v", err)
	}
}

// TestHostile has clients that send garbage, too much, nothing or half of a request, by the
// thousand. Each is refused or dropped in its time, and an honest one is answered beside them.
func TestHostile(t *testing.T) {
	t.Parallel()
	path, shut := serve(t, t.TempDir(), echo)
	dial := func() *net.UnixConn {
		conn := must.Get(net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"}))(t)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for name, text := range map[string]string{
		"garbage":       "GET / HTTP/1.1\r\n\r\n",
		"a list":        "[]\n",
		"nothing":       "",
		"half":          `{"version":1,"verb":"claim ver`,
		"deep":          strings.Repeat("[", 100_000),
		"unknown field": `{"version":1,"verb":"claim verify","only_if":"x"}`,
		"other version": `{"version":2,"verb":"claim verify"}`,
		"huge":          `{"version":1,"note":"` + strings.Repeat("x", 8<<20),
		"wrong type":    `{"version":1,"verb":"claim verify","epoch":"one"}`,
	} {
		conn := dial()
		go func() {
			_, _ = io.WriteString(conn, text) // the other end may go first
			_ = conn.CloseWrite()
		}()
		var a struct{ Fault struct{ Kind, Text string } }
		if err := json.NewDecoder(conn).Decode(&a); err != nil && name != "huge" || err == nil && a.Fault.Kind != "usage" {
			t.Errorf("%s: got %+v, %v", name, a, err)
		}
	}
	var flood sync.WaitGroup
	for range 2000 {
		conn := dial()
		flood.Go(func() { _, _ = conn.Write([]byte(`{"version`)) })
		must.Do(t, conn.Close())
	}
	flood.Wait()
	for range 20 { // more than are served at once, and each only waits
		dial()
	}
	if err := knock(t, path); err != nil {
		t.Errorf("beside them: %v", err)
	}
	for range 20 {
		dial()
	}
	shut() // does not wait for them
	if err := knock(t, path); !errors.Is(err, door.ErrClosed) {
		t.Errorf("after it was shut: %v", err)
	}
}

// TestSlowAnswers has a tracker that takes its time. A hook that verifies does not wait for it, and
// the end of the session neither.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}), make(chan error, 3)
	path, shut := serve(t, t.TempDir(), func(ctx context.Context, q door.Request) (door.Answer, error) {
		if q.Verb == door.TaskShow {
			begun <- struct{}{}
			<-ctx.Done()
			return door.Answer{}, ctx.Err()
		}
		return echo(ctx, q)
	})
	for range cap(ended) { // of which one is begun
		go func() {
			_, err := door.Ask(context.Background(), path, door.Request{Verb: door.TaskShow, Task: "fix"})
			ended <- err
		}()
	}
	<-begun
	if err := knock(t, path); err != nil {
		t.Error(err)
	}
	go func() {
		for range begun { // those that had waited may begin now, and end at once
		}
	}()
	shut()
	close(begun)
	for range cap(ended) {
		if err := <-ended; err == nil {
			t.Error("a question was answered that nobody answered")
		}
	}
}

// TestAskTooMuch refuses a request that the server would not read.
func TestAskTooMuch(t *testing.T) {
	t.Parallel()
	path, _ := serve(t, t.TempDir(), echo)
	_, err := door.Ask(t.Context(), path, door.Request{Verb: door.TaskAdd, Draft: &door.Draft{Body: strings.Repeat("x", 2<<20)}})
	if !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("got %v", err)
	}
}
