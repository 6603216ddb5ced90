package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// ram is an engine without a database: book decides on a page of all rows, so that there is little
// to it.
type ram struct {
	now  func() time.Time
	page *book.Page
}

func newRAM(now func() time.Time, s bandit.Settings) *ram { return &ram{now, book.NewPage(now(), s)} }

func (m *ram) Change(_ context.Context, n book.Need, decide func(*book.Page) error) error {
	p := m.page.Copy(m.now())
	for r := range p.Runs.All() {
		p.Newest = r.ID
		if r.EndedAt.IsZero() {
			p.Open = append(p.Open, r)
		}
		if r.Counted > 0 {
			e := store.Entry{ID: r.ID, Category: r.Category, Round: r.Round, Load: r.Load, Began: r.Began(), First: r.Verdict.Grade, Grade: r.Verdict.Grade, Counted: r.Counted, In: r.CountedIn}
			for f := range p.Fates.All() {
				if f.Run == r.ID && f.Belief {
					e.Grade = f.Grade
				}
			}
			p.Graded[r.Category] = append(p.Graded[r.Category], e)
		}
	}
	for _, list := range p.Graded {
		slices.SortFunc(list, func(a, b store.Entry) int { return cmp.Compare(a.Counted, b.Counted) })
	}
	for place := range p.Places.All() {
		if place.GivenAt.IsZero() {
			p.Taken++
		}
	}
	p.Bills = m.bills(n)
	if err := decide(p); err != nil {
		return err
	}
	m.page = p
	return nil
}

// bills are those of the last sessions of the agent that is to work.
func (m *ram) bills(n book.Need) (list []fleet.Bill) {
	r, _ := m.page.Runs.Get(book.Run{Run: fleet.Run{ID: n.Begins}})
	name := cmp.Or(n.Agent, r.Agent)
	a, _ := m.page.Agents.Get(book.Agent{AgentState: fleet.AgentState{Agent: name}})
	for r := range m.page.Runs.All() {
		known := r.Usage.Cost == fleet.CostReported || r.Usage.Cost == fleet.CostComputed
		worked := slices.Contains([]fleet.Outcome{fleet.Productive, fleet.Noop, fleet.Nothing, fleet.Failed, fleet.Timeout}, r.Verdict.Outcome)
		if r.Agent != name || r.ID <= a.BilledAfter || !worked || r.Usage.Tokens == nil && !known {
			continue
		}
		b := fleet.Bill{Run: r.ID, Usage: fleet.Usage{Tokens: r.Usage.Tokens}}
		if known {
			b.USD = r.Usage.USD
		}
		list = append([]fleet.Bill{b}, list...)
	}
	return list[:min(len(list), fleet.BillsKept)]
}

func (m *ram) all() (list []fleet.Claim) {
	for c := range m.page.Claims.All() {
		list = append(list, c.Claim)
	}
	return list
}

