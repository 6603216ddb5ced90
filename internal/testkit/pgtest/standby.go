package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// CutOff has a standby hear nothing more of its primary.
func (c *Cluster) CutOff() error {
	if err := c.Set("primary_conninfo", ""); err != nil {
		return err
	}
	return c.until("select not exists (select from pg_stat_wal_receiver)")
}

// Follows waits until a standby has all that its primary has written.
func (c *Cluster) Follows(primary *Cluster) error {
	at, err := primary.ask("select pg_current_wal_lsn()::text")
	if err != nil {
		return err
	}
	return c.until(fmt.Sprintf("select pg_last_wal_replay_lsn() >= '%s'::pg_lsn", at))
}

// Backup copies the data of a cluster that is stopped, and Restore puts it back.
func (c *Cluster) Backup() error { return c.copy("data", "backup") }

// Restore has a stopped cluster be as it was at its backup.
func (c *Cluster) Restore() error {
	return errors.Join(os.RemoveAll(c.data()), c.copy("backup", "data"))
}

func (c *Cluster) copy(from, to string) error {
	said, err := exec.CommandContext(context.Background(), "cp", "-a", filepath.Join(c.Dir, from), filepath.Join(c.Dir, to)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

func (c *Cluster) tell(sql string) error {
	_, err := c.ask(sql)
	return err
}

// ask asks the server one thing, as its owner.
func (c *Cluster) ask(sql string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN()+" default_query_exec_mode=simple_protocol")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return "", err
		}
		if len(values) > 0 {
			answer = fmt.Sprint(values[0])
		}
	}
	return answer, rows.Err()
}

// until waits for a server to answer yes.
func (c *Cluster) until(sql string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	over := time.After(patience)
	for {
		if answer, err := c.ask(sql); err != nil || answer == "true" {
			return err
		}
		select {
		case <-tick.C:
		case <-over:
			return fmt.Errorf("never true within %s: %s", patience, sql)
		}
	}
}

// patience is as long as a server on a loaded machine may take for anything.
const patience = 2 * time.Minute

// Set changes a setting of a running server, and waits until it is in force.
func (c *Cluster) Set(name, value string) error {
	err := errors.Join(c.tell(fmt.Sprintf("alter system set %s = '%s'", name, value)), c.tell("select pg_reload_conf()"))
	return errors.Join(err, c.until(fmt.Sprintf("select current_setting('%s') = '%s'", name, value)))
}
