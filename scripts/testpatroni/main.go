// Testpatroni has three machines of a fleet take claims on a cluster of two servers that Patroni and etcd keep,
// kills the leader, and counts what was lost. With a synchronous standby that must be nothing. With one that lags,
// every loss must be found out, and nothing be granted until the sessions had their heartbeats.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/postgres"
)

const (
	machines = 3
	callers  = 2 // of each
	warm     = 4 * time.Second
	pause    = 8 * time.Second
	resumes  = 5 * time.Second // in which grants are to go on, once the new leader takes writes
)

func main() {
	os.Exit(run())
}

func run() (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("%-14s %12s %8s %9s %12s %14s %14s\n", "replication", "acknowledged", "lost", "found out", "leader after", "first write", "first grant")
	for _, synchronous := range []bool{true, false} {
		if err := try(ctx, synchronous); err != nil {
			fmt.Fprintln(os.Stderr, "testpatroni:", err)
			return 1
		}
	}
	return 0
}

// trial is the claims that callers took, each under keys of its own.
type trial struct {
	mu    sync.Mutex
	taken map[fleet.Key]taken // that were acknowledged
}

type taken struct {
	at     time.Time // by this process's clock
	server time.Time // by the store's
}

func try(ctx context.Context, synchronous bool) (err error) {
	dir, err := os.MkdirTemp("", "patroni")
	if err != nil {
		return err
	}
	c := &cluster{dir: dir, synchronous: synchronous}
	defer func() {
		c.stop()
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := errors.Join(c.choosePorts(ctx), os.Chmod(dir, 0o777)); err != nil { //nolint:gosec // servers make folders there, as another user
		return err
	}
	if err := c.start(ctx); err != nil {
		return err
	}
	if _, err := postgres.Migrate(ctx, postgres.Options{DSN: c.dsn(), Fleet: "trial", Settings: rank.Defaults()}); err != nil {
		return err
	}
	t := &trial{taken: map[fleet.Key]taken{}}
	calling, hush := context.WithCancel(ctx)
	var all sync.WaitGroup
	var stores []*postgres.DB
	for m := range machines {
		d, err := t.machine(c, filepath.Join(dir, fmt.Sprint("machine", m)), m)
		if err != nil {
			hush()
			return err
		}
		stores = append(stores, d)
		for n := range callers {
			all.Go(func() { t.call(calling, d, m, n) })
		}
	}
	report, err := t.failover(ctx, c)
	hush()
	all.Wait()
	if err == nil {
		err = t.judge(ctx, stores, report, map[bool]string{true: "synchronous", false: "asynchronous"}[synchronous])
	}
	for _, d := range stores {
		err = errors.Join(err, d.Close())
	}
	return err
}

func (t *trial) machine(c *cluster, state string, m int) (*postgres.DB, error) {
	if err := os.Mkdir(state, 0o700); err != nil {
		return nil, err
	}
	return postgres.Open(postgres.Options{
		DSN: c.dsn(), Fleet: "trial", Settings: rank.Defaults(), Host: func() string { return fmt.Sprint("machine", m) },
		Memory: machine.Memory(state), Pause: pause,
	})
}

func (t *trial) call(ctx context.Context, d *postgres.DB, m, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		key := fleet.Key(fmt.Sprintf("%d-%d-%d", m, n, i))
		g, c, err := d.Take(ctx, store.TakeRequest{Key: key, Holder: "caller", TTL: time.Hour, Attempt: string(key)})
		if err != nil || g != fleet.Granted {
			select { // refused, or no server
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		t.mu.Lock()
		t.taken[key] = taken{time.Now(), c.AcquiredAt}
		t.mu.Unlock()
	}
}

// times are those of a failover.
type times struct{ killed, leads time.Time }

// failover kills the leader, and waits until the other one has taken writes for a while.
func (t *trial) failover(ctx context.Context, c *cluster) (at times, err error) {
	wait(ctx, warm)
	if !c.synchronous {
		if err := c.lag(ctx); err != nil {
			return at, err
		}
		wait(ctx, time.Second)
	}
	if err := c.kill(); err != nil {
		return at, err
	}
	at.killed = time.Now()
	if err := c.leads(ctx, 1); err != nil {
		return at, err
	}
	at.leads = time.Now()
	wait(ctx, pause+resumes+warm)
	return at, ctx.Err()
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// judge compares what was acknowledged with what is on record.
func (t *trial) judge(ctx context.Context, stores []*postgres.DB, at times, name string) error {
	// Each machine writes once more: it may have been in a pause since the failover.
	for _, d := range stores {
		if err := d.Pause(ctx, fleet.Pause{Category: "none", Reason: "the last write"}); err != nil {
			return err
		}
	}
	s, err := stores[0].Snapshot(ctx)
	if err != nil {
		return err
	}
	standing, err := stores[0].List(ctx, store.Listing{All: true})
	if err != nil {
		return err
	}
	there := map[fleet.Key]bool{}
	for _, c := range standing.Claims {
		there[c.Key] = true
	}
	var (
		lost   int
		grant  time.Time
		doubts []string
	)
	for key, taken := range t.taken {
		switch {
		case !there[key] && taken.at.Before(at.leads):
			lost++
		case !there[key]:
			doubts = append(doubts, fmt.Sprintf("%s was granted by the new leader, and is gone", key))
		case taken.at.After(at.leads) && (grant.IsZero() || taken.at.Before(grant)):
			grant = taken.at
		}
		if taken.at.After(at.leads) && taken.server.Before(s.Lineage.GrantsFrom) {
			doubts = append(doubts, fmt.Sprintf("%s was granted at %s, before %s", key, taken.server, s.Lineage.GrantsFrom))
		}
	}
	write := grant
	if !s.Lineage.Since.IsZero() {
		write = s.Lineage.Since
	}
	fmt.Printf("%-14s %12d %8d %9d %10.1f s %12.1f s %12.1f s\n", name, len(t.taken), lost, s.Lineage.Lost,
		at.leads.Sub(at.killed).Seconds(), write.Sub(at.leads).Seconds(), grant.Sub(at.leads).Seconds())
	switch {
	case grant.IsZero():
		doubts = append(doubts, "nothing was granted after the failover")
	case write.Sub(at.leads) > resumes:
		doubts = append(doubts, fmt.Sprintf("the first write came %s after the new leader", write.Sub(at.leads)))
	}
	switch found := int(s.Lineage.Lost); {
	case s.Lineage.Incarnation == 0 && lost > 0:
		doubts = append(doubts, "a loss was not found out")
	case found < lost || found > lost+machines*callers: // writes whose answer was under way are counted, too
		doubts = append(doubts, fmt.Sprintf("%d were lost, %d were found out", lost, found))
	}
	slices.Sort(doubts)
	if len(doubts) > 0 {
		return errors.New(strings.Join(doubts, "\n"))
	}
	return nil
}
