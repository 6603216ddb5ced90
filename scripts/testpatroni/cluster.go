package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"stint/internal/testkit/pgtest"
)

// cluster is two servers, of which Patroni has one lead, and the etcd by which it decides.
type cluster struct {
	dir         string
	synchronous bool
	ports       [6]int // of etcd and its peers; of the servers; of Patroni's own
	running     []*exec.Cmd
	lagging     int // the process that was stopped
}

const (
	etcd    = 0
	peers   = 1
	servers = 2
	patroni = 4
)

// choosePorts finds free ones.
func (c *cluster) choosePorts(ctx context.Context) error {
	for i := range c.ports {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // once all have one, for no two to be the same
		c.ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}

func (c *cluster) url(port int) string { return fmt.Sprintf("http://127.0.0.1:%d", c.ports[port]) }

// start starts all of it, and waits until the first server leads and the second follows.
func (c *cluster) start(ctx context.Context) error {
	if err := c.run("etcd", "etcd", "--data-dir", filepath.Join(c.dir, "etcd"), "--listen-client-urls", c.url(etcd),
		"--advertise-client-urls", c.url(etcd), "--listen-peer-urls", c.url(peers), "--initial-advertise-peer-urls", c.url(peers),
		"--initial-cluster", "default="+c.url(peers)); err != nil {
		return err
	}
	for i := range 2 {
		if err := c.node(i); err != nil {
			return err
		}
		if i == 0 {
			if err := c.leads(ctx, 0); err != nil {
				return err
			}
		}
	}
	state := map[bool]string{true: "sync", false: "async"}[c.synchronous]
	return c.until(ctx, 0, "select count(*)::text from pg_stat_replication where state = 'streaming' and sync_state = '"+state+"'", "1")
}

const settings = `scope: trial
name: n%[1]d
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
etcd3: {host: "127.0.0.1:%[3]d"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1073741824
    synchronous_mode: %[4]t
    postgresql: {use_pg_rewind: true}
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}]
postgresql:
  listen: "127.0.0.1:%[5]d"
  connect_address: "127.0.0.1:%[5]d"
  data_dir: %[6]s/data
  bin_dir: %[7]s
  pgpass: %[6]s/pgpass
  authentication:
    superuser: {username: stint, password: stint}
    replication: {username: replicator, password: stint}
  parameters: {unix_socket_directories: "%[6]s"}
  pg_hba: ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
`

// node starts a server with its Patroni.
func (c *cluster) node(i int) error {
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(programs) == 0 {
		return errors.New("PostgreSQL is not installed")
	}
	dir := filepath.Join(c.dir, fmt.Sprint("n", i))
	file := filepath.Join(dir, "patroni.yml")
	text := fmt.Sprintf(settings, i, c.ports[patroni+i], c.ports[etcd], c.synchronous, c.ports[servers+i], dir, programs[len(programs)-1])
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		return err
	}
	if err := pgtest.GiveAway(dir, file); err != nil {
		return err
	}
	return c.run(fmt.Sprint("patroni", i), "patroni", file)
}

// run starts a program in a process group of its own.
func (c *cluster) run(name, program string, args ...string) error {
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	id, err := pgtest.User()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...) //nolint:noctx // it ends with the cluster
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: id}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.running = append(c.running, cmd)
	return nil
}

func (c *cluster) dsn() string {
	return fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=stint dbname=postgres sslmode=disable", c.ports[servers], c.ports[servers+1])
}

// leads waits until a server takes writes.
func (c *cluster) leads(ctx context.Context, i int) error {
	return c.until(ctx, i, "select (not pg_is_in_recovery())::text", "true")
}

// until waits for a server to give an answer.
func (c *cluster) until(ctx context.Context, i int, sql, want string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var last error
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := c.ask(ctx, i, sql)
		if err == nil && got == want {
			return nil
		}
		if err != nil {
			last = err
		} else {
			last = fmt.Errorf("it says %q", got)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("server %d: %s is not %q: %w\n%s", i, sql, want, last, c.said())
		case <-tick.C:
		}
	}
}

func (c *cluster) ask(ctx context.Context, i int, sql string) (answer string, err error) {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=stint dbname=postgres sslmode=disable connect_timeout=2", c.ports[servers+i]))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return answer, conn.QueryRow(ctx, sql).Scan(&answer)
}

// said is the end of what the programs said.
func (c *cluster) said() string {
	var all bytes.Buffer
	logs, _ := filepath.Glob(filepath.Join(c.dir, "*.log"))
	for _, path := range logs {
		text, _ := os.ReadFile(path)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		fmt.Fprintf(&all, "%s:\n%s\n", filepath.Base(path), strings.Join(lines[max(0, len(lines)-8):], "\n"))
	}
	return all.String()
}

// lag stops the process that sends the standby what is written.
func (c *cluster) lag(ctx context.Context) error {
	if err := c.until(ctx, 0, "select (count(*) > 0)::text from pg_stat_replication where state = 'streaming'", "true"); err != nil {
		return err
	}
	text, err := c.ask(ctx, 0, "select pid::text from pg_stat_replication")
	if err != nil {
		return err
	}
	if c.lagging, err = strconv.Atoi(text); err != nil {
		return err
	}
	return syscall.Kill(c.lagging, syscall.SIGSTOP)
}

// kill kills the first server, with its Patroni, as a power cut would.
func (c *cluster) kill() error {
	text, err := os.ReadFile(filepath.Join(c.dir, "n0", "data", "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	server, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	// The server has a group of its own; its children end once they find it gone, one that is stopped does not.
	errs := []error{syscall.Kill(-c.running[1].Process.Pid, syscall.SIGKILL), syscall.Kill(server, syscall.SIGKILL)}
	if c.lagging != 0 {
		errs = append(errs, syscall.Kill(c.lagging, syscall.SIGKILL))
	}
	return errors.Join(errs...)
}

// stop ends all of it.
func (c *cluster) stop() {
	for _, cmd := range c.running {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have been killed
	}
	for i := range 2 {
		if text, err := os.ReadFile(filepath.Join(c.dir, fmt.Sprint("n", i), "data", "postmaster.pid")); err == nil {
			first, _, _ := strings.Cut(string(text), "\n")
			if pid, err := strconv.Atoi(first); err == nil {
				_ = syscall.Kill(pid, syscall.SIGQUIT) // it may be gone
			}
		}
	}
	for _, cmd := range c.running {
		_ = cmd.Wait() // says that it was ended
	}
}
