// Package storetest holds every kind of store against the contract of
// package store, method by method. Each test has a store and a clock of its own.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// Open says where a store is to be that reads this clock and learns by these settings,
// and returns what opens it: the first call makes it, another finds it as it was left.
// Opened stores are closed with the test.
type Open func(t *testing.T, now func() time.Time, s rank.Settings) func() store.Store

// contract has the tests as its methods, each by the name that the test goes by.
type contract struct{}

// Differing are the tests of what each database does in its own way; the rules are the same code on all of them, which
// passes every test on one. Same and Repeat make each write but one, and the first compares all rows with those in
// memory: Denials makes the one. The others have writes at once, values that SQL has its
// own view of, and reads that find some rows of many, or put them in order.
func Differing() []string {
	return []string{
		"Same", "Repeat", "Denials",
		"Crowd", "BudgetRace", "SlotsRace", "PlacesRace", "RecordFireAtOnce", "EntitleAtOnce",
		"Text", "SnapshotOfAnything", "AbsurdBill",
		"List", "RunQuery", "RunPages", "FireQuery", "LastFires", "Entitled", "LessonUses", "Tallies", "TalliesOfNever",
		"GradeChanges", "GradesOfAll", "RankingAt", "Hosts", "Tail", "Overran", "Reviews", "Landed",
	}
}

// Run tests one kind of store, by the tests that are named, or by all.
func Run(t *testing.T, open Open, only ...string) {
	t.Helper()
	all := reflect.TypeFor[contract]()
	for _, name := range only {
		if _, ok := all.MethodByName(name); !ok {
			t.Errorf("there is no test %s", name)
		}
	}
	for method, f := range reflect.ValueOf(contract{}).Methods() {
		test, ok := f.Interface().(func(*testing.T, bundle))
		if !ok {
			t.Fatalf("%s is no test of a bundle", method.Name)
		}
		if len(only) > 0 && !slices.Contains(only, method.Name) {
			continue
		}
		t.Run(method.Name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, open, rank.Defaults())
			test(t, b)
			b.addsUp(t)
		})
	}
}

// Start is the time of a new clock.
func Start() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

// Clock is a clock that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows [Start].
func NewClock() *Clock { return &Clock{now: Start()} }

// Now reads the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bundle is a store with its clock.
type bundle struct {
	store.Store
	clock *Clock
	open  Open
	again func() store.Store
}

func newBundle(t *testing.T, open Open, s rank.Settings) bundle {
	t.Helper()
	clock := NewClock()
	again := open(t, clock.Now, s)
	return bundle{again(), clock, open, again}
}

// addsUp works out anew what the store keeps of what a test did: all that a store itself writes
// adds up, in whatever order it was asked for it.
func (b bundle) addsUp(t *testing.T) {
	t.Helper()
	l, err := b.Ledger(t.Context())
	if err != nil {
		t.Errorf("read ledger: %v", err)
	}
	for _, d := range book.Discrepancies(l) {
		if d.Run == "" { // these tests have no sessions that live
			t.Error(d)
		}
	}
}

// fresh is another store, which learns by other settings.
func (b bundle) fresh(t *testing.T, s rank.Settings) bundle {
	t.Helper()
	return newBundle(t, b.open, s)
}

const (
	bob   fleet.Holder = "bob@host"
	alice fleet.Holder = "alice@host"
)

func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	must.Equal(t, what, got, want, cmpopts.EquateEmpty())
}

// mustTake takes what must be granted or renewed.
func (b bundle) mustTake(t *testing.T, r store.TakeRequest, want fleet.Grant) fleet.Claim {
	t.Helper()
	grant, c, err := b.Take(t.Context(), r)
	must.Do(t, err)
	if grant != want {
		t.Fatalf("got %s, want %s: %+v", grant, want, c)
	}
	return c
}

func laneTake(id fleet.RunID, c fleet.Category, lane int) store.Begin {
	return store.Begin{Run: id, Category: c, Lane: lane, TTL: time.Hour}
}

// mustLane takes a lane as must be.
func (b bundle) mustLane(t *testing.T, id fleet.RunID, c fleet.Category, lane int, want fleet.Grant) fleet.Claim {
	t.Helper()
	grant, got, err := storekit.TakeLane(t.Context(), b, laneTake(id, c, lane))
	must.Do(t, err)
	same(t, "grant", grant, want)
	return got
}

func (b bundle) mustSnapshot(t *testing.T) store.Snapshot {
	t.Helper()
	s := must.Get(b.Snapshot(t.Context()))(t)
	return s
}

// arm returns the state of a category.
func (b bundle) arm(t *testing.T, c fleet.Category) store.Arm {
	t.Helper()
	return b.mustSnapshot(t).Arms[c]
}

func (b bundle) mustRun(t *testing.T, id fleet.RunID) fleet.Run {
	t.Helper()
	r := must.Get(b.Run(t.Context(), id))(t)
	return r
}

// check is the last claim of a key, and whether its holder may write under it.
func (b bundle) check(ctx context.Context, key fleet.Key) (c fleet.Claim, held bool, err error) {
	c, at, err := b.Check(ctx, key)
	return c, c.Current(at), err
}
