package book_test

import (
	"errors"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/store/table"
	"stint/internal/testkit/must"
)

// written is a write to a store that has no rows.
func written(now time.Time) *table.Tx {
	tx := table.NewTx(rank.Defaults(), func([]table.Statement) error { return nil })
	tx.Begin(now, time.Time{})
	return tx
}

// TestWrites makes each write to a claim, without a database.
func TestWrites(t *testing.T) {
	t.Parallel()
	const run = fleet.RunID("01kt1gw6g0000001")
	lane := fleet.LaneKey("code", 1)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	held := func(key fleet.Key) table.Claim {
		return table.Claim{Claim: fleet.Claim{Key: key, Holder: run.Holder(), Epoch: 3, AcquiredAt: at(-10), ExpiresAt: at(10), Note: "n"}, Renewals: 2}
	}
	with := func(key fleet.Key, change func(*table.Claim)) table.Claim {
		c := held(key)
		change(&c)
		return c
	}
	back := func(ending fleet.Ending, reason string) func(*table.Claim) {
		return func(c *table.Claim) { c.ReleasedAt, c.Ending, c.Reason = noon, ending, reason }
	}
	given := func(_ fleet.Claim, err error) error { return err }
	kept := func(_ store.Kept, err error) error { return err }
	tests := []struct {
		name    string
		there   []table.Claim
		write   func(p book.Tx) error
		want    []table.Claim
		vacated []fleet.RunID
		err     error
	}{
		{"renew", []table.Claim{held("k")}, func(p book.Tx) error {
			return kept(p.Renew(store.Hold{Key: "k", Holder: run.Holder(), Epoch: 3}, time.Hour))
		}, []table.Claim{with("k", func(c *table.Claim) { c.ExpiresAt, c.Renewals = at(60), 3 })}, nil, nil},
		{"renew a grant that lies ahead", []table.Claim{with("k", func(c *table.Claim) { c.AcquiredAt = at(5) })}, func(p book.Tx) error {
			return kept(p.Renew(store.Hold{Key: "k", Holder: run.Holder()}, time.Hour))
		}, []table.Claim{with("k", func(c *table.Claim) { c.AcquiredAt, c.ExpiresAt, c.Renewals = noon, at(60), 3 })}, nil, nil},
		{"renew at another epoch", []table.Claim{held("k")}, func(p book.Tx) error {
			return kept(p.Renew(store.Hold{Key: "k", Holder: run.Holder(), Epoch: 2}, time.Hour))
		}, nil, nil, fleet.ErrLost},
		{"renew for no time", []table.Claim{held("k")}, func(p book.Tx) error {
			return kept(p.Renew(store.Hold{Key: "k", Holder: run.Holder()}, time.Microsecond))
		}, nil, nil, fleet.ErrUsage},
		{"release", []table.Claim{held("k")}, func(p book.Tx) error {
			return given(p.Release(store.Hold{Key: "k", Holder: run.Holder()}, fleet.EndingDone, "why"))
		}, []table.Claim{with("k", back(fleet.EndingDone, "why"))}, nil, nil},
		{"release what was given back", []table.Claim{with("k", back(fleet.EndingDone, "why"))}, func(p book.Tx) error {
			return given(p.Release(store.Hold{Key: "k", Holder: run.Holder()}, fleet.EndingDone, "again"))
		}, nil, nil, fleet.ErrLost},
		{"release what has expired", []table.Claim{with("k", func(c *table.Claim) { c.ExpiresAt = noon })}, func(p book.Tx) error {
			return given(p.Release(store.Hold{Key: "k", Holder: run.Holder()}, fleet.EndingDone, ""))
		}, nil, nil, fleet.ErrLost},
		{"release a lane", []table.Claim{held(lane)}, func(p book.Tx) error {
			return given(p.Release(store.Hold{Key: lane, Holder: run.Holder()}, fleet.EndingReleased, ""))
		}, []table.Claim{with(lane, back(fleet.EndingReleased, ""))}, []fleet.RunID{run}, nil},
		{"abandon", []table.Claim{held("k"), with("l", back(fleet.EndingDone, ""))}, func(p book.Tx) error {
			if left, err := p.Abandon(store.Gone{Run: run, Reason: "found dead"}); !left || err != nil {
				return errors.New("nothing was left")
			}
			return nil
		}, []table.Claim{with("k", back(fleet.EndingAbandoned, "found dead"))}, nil, nil},
		{"take what was given back", []table.Claim{with("k", back(fleet.EndingDone, ""))}, func(p book.Tx) error {
			_, _, err := p.Take(store.TakeRequest{Key: "k", Holder: "alice", TTL: 90 * time.Second})
			return err
		}, []table.Claim{{Claim: fleet.Claim{Key: "k", Holder: "alice", Epoch: 4, AcquiredAt: noon, ExpiresAt: noon.Add(90 * time.Second)}}}, nil, nil},
		{"take what another has", []table.Claim{held("k")}, func(p book.Tx) error {
			_, c, err := p.Take(store.TakeRequest{Key: "k", Holder: "alice", TTL: time.Hour})
			return errors.Join(err, p.Fence(store.Hold{Key: "k", Holder: c.Holder, Epoch: c.Epoch}, noon))
		}, nil, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := book.Tx{Tx: written(noon)}
			for _, c := range tt.there {
				p.Claims.Know(c)
				if c.Key == lane {
					p.Runs.Know(table.Run{Run: fleet.Run{ID: run, Category: "code", Lane: 1}, LaneAt: at(-10)})
				}
			}
			if err := tt.write(p); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			must.Equal(t, "decided", p.Claims.Written(), tt.want)
			var vacated []fleet.RunID
			for _, r := range p.Runs.Written() {
				if !r.InLane() && !r.LaneAt.IsZero() {
					vacated = append(vacated, r.ID)
				}
			}
			must.Equal(t, "vacated", vacated, tt.vacated)
		})
	}
}

// TestClockOfAMachine has a machine on record whose clock is a minute behind the store's.
func TestClockOfAMachine(t *testing.T) {
	t.Parallel()
	p := book.Tx{Tx: written(noon)}
	p.Local = noon.Add(-time.Minute)
	p.Introduce(fleet.Host{ID: "a"})
	if h, found := p.Hosts.Get(fleet.Host{ID: "a"}); !found || h.Ahead != 60_000 {
		t.Errorf("machine %+v, %t; want the store's clock ahead by a minute", h, found)
	}
}
