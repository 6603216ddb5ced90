// Package storetest is what every kind of store is held against: the contract of
// package store, method by method. Each test has a store and a clock of its own.
package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Open makes an empty store that reads this clock, and ends with the test.
type Open func(t *testing.T, now func() time.Time) store.Store

// Run tests one kind of store.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, bundle){
		"Take":               testTake,
		"TakeRefused":        testTakeRefused,
		"RenewByTaking":      testRenewByTaking,
		"Expiry":             testExpiry,
		"Renew":              testRenew,
		"Release":            testRelease,
		"ReleaseHolder":      testReleaseHolder,
		"FencedWrites":       testFencedWrites,
		"Check":              testCheck,
		"List":               testList,
		"ClaimModel":         testClaimModel,
		"AddRun":             testAddRun,
		"LastRuns":           testLastRuns,
		"BeginRun":           testBeginRun,
		"Lanes":              testLanes,
		"TakeForRun":         testTakeForRun,
		"TakeForEndedRun":    testTakeForEndedRun,
		"Complete":           testComplete,
		"CompleteOnce":       testCompleteOnce,
		"CompleteFenced":     testCompleteFenced,
		"CompleteUngraded":   testCompleteUngraded,
		"EndRun":             testEndRun,
		"RecordFire":         testRecordFire,
		"RecordFireAtOnce":   testRecordFireAllOrNothing,
		"LastFires":          testLastFires,
		"NotStarted":         testNotStarted,
		"NotStartedTooLate":  testNotStartedTooLate,
		"Snapshot":           testSnapshot,
		"SnapshotOfAnything": testSnapshotOfHeld,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := NewClock()
			test(t, bundle{open(t, clock.Now), clock})
		})
	}
}

// Start is what a new clock shows.
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
}

const (
	bob   fleet.Holder = "bob@host"
	alice fleet.Holder = "alice@host"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBe(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-got +want):\n%s", what, diff)
	}
}

// mustTake takes what must be granted or renewed.
func (b bundle) mustTake(t *testing.T, r store.Take, want fleet.Grant) fleet.Claim {
	t.Helper()
	grant, c, err := b.Take(t.Context(), r)
	must(t, err)
	if grant != want {
		t.Fatalf("got %s, want %s: %+v", grant, want, c)
	}
	return c
}

// posterior is what is known of a category.
func (b bundle) posterior(t *testing.T, c fleet.Category) fleet.Posterior {
	t.Helper()
	s, err := b.Snapshot(t.Context())
	must(t, err)
	return s.Posteriors[c]
}

func (b bundle) mustRun(t *testing.T, id fleet.RunID) fleet.Run {
	t.Helper()
	r, err := b.Run(t.Context(), id)
	must(t, err)
	return r
}

// check is the last claim of a key, and whether its holder may write under it.
func (b bundle) check(ctx context.Context, key fleet.Key) (c fleet.Claim, held bool, err error) {
	c, err = b.Check(ctx, key)
	return c, c.Current(b.clock.Now()), err
}
