package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/pgtest"
)

// memory has what a machine has seen, for a test.
type memory struct {
	mu   sync.Mutex
	seen store.Seen
}

func (m *memory) Seen() store.Seen {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

func (m *memory) Remember(s store.Seen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen.Before(s) {
		m.seen = s
	}
}

const testPause = time.Hour

// machine is a machine of a fleet with its servers, tried in this order.
func machine(t *testing.T, name string, m *memory, at ...*pgtest.Cluster) *DB {
	t.Helper()
	dirs := make([]string, len(at))
	for i, c := range at {
		dirs[i] = c.Dir
	}
	return mustOpen(t, Options{
		DSN:   fmt.Sprintf("host=%s user=stint dbname=postgres sslmode=disable", strings.Join(dirs, ",")),
		Fleet: "f", Settings: rank.Defaults(), Host: func() string { return name }, Memory: m, Pause: testPause,
		Patience: 5 * time.Second,
	})
}

// alone starts a cluster of its own with a fleet's schema.
func alone(t *testing.T) *pgtest.Cluster {
	t.Helper()
	made, err := pgtest.New()
	c := removed(t, made, err)
	must.Get(Migrate(t.Context(), Options{DSN: c.DSN(), Fleet: "f"}))(t)
	return c
}

// take takes a claim for a holder, and returns its epoch.
func take(t *testing.T, d *DB, key fleet.Key, holder fleet.Holder) fleet.Epoch {
	t.Helper()
	g, c, err := d.Take(t.Context(), store.TakeRequest{Key: key, Holder: holder, TTL: 24 * time.Hour})
	if err != nil || g != fleet.Granted {
		t.Fatalf("take %s for %s: %s, %v", key, holder, g, err)
	}
	return c.Epoch
}

func lineage(t *testing.T, d *DB) fleet.Lineage {
	t.Helper()
	s := must.Get(d.Snapshot(t.Context()))(t)
	return s.Lineage
}

// TestLossyFailover has a standby that lagged become the primary: the first write of a machine finds
// exactly the writes that were lost, nothing is granted until every session has had its heartbeat,
// the epochs leap, and nobody goes back to the old primary, which is up again.
func TestLossyFailover(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	old := alone(t)
	made, err := old.Standby()
	standby := removed(t, made, err)
	var ofA, ofB memory
	a, b := machine(t, "a", &ofA, old, standby), machine(t, "b", &ofB, old, standby)

	take(t, a, "kept", "run:a1")
	take(t, b, "kept too", "bob")
	must.Do(t, standby.Follows(old), standby.CutOff())
	const lost = 7
	for i := range lost {
		take(t, a, fleet.Key(fmt.Sprintf("lost %d", i)), "run:a1")
	}
	_, err = b.Release(ctx, store.Hold{Key: "kept too", Holder: "bob", Epoch: 1}, fleet.EndingReleased, "")
	must.Do(t, err, old.Stop(), standby.Promote())

	// A renewal goes through, and the loss shows at the machine's first other write.
	must.Get(a.Renew(ctx, store.Hold{Key: "kept", Holder: "run:a1", Epoch: 1}, time.Hour))(t)
	if _, err := a.Renew(ctx, store.Hold{Key: "lost 3", Holder: "run:a1", Epoch: 1}, time.Hour); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("renew what was lost: %v", err)
	}
	var refused fleet.RefusedError
	_, _, err = a.Take(ctx, store.TakeRequest{Key: "lost 3", Holder: "carol", TTL: time.Hour})
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "the store lost acknowledged writes: 7") {
		t.Errorf("take after the loss: %v", err)
	}
	l := lineage(t, a)
	if l.Incarnation != 1 || l.Lost != lost || !l.GrantsFrom.Equal(l.Since.Add(testPause)) {
		t.Errorf("lineage after %d lost writes: %+v", lost, l)
	}
	// The other machine's loss is added, and neither ends nor prolongs the pause.
	must.Do(t, b.Pause(ctx, fleet.Pause{Category: "code", Reason: "so"}))
	if got := lineage(t, b); got.Incarnation != 1 || got.Lost != lost+1 || !got.GrantsFrom.Equal(l.GrantsFrom) {
		t.Errorf("lineage after the other's: %+v", got)
	}
	s := must.Get(b.Snapshot(ctx))(t)
	if len(s.Pauses) != 2 || s.Pauses[0].Category != "" || !s.Pauses[0].Until.Equal(l.GrantsFrom) {
		t.Errorf("pauses %+v", s.Pauses)
	}

	// The old primary is up again, and the first address. Nobody writes there.
	must.Do(t, old.Start())
	renewed := must.Get(a.Renew(ctx, store.Hold{Key: "kept", Holder: "run:a1", Epoch: 1}, time.Hour))(t)
	must.Do(t, a.Close(), b.Close())
	a = machine(t, "a", &ofA, old, standby)
	if c, _, err := a.Check(ctx, "kept"); err != nil || c.ExpiresAt.Before(renewed.ExpiresAt) {
		t.Errorf("read %+v of the old primary, %v", c, err)
	}
	onlyOld := machine(t, "b", &ofB, old)
	_, err = onlyOld.Renew(ctx, store.Hold{Key: "kept", Holder: "run:a1", Epoch: 1}, time.Hour)
	if err == nil || !strings.Contains(fleet.Hint(err), "stint store accept") {
		t.Errorf("renew on the old primary: %v (%s)", err, fleet.Hint(err))
	}
	if _, _, err = onlyOld.Check(ctx, "kept"); !errors.Is(err, ErrDeposed) {
		t.Errorf("read the old primary: %v", err)
	}
	// Until a person says that the new one is gone for good.
	ofB.seen.Timeline = 0
	must.Do(t, onlyOld.Pause(ctx, fleet.Pause{Category: "code", Reason: "so"}))
	if got := lineage(t, onlyOld); got.Incarnation != 2 || !got.Bars(got.Since) {
		t.Errorf("lineage of the old primary: %+v", got)
	}

	ended, err := a.Resume(ctx, "")
	if must.Do(t, err); len(ended) == 0 {
		t.Error("there was nothing to resume")
	}
	for key, want := range map[fleet.Key]fleet.Epoch{"lost 3": fleet.EpochLeap + 1, "new": fleet.EpochLeap + 1} {
		if got := take(t, a, key, "carol"); got != want {
			t.Errorf("epoch of %s: %d, want %d", key, got, want)
		}
	}
	must.Get(a.Release(ctx, store.Hold{Key: "lost 3", Holder: "carol"}, fleet.EndingReleased, ""))(t)
	if got := take(t, a, "lost 3", "carol"); got != fleet.EpochLeap+2 {
		t.Errorf("the next epoch is %d", got)
	}
}

