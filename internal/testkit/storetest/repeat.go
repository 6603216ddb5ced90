package storetest

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// repeated is a write that who never heard its answer makes again.
type repeated struct {
	before func(t *testing.T, b bundle)
	write  func(ctx context.Context, b bundle) (answer any, err error)
	second any // nil: the same answer once more
}

// grant is the answer to a take.
type grant struct {
	fleet.Grant
	fleet.Claim
}

func repeatedWrites() map[string]repeated {
	planned := func(t *testing.T, b bundle) { b.mustRecord(t, "0r1", "0r2") }
	begun := func(t *testing.T, b bundle) {
		planned(t, b)
		b.mustLane(t, "0r1", "code", 1, fleet.Granted)
	}
	works := func(t *testing.T, b bundle) {
		begun(t, b)
		b.mustTakeForRun(t, takeFor("0r1", "fix"), fleet.Granted)
	}
	held := func(t *testing.T, b bundle) {
		b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour}, fleet.Granted)
	}
	ended := func(t *testing.T, b bundle) {
		works(t, b)
		r := graded(b.mustRun(t, "0r1"), 0.5)
		r.Key, r.Epoch = "fix", 1
		must.Do(t, b.Complete(t.Context(), r))
	}
	left := func(t *testing.T, b bundle) {
		held(t, b)
		m := fleet.TaskMemory{Task: "fix", TaskLeft: fleet.TaskLeft{State: fleet.StateDone, Source: "tracker", Owed: "done"}}
		must.Do(t, b.LeaveTask(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: 1}, m))
	}
	here := fleet.Host{ID: "a", Name: "one", Boot: "1"}
	onHost := func(t *testing.T, b bundle) {
		r := plannedRun("0r1")
		r.Location = fleet.Location{Host: "a", Boot: "1"}
		must.Get(b.RecordFire(t.Context(), store.Firing{Host: here, Runs: []fleet.Run{r}}))(t)
	}
	isGone := func(t *testing.T, b bundle) {
		onHost(t, b)
		must.Get(b.HostGone(t.Context(), "a", "burnt"))(t)
	}
	away := func(t *testing.T, b bundle) { must.Do(t, b.SetAway(t.Context(), fleet.Away{Reason: "why"})) }
	take := func(r store.TakeRequest) func(context.Context, bundle) (any, error) {
		return func(ctx context.Context, b bundle) (any, error) {
			g, c, err := b.Take(ctx, r)
			return grant{g, c}, err
		}
	}
	takeForRun := func(r storekit.RunTake) func(context.Context, bundle) (any, error) {
		return func(ctx context.Context, b bundle) (any, error) {
			_, c, err := storekit.TakeForRun(ctx, b, r)
			return c, err
		}
	}
	silent := func(write func(context.Context, bundle) error) func(context.Context, bundle) (any, error) {
		return func(ctx context.Context, b bundle) (any, error) { return nil, write(ctx, b) }
	}
	onLane := takeFor("0r1", "fix")
	onLane.Key, onLane.Task = fleet.LaneKey("code", 1), ""
	next := plannedRun("0r3")
	next.Source = fleet.FromRespawn
	return map[string]repeated{
		"take by a name": {
			held, take(store.TakeRequest{Key: "mine", Holder: bob, Renews: true, TTL: time.Hour}),
			grant{fleet.Renewed, fleet.Claim{Key: "mine", Holder: bob, Epoch: 1, AcquiredAt: Start(), ExpiresAt: Start().Add(time.Hour)}},
		},
		"renew": {held, func(ctx context.Context, b bundle) (any, error) {
			return b.Renew(ctx, store.Hold{Key: "k", Holder: bob, Epoch: 1}, time.Minute)
		}, nil},
		"take by nobody's name": {held, take(store.TakeRequest{Key: "mine", Holder: bob, Attempt: "x", TTL: time.Hour}), nil},
		"take for a run":        {begun, takeForRun(takeFor("0r1", "fix", fleet.LessonUse{Lesson: "a", Injected: true})), nil},
		"take on its lane":      {begun, takeForRun(onLane), nil},
		"take a lane": {planned, func(ctx context.Context, b bundle) (any, error) {
			_, c, err := storekit.TakeLane(ctx, b, laneTake("0r1", "code", 1))
			return c, err
		}, nil},
		"give a lane back": {works, silent(func(ctx context.Context, b bundle) error { return storekit.LeaveLane(ctx, b, "0r1") }), nil},
		"branch": {works, silent(func(ctx context.Context, b bundle) error {
			return b.OnBranch(ctx, "0r1", "stint/x", fleet.Conversation{})
		}), nil},
		"fire": {planned, func(ctx context.Context, b bundle) (any, error) {
			f, runs := testFire("0r3", "0r4")
			f.Moves, f.Due = []fleet.Category{"code", "docs"}, map[fleet.Category]float64{"code": 1}
			got, err := b.RecordFire(ctx, store.Firing{Fire: f, Runs: runs, Attempt: "x"})
			return []any{got.ID, got.Choices, got.Due}, err
		}, nil},
		"a fire that another was quicker than": {planned, func(ctx context.Context, b bundle) (any, error) {
			f, runs := testFire("0r3", "0r4")
			got, err := b.RecordFire(ctx, store.Firing{Fire: f, Runs: runs, Attempt: "x", Bounds: store.Bounds{Slots: []store.Slots{{Most: 3}}}})
			return []any{got.ID, got.Choices}, err
		}, nil},
		"follow": {works, func(ctx context.Context, b bundle) (any, error) {
			by, why, err := b.Respawn(ctx, "0r1", &next, "good", store.Bounds{})
			return []any{by, why}, err
		}, nil},
		"release": {held, func(ctx context.Context, b bundle) (any, error) {
			return b.Release(ctx, store.Hold{Key: "k", Holder: bob, Epoch: 1}, fleet.EndingDone, "so")
		}, nil},
		"end without a claim": {planned, silent(func(ctx context.Context, b bundle) error {
			_, err := b.NotStarted(ctx, 1, "0r1", "unit refused")
			return err
		}), nil},
		"abandon": {works, silent(func(ctx context.Context, b bundle) error {
			_, err := b.Abandon(ctx, store.Gone{Run: "0r1", Reason: "crashed"})
			return err
		}), nil},
		"add": {held, silent(func(ctx context.Context, b bundle) error { return b.AddRun(ctx, plannedRun("0r9")) }), nil},
		"complete": {works, silent(func(ctx context.Context, b bundle) error {
			r := graded(plannedRun("0r1"), 0.5)
			r.Key, r.Epoch, r.EndedAt = "fix", 1, Start()
			return b.Complete(ctx, r)
		}), nil},
		"fates": {ended, silent(func(ctx context.Context, b bundle) error {
			_, err := b.AddFates(ctx, []fleet.ReviewOutcome{{Run: "0r1", Kind: fleet.FateReverted, Witness: "a commit"}})
			return err
		}), nil},
		"leave a task": {held, silent(func(ctx context.Context, b bundle) error {
			m := fleet.TaskMemory{Task: "fix", TaskLeft: fleet.TaskLeft{State: fleet.StateDone, Source: "tracker", Owed: "done"}}
			return b.LeaveTask(ctx, store.Hold{Key: "k", Holder: bob, Epoch: 1}, m)
		}), nil},
		"see a task": {left, silent(func(ctx context.Context, b bundle) error {
			seen, err := b.Snapshot(ctx)
			if err != nil {
				return err
			}
			m := seen.Tasks[0]
			return b.SeeTasks(ctx, []store.TaskSight{{TaskMemory: m, Was: m.Seen}})
		}), nil},
		"retry a task": {left, silent(func(ctx context.Context, b bundle) error { _, err := b.Retry(ctx, "fix"); return err }), nil},
		"decide": {ended, silent(func(ctx context.Context, b bundle) error {
			return b.SaveReview(ctx, fleet.Review{Run: "0r1", Tip: "tip", Decision: fleet.DecisionRejected, Reason: "no"})
		}), nil},
		"say": {ended, silent(func(ctx context.Context, b bundle) error {
			return b.SaveFeedback(ctx, fleet.Feedback{Run: "0r1", Task: "fix", Said: "again", At: Start()})
		}), nil},
		"see a place": {ended, silent(func(ctx context.Context, b bundle) error {
			return b.SeePlaces(ctx, Start(), []fleet.PlaceSight{{Run: "0r1", State: fleet.PlaceOut}})
		}), nil},
		"reset a budget": {ended, silent(func(ctx context.Context, b bundle) error {
			_, err := b.ResetBudget(ctx, fleet.FleetScope, "why")
			return err
		}), nil},
		"fire of a machine": {isGone, func(ctx context.Context, b bundle) (any, error) {
			got, err := b.RecordFire(ctx, store.Firing{Host: here, Attempt: "x"})
			return got.ID, err
		}, nil},
		"a machine is gone": {onHost, func(ctx context.Context, b bundle) (any, error) { return b.HostGone(ctx, "a", "burnt") }, []fleet.RunID{}},
		"forget a machine":  {isGone, silent(func(ctx context.Context, b bundle) error { return b.ForgetHost(ctx, "a") }), nil},
		"ask to stop":       {works, func(ctx context.Context, b bundle) (any, error) { return b.AskToStop(ctx, "0r1", "why") }, nil},
		"pause":             {held, silent(func(ctx context.Context, b bundle) error { return b.Pause(ctx, fleet.Pause{Reason: "x"}) }), nil},
		"resume":            {held, silent(func(ctx context.Context, b bundle) error { _, err := b.Resume(ctx, ""); return err }), nil},
		"go away":           {held, silent(func(ctx context.Context, b bundle) error { return b.SetAway(ctx, fleet.Away{Reason: "why"}) }), nil},
		"come back":         {away, silent(func(ctx context.Context, b bundle) error { _, err := b.ClearAway(ctx); return err }), nil},
	}
}

