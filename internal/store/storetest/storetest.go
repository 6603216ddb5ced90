// Package storetest is what every kind of store is held against: the contract of
// package store, method by method. Each test has a store and a clock of its own.
package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/must"
	"stint/internal/store"
	"stint/internal/store/book"
)

// Open says where a store is to be that reads this clock and learns by these settings,
// and returns what opens it: the first call makes it, another finds it as it was left.
// Opened stores are closed with the test.
type Open func(t *testing.T, now func() time.Time, s bandit.Settings) func() store.Store

// Run tests one kind of store, except by the tests that are named.
func Run(t *testing.T, open Open, without ...string) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, bundle){
		"Take":               testTake,
		"TakeRefused":        testTakeRefused,
		"RenewByTaking":      testRenewByTaking,
		"RenewAhead":         testRenewAhead,
		"Expiry":             testExpiry,
		"Renew":              testRenew,
		"Release":            testRelease,
		"ReleaseHolder":      testReleaseHolder,
		"FencedWrites":       testFencedWrites,
		"Check":              testCheck,
		"Clock":              testClock,
		"Crowd":              testCrowd,
		"Same":               testSame,
		"Repeat":             testRepeat,
		"Text":               testText,
		"List":               testList,
		"ClaimModel":         testClaimModel,
		"AddRun":             testAddRun,
		"OnBranch":           testOnBranch,
		"LastRuns":           testLastRuns,
		"BeginRun":           testBeginRun,
		"Lanes":              testLanes,
		"LaneClaims":         testLaneClaims,
		"SessionOnItsLane":   testSessionOnItsLane,
		"LanesOfOneHost":     testLanesOfOneHost,
		"TakeForRun":         testTakeForRun,
		"TakeForEndedRun":    testTakeForEndedRun,
		"Complete":           testComplete,
		"CompleteOnce":       testCompleteOnce,
		"CompleteFenced":     testCompleteFenced,
		"CompleteLate":       testCompleteLate,
		"CompleteUngraded":   testCompleteUngraded,
		"EndRun":             testEndRun,
		"Silent":             testSilent,
		"RecordFire":         testRecordFire,
		"RecordFireAtOnce":   testRecordFireAllOrNothing,
		"LastFires":          testLastFires,
		"NotStarted":         testNotStarted,
		"NotStartedTooLate":  testNotStartedTooLate,
		"Snapshot":           testSnapshot,
		"SnapshotOfAnything": testSnapshotOfHeld,
		"FiresSince":         testFiresSince,
		"Debit":              testDebit,
		"DebitAfterPivot":    testDebitAfterPivot,
		"Entitle":            testEntitle,
		"EntitleAtOnce":      testEntitleAllOrNothing,
		"GradeAsDispatched":  testGradeAsDispatched,
		"GradeChanges":       testGradeChanges,
		"GradesOfAll":        testGradesOfAll,
		"Backoff":            testBackoff,
		"LearnsNothing":      testLearnsNothing,
		"Ended":              testEnded,
		"Lessons":            testLessons,
		"LessonsByCategory":  testLessonsByCategory,
		"LessonsReplaced":    testLessonsReplaced,
		"LessonsEdited":      testLessonsEdited,
		"LessonsUngraded":    testLessonsUngraded,
		"Hosts":              testHosts,
		"Tail":               testTail,
		"Overran":            testOverran,
		"HostGone":           testHostGone,
		"AskToStop":          testAskToStop,
		"Places":             testPlaces,
		"PlacesRace":         testPlacesRace,
		"Away":               testAway,
		"Pause":              testPause,
		"Resume":             testResume,
		"ResumeAwakes":       testResumeAwakes,
		"Restarts":           testRestarts,
		"BudgetOfRuns":       testBudgetOfRuns,
		"BudgetOfOthers":     testBudgetOfOthers,
		"BudgetOfUsage":      testBudgetOfUsage,
		"FirstReserves":      testFirstReserves,
		"AbsurdBill":         testAbsurdBill,
		"ResetBudget":        testResetBudget,
		"CostOfTheDead":      testCostOfTheDead,
		"ReserveOfTheSilent": testReserveOfTheSilent,
		"SettledInItsDay":    testSettledInItsDay,
		"SettledAfterPivot":  testSettledAfterPivot,
		"BudgetRace":         testBudgetRace,
		"Slots":              testSlots,
		"SlotsRace":          testSlotsRace,
		"Limit":              testUsageLimit,
		"Fault":              testFault,
		"FaultBackoff":       testFaultBackoff,
		"FaultOfTask":        testFaultOfTask,
		"FaultMetAtOnce":     testFaultMetAtOnce,
		"LimitBackoff":       testUsageLimitBackoff,
		"LimitAfterWork":     testUsageLimitAfterWork,
		"LimitMetAtOnce":     testUsageLimitMetAtOnce,
		"Breaker":            testBreaker,
		"BlameOfFailures":    testBlameOfFailures,
		"ProbeWithoutAnswer": testProbeWithoutAnswer,
		"ProbeAlone":         testProbeAlone,
		"ResumeAgents":       testResumeAgents,
		"ProbeOfService":     testProbeOfService,
		"Unworked":           testUnworked,
		"Waiting":            testWaiting,
		"TaskLeft":           testTaskLeft,
		"TaskLeftMeanwhile":  testTaskLeftMeanwhile,
		"TaskOwed":           testTaskOwed,
		"TaskRests":          testTaskRests,
		"Respawn":            testRespawn,
		"RunQuery":           testRunQuery,
		"RunPages":           testRunPages,
		"FireQuery":          testFireQuery,
		"Denials":            testDenials,
		"LessonUses":         testLessonUses,
		"Reviews":            testReviews,
		"Notices":            testNotices,
		"Feedback":           testFeedback,
		"Forget":             testForget,
		"ForgetNothing":      testForgetNothing,
		"ForgetInBetween":    testForgetInBetween,
		"Tallies":            testTallies,
		"TalliesOfNever":     testTalliesOfNever,
	} {
		if slices.Contains(without, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, open, bandit.Defaults())
			test(t, b)
			b.addsUp(t)
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
	open  Open
	again func() store.Store
}

func newBundle(t *testing.T, open Open, s bandit.Settings) bundle {
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
func (b bundle) fresh(t *testing.T, s bandit.Settings) bundle {
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
	if diff := cmp.Diff(got, want, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-got +want):\n%s", what, diff)
	}
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

func laneTake(id fleet.RunID, c fleet.Category, lane int) store.LaneTake {
	return store.LaneTake{Run: id, Category: c, Lane: lane, TTL: time.Hour}
}

// mustLane takes a lane as must be.
func (b bundle) mustLane(t *testing.T, id fleet.RunID, c fleet.Category, lane int, want fleet.Grant) fleet.Claim {
	t.Helper()
	grant, got, err := b.LaneTaken(t.Context(), laneTake(id, c, lane))
	must.Do(t, err)
	same(t, "grant", grant, want)
	return got
}

func (b bundle) mustSnapshot(t *testing.T) store.Snapshot {
	t.Helper()
	s := must.Get(b.Snapshot(t.Context()))(t)
	return s
}

// arm is what is remembered of a category.
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
