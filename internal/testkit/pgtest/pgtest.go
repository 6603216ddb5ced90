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

	"stint/internal/testkit/must"
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

// DSN is the address of the cluster.
func (s *Shared) DSN(t testing.TB) string {
	t.Helper()
	return must.Get(s.Get())(t).DSN()
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

// DSN is the address of a cluster.
func (c *Cluster) DSN() string { return dsn(c.Dir) }

func dsn(dir string) string { return "host=" + dir + " user=stint dbname=postgres sslmode=disable" }

// New makes a cluster and starts its server. Its data is not flushed to disk.
func New() (*Cluster, error) { return NewIn("") }

// NewIn makes a cluster in a folder; empty: that of temporary files.
func NewIn(folder string) (*Cluster, error) {
	return newCluster(folder, func(c *Cluster) error {
		return c.say("initdb", "--no-sync", "--username=stint", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--pgdata="+c.data())
	})
}

// Standby makes a cluster that repeats what this one does, and starts its server.
func (c *Cluster) Standby() (*Cluster, error) {
	return newCluster("", func(s *Cluster) error {
		return s.say("pg_basebackup", "--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--host="+c.Dir, "--username=stint", "--pgdata="+s.data())
	})
}

func newCluster(folder string, fill func(*Cluster) error) (*Cluster, error) {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(programs) == 0 {
		return nil, errors.New("PostgreSQL is not installed: run scripts/setup test")
	}
	dir, err := os.MkdirTemp(folder, "pg")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, bin: filepath.Dir(slices.Max(programs))}
	if err = GiveAway(dir); err == nil {
		err = fill(c)
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// GiveAway gives folders and files to the user of a server, which refuses to run as root.
func GiveAway(paths ...string) error {
	id, err := User()
	if err != nil || id == nil {
		return err
	}
	for _, path := range paths {
		err = errors.Join(err, os.Chown(path, int(id.Uid), int(id.Gid)))
	}
	return err
}

// User is the user that a server runs as where we are root.
func User() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // this user
	}
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
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.bin, name)
	}
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = c.Dir
	id, err := User()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT, Credential: id}
	return cmd, err
}

// say runs one of PostgreSQL's programs to its end.
func (c *Cluster) say(name string, args ...string) error {
	cmd, err := c.command(name, args...)
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
	return c.say("psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+c.DSN(), "--command="+statements)
}

func (c *Cluster) data() string { return filepath.Join(c.Dir, "data") }

// Start starts the server, with more settings, and waits until it takes connections.
func (c *Cluster) Start(settings ...string) error {
	args := []string{
		"-D", c.data(), "-k", c.Dir, "-h", "", "-F", "-c", "max_connections=500", "-c", "log_min_messages=log",
		"-c", "wal_keep_size=1GB",
	} // for a standby that has not heard of its primary for long
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd, err := c.command("postgres", args...)
	if err != nil {
		return err
	}
	if err := start(cmd, "ready to accept"); err != nil {
		return err
	}
	c.run = cmd
	return nil
}

// start starts a server and reads what it says until it is ready.
func start(cmd *exec.Cmd, ready string) error {
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
	lines := bufio.NewScanner(said)
	var all []string
	for lines.Scan() {
		all = append(all, lines.Text())
		if strings.Contains(lines.Text(), ready) {
			go func() { _, _ = io.Copy(io.Discard, said) }() // until it ends
			return nil
		}
	}
	return errors.Join(fmt.Errorf("the server did not start: %s", strings.Join(all, "\n")), cmd.Wait())
}

// Pooler is pgbouncer before a cluster: each transaction has one of its few connections.
type Pooler struct {
	Dir string // with its socket
	run *exec.Cmd
}

// Pooler starts a pooler with so many connections.
func (c *Cluster) Pooler(connections int) (*Pooler, error) {
	program, err := exec.LookPath("/usr/sbin/pgbouncer")
	if err != nil {
		return nil, errors.New("pgbouncer is not installed: run scripts/setup test")
	}
	dir, err := os.MkdirTemp(c.Dir, "pooler")
	if err != nil {
		return nil, err
	}
	p, file := &Pooler{Dir: dir}, filepath.Join(dir, "ini")
	text := fmt.Sprintf(`[databases]
* = host=%s user=stint
[pgbouncer]
listen_addr =
listen_port = 5432
unix_socket_dir = %s
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 100
`, c.Dir, p.Dir, connections)
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o644), GiveAway(dir)); err != nil { //nolint:gosec // the server's user reads it
		return nil, err
	}
	if p.run, err = c.command(program, file); err != nil {
		return nil, err
	}
	return p, start(p.run, "process up")
}

// DSN is the address of the pooler.
func (p *Pooler) DSN() string { return dsn(p.Dir) }

// Close ends the pooler.
func (p *Pooler) Close() error {
	err := p.run.Process.Kill()
	_ = p.run.Wait() // says that it was ended
	return err
}

// Promote has a standby take writes.
func (c *Cluster) Promote() error { return c.say("pg_ctl", "promote", "--pgdata="+c.data()) }

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
