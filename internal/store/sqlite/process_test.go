package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storetest"
)

// childMode makes the test binary another process at the store. Each line on its standard
// input is a command, which it answers with a line.
const childMode = "STINT_TEST_STORE"

func TestMain(m *testing.M) {
	mode, child := os.LookupEnv(childMode)
	if !child {
		os.Exit(m.Run())
	}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		answer, err := obey(context.Background(), mode, orders.Text())
		if err != nil {
			answer = fmt.Sprintf("error: %v (%s)", err, fleet.Hint(err))
		}
		fmt.Fprintln(os.Stdout, strings.ReplaceAll(answer, "\n", " "))
	}
}

func obey(ctx context.Context, mode, dir string) (string, error) {
	o := Options{Dir: dir, Fleet: "bob", Workspace: "/w", Now: storetest.Start, Settings: rank.Defaults()}
	switch mode {
	case "open":
		d, err := Open(ctx, o)
		if err != nil {
			return "", err
		}
		grant, c, err := d.Take(ctx, store.TakeRequest{Key: "k", Holder: fleet.Holder(fmt.Sprint(os.Getpid())), TTL: time.Hour})
		return fmt.Sprint(grant, c.Epoch), errors.Join(err, d.Close())
	case "contend":
		return contend(ctx, o)
	case "lock": // for as long as this process is there
		d, err := Open(ctx, o)
		if err != nil {
			return "", err
		}
		d.turn(ctx)
		_, err = d.sql.ExecContext(ctx, beginWrite)
		return "locked", err
	case "readonly":
		db, err := OpenRead(ctx, o)
		if err != nil {
			return "", fmt.Errorf("read: %w", err)
		}
		return "", errors.Join(refusal(Open(ctx, o)), db.Close())
	case "tmpfs":
		// A disk that is mounted here is nobody else's, also where the mounts around it are shared.
		if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
			return "", fmt.Errorf("cannot mount: %w", err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=640k"); err != nil {
			return "", fmt.Errorf("cannot mount: %w", err)
		}
		return full(ctx, o, fillDisk)
	case "limit":
		return full(ctx, o, limitFiles)
	}
	if which, found := strings.CutPrefix(mode, killedMode); found {
		return "", killed(ctx, o, which)
	}
	return "", fmt.Errorf("mode %q is unknown", mode)
}

// other is another process.
type other struct {
	*exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
}

func startOther(t *testing.T, mode string, attr *syscall.SysProcAttr) (other, error) {
	t.Helper()
	// Not by its path, which other users cannot reach.
	o := other{Cmd: exec.CommandContext(t.Context(), "/proc/self/exe")}
	o.Env = append(os.Environ(), childMode+"="+mode)
	o.SysProcAttr, o.Stderr = attr, os.Stderr
	var err error
	if o.orders, err = o.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout := must.Get(o.StdoutPipe())(t)
	o.answers = bufio.NewScanner(stdout)
	o.answers.Buffer(nil, 1<<20)
	if err := o.Start(); err != nil {
		return other{}, err
	}
	t.Cleanup(func() {
		_ = o.orders.Close()
		_ = o.Wait()
	})
	return o, nil
}

func startOthers(t *testing.T, n int, mode string) (list []other) {
	t.Helper()
	for range n {
		o := must.Get(startOther(t, mode, nil))(t)
		list = append(list, o)
	}
	return list
}

func (o other) tell(t *testing.T, order string) {
	t.Helper()
	must.Get(io.WriteString(o.orders, order+"\n"))(t)
}

func (o other) hear(t *testing.T) string {
	t.Helper()
	if !o.answers.Scan() {
		t.Fatalf("got no answer: %v", o.answers.Err())
	}
	return o.answers.Text()
}