// Repeat makes each write once more, as one does who heard of an error, whether the write had
// gone through before it or not: what is on record then is what one write leaves. All writes are made where a hundred
// random logs are drawn, and otherwise as large a share of them.
func (contract) Repeat(t *testing.T, b bundle) {
	writes := repeatedWrites()
	names := slices.Sorted(maps.Keys(writes))
	checks := must.Get(strconv.Atoi(flag.Lookup("rapid.checks").Value.String()))(t)
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(len(names), len(names)*checks/100)] {
		w := writes[name]
		once := b.fresh(t, rank.Defaults())
		w.before(t, once)
		first := must.Get(w.write(t.Context(), once))(t)
		want := once.everything(t)
		for _, applied := range []bool{false, true} {
			again := b.fresh(t, rank.Defaults())
			w.before(t, again)
			answer := first
			if applied {
				must.Get(w.write(t.Context(), again))(t)
				if w.second != nil {
					answer = w.second
				}
			} else { // it was undone
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := w.write(ctx, again); err == nil {
					t.Errorf("%s: got no error of a write that was called off", name)
				}
			}
			got := must.Get(w.write(t.Context(), again))(t)
			same(t, name+": the answer", got, answer)
			same(t, name+": what is on record", again.everything(t), want)
			again.addsUp(t)
		}
	}
}

func (b bundle) everything(t *testing.T) []any {
	t.Helper()
	return Everything(t, b)
}

// Everything is all that a store shows.
func Everything(t *testing.T, b store.Store) (all []any) {
	t.Helper()
	ctx := t.Context()
	note := func(v any, err error) {
		t.Helper()
		must.Do(t, err)
		all = append(all, v)
	}
	note(b.Snapshot(ctx))
	note(b.List(ctx, store.Listing{All: true}))
	note(storekit.RunsSince(ctx, b, time.Time{}))
	note(b.LastFires(ctx, store.FireQuery{Limit: 99}))
	note(b.LaneHolds(ctx, time.Time{}))
	note(b.LastDenials(ctx, store.DenialQuery{Limit: 99}))
	note(b.Ledger(ctx))
	note(b.Reviews(ctx))
	note(b.Feedback(ctx))
	return all
}
