// Package pgtest runs a PostgreSQL server for the tests of a package: a cluster of its own in a
// temporary folder, reached by a socket there and no network, which ends with the process.
package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Cluster is a server's data folder.
type Cluster struct {
	Dir string // with its socket
	bin string // the folder of PostgreSQL's programs
	run *exec.Cmd
}

// Shared is the cluster of a package's tests, which the first of them starts.
type Shared struct {
	once sync.Once
	c    *Cluster
	err  error
}

// Main runs the tests of a package, removes the cluster if they used it, and returns the exit status.
// It is for TestMain.
func (s *Shared) Main(m *testing.M) int {
	status := m.Run()
	if s.c != nil {
		if err := s.c.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(status, 1)
		}
	}
	return status
}

// DSN is where the cluster is.
func (s *Shared) DSN(t testing.TB) string {
	t.Helper()
	c, err := s.Get()
	if err != nil {
		t.Fatal(err)
	}
	return c.DSN()
}

// Dir is the folder of the cluster's socket.
func (s *Shared) Dir(t testing.TB) string {
	t.Helper()
	s.DSN(t)
	return s.c.Dir
}

// Get starts the cluster, or finds it running.
func (s *Shared) Get() (*Cluster, error) {
	s.once.Do(func() { s.c, s.err = New() })
	return s.c, s.err
}

// DSN is where a cluster is.
func (c *Cluster) DSN() string { return dsn(c.Dir) }

func dsn(dir string) string { return "host=" + dir + " user=stint dbname=postgres sslmode=disable" }

// New makes a cluster and starts its server. Its data is not flushed to disk.
func New() (*Cluster, error) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(programs) == 0 {
		return nil, errors.New("PostgreSQL is not installed: run scripts/setup test")
	}
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, bin: filepath.Dir(slices.Max(programs))}
	if os.Getuid() == 0 { // the server refuses to run as root
		err = c.giveAway()
	}
	if err == nil {
		err = c.init()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

func (c *Cluster) giveAway() error {
	id, err := server()
	if err != nil {
		return err
	}
	return os.Chown(c.Dir, int(id.Uid), int(id.Gid))
}

// server is the user that the server runs as where we are root.
func server() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// command is one of PostgreSQL's programs. It ends with the thread that starts it.
func (c *Cluster) command(name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(context.Background(), filepath.Join(c.bin, name), args...)
	cmd.Dir = c.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return cmd, nil
	}
	id, err := server()
	cmd.SysProcAttr.Credential = id
	return cmd, err
}

func (c *Cluster) init() error {
	cmd, err := c.command("initdb", "--no-sync", "--username=stint", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--pgdata="+c.data())
	if err != nil {
		return err
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// SQL runs statements as the server's administrator.
func (c *Cluster) SQL(statements string) error {
	cmd, err := c.command("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+c.DSN(), "--command="+statements)
	if err != nil {
		return err
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

func (c *Cluster) data() string { return filepath.Join(c.Dir, "data") }

// Start starts the server, with more settings, and waits until it takes connections.
func (c *Cluster) Start(settings ...string) error {
	args := []string{"-D", c.data(), "-k", c.Dir, "-h", "", "-F", "-c", "max_connections=200", "-c", "log_min_messages=log"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd, err := c.command("postgres", args...)
	if err != nil {
		return err
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // the server ends with the thread that started it, and so with the process
		started <- cmd.Start()
		select {}
	}()
	if err := <-started; err != nil {
		return err
	}
	c.run = cmd
	return c.wait(said)
}

// wait reads what the server says until it is ready.
func (c *Cluster) wait(said io.Reader) error {
	lines := bufio.NewScanner(said)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if strings.Contains(lines.Text(), "ready to accept") {
			go func() { _, _ = io.Copy(io.Discard, said) }() // until it ends
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the server did not start: %s", strings.Join(all, "\n")), c.run.Wait())
}

// Stop ends the server as a power cut would.
func (c *Cluster) Stop() error {
	if c.run == nil {
		return nil
	}
	cmd := c.run
	c.run = nil
	if err := cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	_ = cmd.Wait() // says that it was ended
	return nil
}

// Remove ends the server and removes its folder.
func (c *Cluster) Remove() error {
	err := errors.Join(c.Stop(), os.RemoveAll(c.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