// TestFirstOpenAtOnce has twelve processes open a store that is not there yet: all
// get the same one, of which one has the claim.
func TestFirstOpenAtOnce(t *testing.T) {
	t.Parallel()
	others := startOthers(t, 12, "open")
	for round := range 30 {
		dir := filepath.Join(t.TempDir(), "state")
		for _, o := range others {
			o.tell(t, dir)
		}
		answers := map[string]int{}
		for _, o := range others {
			answers[o.hear(t)]++
		}
		if answers["granted1"] != 1 || answers["denied1"] != len(others)-1 {
			t.Fatalf("round %d: got %v, want one grant and eleven denials", round, answers)
		}
		if drafts, err := filepath.Glob(filepath.Join(dir, File+".new-*")); err != nil || len(drafts) > 0 {
			t.Errorf("round %d: got %v left, %v, want no draft", round, drafts, err)
		}
	}
}

// contend takes claims on three keys a hundred times and gives back what it got. It
// answers with its grants.
func contend(ctx context.Context, o Options) (string, error) {
	d, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	var grants []string
	holder := fleet.Holder(fmt.Sprint(os.Getpid()))
	for i := range 100 {
		key := fleet.Key("k" + strconv.Itoa(i%3))
		grant, c, err := d.Take(ctx, store.TakeRequest{Key: key, Holder: holder, TTL: time.Hour})
		if err != nil {
			return "", err
		}
		if grant != fleet.Granted {
			continue
		}
		grants = append(grants, fmt.Sprintf("%s/%d", key, c.Epoch))
		if c.Holder != holder {
			return "", fmt.Errorf("granted to %s", c.Holder)
		}
		if _, err := d.Release(ctx, store.Hold{Key: key, Holder: holder, Epoch: c.Epoch}, fleet.EndingReleased, ""); err != nil {
			return "", err
		}
	}
	return strings.Join(grants, " "), d.Close()
}

// TestContention lets eight processes fight for three claims: each epoch of a key
// is granted once, none is left out, and nobody is turned away by the store.
func TestContention(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	o.Workspace = "/w"
	d := mustOpen(t, o)
	others := startOthers(t, 8, "contend")
	for _, p := range others {
		p.tell(t, o.Dir)
	}
	grants := map[string]int{}
	for _, p := range others {
		for grant := range strings.FieldsSeq(p.hear(t)) {
			grants[grant]++
		}
	}
	total := 0
	for _, key := range []fleet.Key{"k0", "k1", "k2"} {
		c, held, err := check(t, d, key)
		if err != nil || held || c.Epoch == 0 {
			t.Fatalf("%s: got %+v, %v, %v, want it taken and given back", key, c, held, err)
		}
		for epoch := fleet.Epoch(1); epoch <= c.Epoch; epoch++ {
			if n := grants[fmt.Sprintf("%s/%d", key, epoch)]; n != 1 {
				t.Errorf("%s: got epoch %d granted %d times, want once", key, epoch, n)
			}
		}
		total += int(c.Epoch)
	}
	if total != len(grants) {
		t.Errorf("got %d epochs on record and %d grants, want as many: %v", total, len(grants), grants)
	}
}

// TestReadBesideWriter has a store that was opened for writing read while another process has both the
// turn and the lock of a writer.
func TestReadBesideWriter(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	o.Workspace = "/w"
	d := mustOpen(t, o)
	if _, _, err := d.Take(t.Context(), store.TakeRequest{Key: "k", Holder: "h", TTL: time.Hour}); err != nil {
		t.Fatal(err)
	}
	p := startOthers(t, 1, "lock")[0]
	p.tell(t, o.Dir)
	if got := p.hear(t); got != "locked" {
		t.Fatal(got)
	}
	soon, cancel := context.WithTimeout(t.Context(), maxTurn/2)
	defer cancel()
	s, err := d.Snapshot(soon)
	if err != nil || len(s.Claims) != 1 {
		t.Errorf("got %d claims, %v, want the one there is", len(s.Claims), err)
	}
	at, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, _, err := d.Take(at, store.TakeRequest{Key: "k2", Holder: "h", TTL: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got a write with %v, want it to wait for the other", err)
	}
}

// TestReadOnlyFolder has a user who may read the store, and does, and not write it. Nothing is
// read-only for root, who therefore asks as nobody.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	o := testOptions(t, storetest.Start)
	o.Workspace = "/w"
	must.Do(t, mustOpen(t, o).Close())
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		const nobody = 65534
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		for _, path := range []string{o.Dir, filepath.Join(o.Dir, File)} {
			must.Do(t, os.Chown(path, nobody, nobody))
		}
		for folder := filepath.Dir(o.Dir); strings.HasPrefix(folder, os.TempDir()+"/"); folder = filepath.Dir(folder) {
			if err := os.Chmod(folder, 0o711); err != nil { //nolint:gosec // nobody is to get through
				t.Fatal(err)
			}
		}
	}
	must.Do(t, os.Chmod(o.Dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(o.Dir, 0o700) })
	p := must.Get(startOther(t, "readonly", attr))(t)
	p.tell(t, o.Dir)
	got := p.hear(t)
	if !strings.HasPrefix(got, "error: open store "+o.Dir) || !strings.HasSuffix(got, "this user)") {
		t.Errorf("got %q, want it read, and to write refused with the store's name and a hint about this user", got)
	}
}