// TestCleanFailover has a synchronous standby become the primary: nothing is lost, and nothing waits.
func TestCleanFailover(t *testing.T) {
	t.Parallel()
	old := alone(t)
	made, err := old.Standby()
	standby := removed(t, made, err)
	must.Do(t, old.Set("synchronous_standby_names", "*"), standby.Follows(old))
	var ofA memory
	a := machine(t, "a", &ofA, old, standby)
	for i := range 5 {
		take(t, a, fleet.Key(fmt.Sprint(i)), "run:a1")
	}
	must.Do(t, old.Stop(), standby.Promote())
	if got := take(t, a, "new", "run:a2"); got != 1 {
		t.Errorf("epoch %d", got)
	}
	if l := lineage(t, a); l.Incarnation != 0 || l.Lost != 0 || !l.GrantsFrom.IsZero() {
		t.Errorf("lineage %+v", l)
	}
	if s := ofA.Seen(); s.Timeline != 2 || s.Writes != 8 {
		t.Errorf("seen %+v, want the lineage written twice, and six grants", s)
	}
}

// TestRefusedWriteIsNotRemembered has the server refuse a commit: a machine that remembered it would miss it as lost.
func TestRefusedWriteIsNotRemembered(t *testing.T) {
	t.Parallel()
	c := alone(t)
	var of memory
	a := machine(t, "a", &of, c)
	take(t, a, "kept", "bob")
	before := of.Seen()
	must.Do(t, c.SQL(`create function public.no() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
		create constraint trigger no after insert on `+a.schema+`.pauses deferrable initially deferred for each row execute function public.no()`))
	if err := a.Pause(t.Context(), fleet.Pause{Category: "code", Reason: "so"}); err == nil {
		t.Fatal("the server refuses no commit: this is no test")
	}
	if got := of.Seen(); got != before || before.Writes == 0 {
		t.Errorf("seen %+v after a write that was refused, want %+v", got, before)
	}
	must.Do(t, c.SQL("drop function public.no() cascade"), a.Pause(t.Context(), fleet.Pause{Category: "code", Reason: "so"}))
	if got, l := of.Seen(), lineage(t, a); got.Writes != before.Writes+1 || l.Lost != 0 {
		t.Errorf("seen %+v, and the lineage %+v; want one write more, and nothing lost", got, l)
	}
}