// testSame has a store and the one in memory do the same at random, while the clock steps: both
// answer alike, and hold alike.
func testSame(t *testing.T, b bundle) {
	rapid.Check(t, func(rt *rapid.T) {
		b := b.fresh(t, bandit.Defaults())
		m := newRAM(b.clock.Now, bandit.Defaults())
		other := book.Writer{Engine: m}
		const run = fleet.RunID("01kt1gw6g0000001")
		holders := []fleet.Holder{bob, alice, run.Holder()}
		keys := []fleet.Key{"a", "B", "ä", fleet.LaneKey("code", 1)}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			ttl := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "ttl"))
			h := store.Hold{
				Key: rapid.SampledFrom(keys).Draw(rt, "key"), Holder: rapid.SampledFrom(holders).Draw(rt, "holder"),
				Epoch: fleet.Epoch(rapid.IntRange(0, 3).Draw(rt, "epoch")),
			}
			take := store.TakeRequest{
				Key: h.Key, Holder: h.Holder, TTL: ttl, Renews: rapid.Bool().Draw(rt, "renews"), Note: rapid.SampledFrom([]string{"", "note"}).Draw(rt, "note"),
				Known: store.Known{Holder: rapid.SampledFrom(holders).Draw(rt, "known"), Epoch: h.Epoch, Session: rapid.SampledFrom([]fleet.Liveness{fleet.Lives, fleet.Gone, fleet.Unknown}).Draw(rt, "session")},
			}
			do := rapid.SampledFrom([]func(w claims) string{
				func(w claims) string { return answer(w.Take(t.Context(), take)) },
				func(w claims) string { return answered(w.Renew(t.Context(), h, ttl)) },
				func(w claims) string { return answered(w.Release(t.Context(), h, fleet.EndingDone, "why")) },
				func(w claims) string { return outcome(w.ReleaseHolder(t.Context(), h.Holder, fleet.EndingReleased)) },
				func(w claims) string { return outcome(w.LaneReleased(t.Context(), run)) },
			}).Draw(rt, "do")
			got, want := do(b), do(other)
			if got != want {
				rt.Fatalf("got %s\nwant, as in memory, %s", got, want)
			}
			b.clock.Advance(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(rt, "step")))
		}
		list, err := b.List(t.Context(), store.Listing{All: true})
		must(t, err)
		same(t, "claims", list.Claims, m.all())
	})
}

// claims is what a store and the one in memory have in common.
type claims interface {
	Take(ctx context.Context, t store.TakeRequest) (fleet.Grant, fleet.Claim, error)
	Renew(ctx context.Context, h store.Hold, ttl time.Duration) (fleet.Claim, error)
	Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error)
	ReleaseHolder(ctx context.Context, holder fleet.Holder, ending fleet.Ending) error
	LaneReleased(ctx context.Context, id fleet.RunID) error
}

func answer(g fleet.Grant, c fleet.Claim, err error) string {
	return fmt.Sprintf("%s %+v %s", g, c, outcome(err))
}

func answered(c fleet.Claim, err error) string { return answer("", c, err) }

// outcome is an error in so far as a caller branches on it.
func outcome(err error) string {
	for _, known := range []error{fleet.ErrLost, fleet.ErrUsage} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return fmt.Sprint(err)
}

// testCrowd has connections take, and give back, the same few claims at once: each epoch has one
// holder, and none is left out.
func testCrowd(t *testing.T, b bundle) {
	const crowd, rounds = 8, 30
	keys := []fleet.Key{"a", "b"}
	type grant struct {
		key   fleet.Key
		epoch fleet.Epoch
	}
	granted := make([][]grant, crowd)
	done := make(chan error)
	for i := range crowd {
		s, holder := b.again(), fleet.Holder(fmt.Sprint("holder", i))
		go func() {
			done <- func() error {
				for n := range rounds {
					key := keys[n%len(keys)]
					g, c, err := s.Take(t.Context(), store.TakeRequest{Key: key, Holder: holder, TTL: time.Hour})
					if err != nil {
						return err
					}
					if g == fleet.Denied {
						continue
					}
					granted[i] = append(granted[i], grant{key, c.Epoch})
					if _, err := s.Release(t.Context(), store.Hold{Key: key, Holder: holder, Epoch: c.Epoch}, fleet.EndingDone, ""); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range crowd {
		must(t, <-done)
	}
	epochs := map[fleet.Key][]fleet.Epoch{}
	for _, list := range granted {
		for _, g := range list {
			epochs[g.key] = append(epochs[g.key], g.epoch)
		}
	}
	same(t, "keys", len(epochs), len(keys))
	for _, key := range slices.Sorted(maps.Keys(epochs)) {
		slices.Sort(epochs[key])
		for i, e := range epochs[key] {
			if int(e) != i+1 {
				t.Fatalf("%s: got epochs %v, want each from 1 on, once", key, epochs[key])
			}
		}
	}
}