// refusal is the error of an open, and an error if there is none.
func refusal(d *DB, err error) error {
	if err == nil {
		return errors.Join(errors.New("got a store, want it refused"), d.Close())
	}
	return err
}

// TestFullDisk has a write fail for lack of room, on a small disk where one can be
// mounted, and at the limit of a file's size everywhere.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	mount := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		mount.Cloneflags |= syscall.CLONE_NEWUSER
		mount.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		mount.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	for mode, want := range map[string]string{
		"tmpfs": "database or disk is full (the disk is full; nothing was written)",
		"limit": "disk I/O error: file too large (the state folder cannot be written; look at the disk: df)",
	} {
		attr := mount
		if mode == "limit" {
			attr = nil
		}
		p, err := startOther(t, mode, attr)
		if mode == "tmpfs" && errors.Is(err, syscall.EPERM) {
			t.Log("no disk can be mounted here")
			continue
		}
		must.Do(t, err)
		p.tell(t, t.TempDir())
		switch got := p.hear(t); {
		case mode == "tmpfs" && strings.HasPrefix(got, "error: cannot mount"):
			t.Log("no disk can be mounted here")
		case got != want:
			t.Errorf("%s:\ngot  %q\nwant %q", mode, got, want)
		}
	}
}

// full takes a claim before, while and after there is room, and answers with the
// refusal.
func full(ctx context.Context, o Options, fill func(dir string) (undo func() error, err error)) (string, error) {
	d, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	defer func() { _ = d.Close() }()
	take := func(key fleet.Key) (fleet.Grant, error) {
		grant, _, err := d.Take(ctx, store.TakeRequest{Key: key, Holder: "h", TTL: time.Hour, Note: strings.Repeat("n", 4096)})
		return grant, err
	}
	if _, err := take("before"); err != nil {
		return "", err
	}
	undo, err := fill(o.Dir)
	if err != nil {
		return "", err
	}
	_, refused := take("while")
	if refused == nil {
		return "", errors.New("got a claim without room for it, want an error")
	}
	fresh := o
	fresh.Dir = filepath.Join(o.Dir, "fresh")
	if _, err := Open(ctx, fresh); err == nil {
		return "", errors.New("got a store without room for it, want an error")
	}
	left, err := filepath.Glob(fresh.Dir + "/*")
	if err != nil || len(left) > 0 {
		return "", fmt.Errorf("got %v left of a store that could not be made, want nothing: %w", left, err)
	}
	if err := undo(); err != nil {
		return "", err
	}
	for key, want := range map[fleet.Key]fleet.Grant{"before": fleet.Denied, "while": fleet.Granted} {
		if grant, err := take(key); grant != want || err != nil {
			return "", fmt.Errorf("got %q %s with room again (%w), want %s", key, grant, err, want)
		}
	}
	text := refused.Error()
	return fmt.Sprintf("%s (%s)", strings.TrimPrefix(text, `take claim "while": `), fleet.Hint(refused)), nil
}

func fillDisk(dir string) (func() error, error) {
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1024))
	}
	return func() error { return os.Remove(path) }, f.Close()
}

// limitFiles allows no file to grow beyond a page or so.
func limitFiles(string) (func() error, error) {
	signal.Ignore(syscall.SIGXFSZ) // so that a write fails and the process lives
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		return nil, err
	}
	err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 5000, Max: was.Max})
	return func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was) }, err
}