// TestRestoredByWord has a machine come first whose own writes are all there. Those of another are not, and would be
// granted at the same epochs, unless a person says that the data are those of a backup.
func TestRestoredByWord(t *testing.T) {
	t.Parallel()
	c := alone(t)
	var ofA, ofB memory
	a, b := machine(t, "a", &ofA, c), machine(t, "b", &ofB, c)
	take(t, b, "kept", "carol")
	must.Do(t, c.Stop(), c.Backup(), c.Start())
	was := take(t, a, "lost", "bob")
	must.Do(t, c.Stop(), c.Restore(), c.Start())
	if l, err := b.Restored(t.Context()); err != nil || l.Incarnation != 1 {
		t.Errorf("lineage %+v, %v", l, err)
	}
	if _, _, err := b.Take(t.Context(), store.TakeRequest{Key: "lost", Holder: "carol", TTL: time.Hour}); !errors.As(err, &fleet.RefusedError{}) {
		t.Errorf("take what another machine lost: %v", err)
	}
	must.Get(a.Resume(t.Context(), ""))(t)
	if l := lineage(t, a); l.Incarnation != 1 || l.Lost != 1 {
		t.Errorf("lineage %+v, once the other machine has written", l)
	}
	must.Get(a.Resume(t.Context(), ""))(t)
	if got := take(t, b, "lost", "carol"); got != was+fleet.EpochLeap {
		t.Errorf("epoch %d", got)
	}
}

// TestRestoredBackup has the server go on from a backup, which nothing but the count of writes
// shows.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	c := alone(t)
	var ofA memory
	a := machine(t, "a", &ofA, c)
	take(t, a, "kept", "bob")
	must.Do(t, c.Stop(), c.Backup(), c.Start())
	take(t, a, "lost", "bob")
	must.Do(t, c.Stop(), c.Restore(), c.Start())
	if _, _, err := a.Take(t.Context(), store.TakeRequest{Key: "lost", Holder: "carol", TTL: time.Hour}); !errors.As(err, &fleet.RefusedError{}) {
		t.Errorf("take what was lost: %v", err)
	}
	if l := lineage(t, a); l.Incarnation != 1 || l.Lost != 1 {
		t.Errorf("lineage %+v", l)
	}
	// Once more from the same backup, which knows nothing of the first time.
	must.Do(t, c.Stop(), c.Restore(), c.Start())
	must.Get(a.Resume(t.Context(), ""))(t)
	if l := lineage(t, a); l.Incarnation != 2 {
		t.Errorf("lineage %+v", l)
	}
	must.Get(a.Resume(t.Context(), ""))(t)
	if got := take(t, a, "lost", "carol"); got != 2*fleet.EpochLeap+1 {
		t.Errorf("epoch %d", got)
	}
}
