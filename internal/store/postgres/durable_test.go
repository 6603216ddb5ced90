package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// claimed are the keys of a store that were ever claimed.
func claimed(t *testing.T, d *DB) map[fleet.Key]bool {
	t.Helper()
	s := must.Get(d.List(t.Context(), store.Listing{All: true}))(t)
	keys := map[fleet.Key]bool{}
	for _, c := range s.Claims {
		keys[c.Key] = true
	}
	return keys
}

// TestAnsweredIsOnDisk cuts a server's power while eight clients claim. It has every claim that was answered, though its
// administrator has commits wait for no disk, and nothing else has the server write before its time.
func TestAnsweredIsOnDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := Options{DSN: c.DSN(), Fleet: "bob", Settings: rank.Defaults()}
	must.Get(Migrate(t.Context(), o))(t)
	for round := range 3 {
		must.Do(t, c.Stop(), c.Start("wal_writer_delay=10s", "synchronous_commit=off"))
		var (
			answers = make(chan fleet.Key)
			clients sync.WaitGroup
		)
		ctx, off := context.WithCancel(t.Context())
		for client := range 8 {
			d := mustOpen(t, o)
			clients.Go(func() {
				for i := 0; ; i++ {
					key := fleet.Key(fmt.Sprintf("k-%d-%d-%d", round, client, i))
					err := takeOne(ctx, d, key)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					answers <- key
				}
			})
		}
		go func() { clients.Wait(); close(answers) }()
		var answered []fleet.Key
		for key := range answers {
			if answered = append(answered, key); len(answered) == 64 {
				must.Do(t, c.Stop())
				off()
			}
		}
		off()
		must.Do(t, c.Start())
		there := claimed(t, mustOpen(t, o))
		for _, key := range answered {
			if !there[key] {
				t.Errorf("%s was answered, and is not on disk", key)
			}
		}
		t.Logf("round %d: %d answered", round, len(answered))
	}
}

// TestNobodySeesWhatIsNotOnDisk has a server wait for a standby that there is not. A reader sees nothing of the claim that
// waits: a failover might undo it.
func TestNobodySeesWhatIsNotOnDisk(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := Options{DSN: c.DSN(), Fleet: "bob", Settings: rank.Defaults(), Patience: 2 * time.Minute}
	must.Get(Migrate(t.Context(), o))(t)
	must.Do(t, c.Set("synchronous_standby_names", "nobody"))
	d, answer := mustOpen(t, o), make(chan error)
	go func() { answer <- takeOne(context.WithoutCancel(t.Context()), d, "k") }()
	reader, server := mustOpen(t, o), must.Get(pgx.Connect(t.Context(), o.DSN))(t)
	t.Cleanup(func() { _ = server.Close(context.WithoutCancel(t.Context())) })
	for waits := 0; waits == 0; {
		must.Do(t, server.QueryRow(t.Context(), "select count(*) from pg_stat_activity where wait_event = 'SyncRep'").Scan(&waits))
		select {
		case err := <-answer:
			t.Fatalf("the claim was answered before the standby had it: %v", err)
		default:
		}
	}
	if claimed(t, reader)["k"] {
		t.Error("the claim is seen before the standby has it")
	}
	must.Do(t, c.Set("synchronous_standby_names", ""), <-answer)
	if !claimed(t, reader)["k"] {
		t.Error("the claim is not there")
	}
}
