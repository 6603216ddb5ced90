package engine_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

func TestStop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		supervised bool
		gone       bool // nothing of it lives
		lost       bool // its lock is gone: nobody knows whether it lives
		deaf       bool // nor can be ended
		dies       bool // asked to end, the supervisor does, and records nothing
		told       int
		ended      int
		refused    bool
		outcome    fleet.Outcome
	}{
		{name: "at work", supervised: true, told: 1, outcome: fleet.Cancelled},
		{name: "at work, supervisor dies of it", supervised: true, dies: true, told: 1, ended: 1, outcome: fleet.Abandoned},
		{name: "supervisor killed", ended: 1, outcome: fleet.Abandoned},
		{name: "supervisor killed, does not die", ended: 1, deaf: true, refused: true},
		{name: "dead", gone: true, outcome: fleet.Abandoned},
		{name: "lock lost, unit at work", lost: true, told: 1, outcome: fleet.Cancelled},
		{name: "lock lost, dead", lost: true, dies: true, told: 1, ended: 1, outcome: fleet.Abandoned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, threeCategories)
			r, lock := b.dead("code", "fix")
			b.supervised.Store(tt.supervised)
			if tt.gone {
				b.closeAll(lock)
			}
			if tt.lost {
				must.Do(t, os.Remove(fleet.FilesOf(b.Config.State, r.ID).Alive))
			}
			b.Stopper = ending{b, func() {
				if !tt.deaf {
					b.closeAll(lock)
				}
			}}
			b.onStop = func(r fleet.Run) {
				end := func() {
					if !tt.dies {
						r.Verdict = fleet.Verdict{Outcome: fleet.Cancelled}
						if err := b.db.Complete(context.WithoutCancel(t.Context()), r); err != nil {
							t.Error(err)
						}
					}
					b.supervised.Store(false)
				}
				if tt.lost { // the manager waits until its unit is down
					end()
				} else { // it takes a moment: what asks for the end has to wait for it
					go end()
				}
			}
			got, err := b.Engine.Stop(t.Context(), r.ID)
			if (err != nil) != tt.refused {
				t.Fatalf("stop: %v; want an error: %t", err, tt.refused)
			}
			if len(b.told) != tt.told || len(b.ended) != tt.ended {
				t.Errorf("told to end: %v, ended: %v; want %d and %d", b.told, b.ended, tt.told, tt.ended)
			}
			if got.Verdict.Outcome != tt.outcome || b.stored(r.ID).Verdict.Outcome != tt.outcome {
				t.Errorf("outcome %q, stored %q; want %q", got.Verdict.Outcome, b.stored(r.ID).Verdict.Outcome, tt.outcome)
			}
		})
	}
}

// TestStopBeforeItBegan keeps a planned run from ever beginning.
func TestStopBeforeItBegan(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	report := must.Get(b.fire(engine.FanoutOptions{}))(t)
	id := b.runOf(report, "code")
	r, err := b.Engine.Stop(t.Context(), id)
	if err != nil || r.Verdict.Outcome != fleet.Abandoned || !slices.Equal(b.told, []fleet.RunID{id}) {
		t.Errorf("stopped as %q, %v, told %v; want it abandoned, and its unit told", r.Verdict.Outcome, err, b.told)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Run: id}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("its worker, after all: %v; want it refused", err)
	}
	if _, err := b.Engine.Stop(t.Context(), id); !errors.Is(err, fleet.ErrNothing) {
		t.Errorf("stopped again: %v; want that there is nothing to do", err)
	}
	if _, err := b.Engine.Stop(t.Context(), "nosuchrun"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("a run that is not there: %v; want that it is not found", err)
	}
}

// TestStopAll ends what is open of a category, and of all: also the session that follows
// one which ended well after it was looked for. A session that does not end is reported, and
// keeps no other from it.
func TestStopAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	code, _ := b.dead("code", "fix")
	docs, lock := b.dead("docs", "write")
	b.closeAll(lock)
	rests := fleet.Run{ID: fleet.NewRunID(b.clock(), 1001), Category: "docs", CreatedAt: b.clock(), NotBefore: b.clock().Add(time.Hour)}
	must.Do(t, b.db.AddRun(t.Context(), rests))
	follower := rests
	follower.ID = fleet.NewRunID(b.clock(), 1002)
	b.onStop = func(r fleet.Run) {
		if r.ID != rests.ID {
			return
		}
		if err := b.db.AddRun(t.Context(), follower); err != nil {
			t.Error(err)
		}
	}
	stop := func(name string) map[fleet.RunID]fleet.Outcome {
		t.Helper()
		list := must.Get(b.StopAll(t.Context(), name))(t)
		got := map[fleet.RunID]fleet.Outcome{}
		for _, s := range list {
			got[s.Was.ID] = s.Run.Verdict.Outcome
			if (s.Err != nil) != s.Run.EndedAt.IsZero() {
				t.Errorf("run %s: ended at %s, error %v", s.Was.ID, s.Run.EndedAt, s.Err)
			}
		}
		return got
	}
	want := map[fleet.RunID]fleet.Outcome{docs.ID: fleet.Abandoned, rests.ID: fleet.Abandoned, follower.ID: fleet.Abandoned}
	must.Equal(t, "stopped of docs", stop("docs"), want)
	must.Equal(t, "stopped of all, of which one does not die", stop(""), map[fleet.RunID]fleet.Outcome{code.ID: ""})
	if got := stop("triage"); len(got) > 0 {
		t.Errorf("stopped %v of a category with nothing open", got)
	}
}

// entering is a workspace in which something happens before a session has its folder.
type entering struct {
	noRepo
	meanwhile func(fleet.RunID)
}

func (e entering) Enter(ctx context.Context, run fleet.RunID, _ fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	e.meanwhile(run)
	<-ctx.Done()
	return fleet.Site{}, nil, ctx.Err()
}

// TestSessionWithoutAgentCostsNothing has sessions end before their agents began: of a worker that was stopped, and of one whose
// claim was lost. What was reserved for them is free again, and the ranking hears of no cheap session.
//
//nolint:paralleltest // a bubble's test stands alone
func TestSessionWithoutAgentCostsNothing(t *testing.T) {
	for want, meanwhile := range map[fleet.Outcome]func(*bench, context.CancelFunc, fleet.RunID){
		fleet.Cancelled: func(_ *bench, stop context.CancelFunc, _ fleet.RunID) { stop() },
		fleet.Lost: func(b *bench, _ context.CancelFunc, run fleet.RunID) {
			must.Get(b.db.Release(b.Context(), store.Hold{Key: "fix", Holder: run.Holder()}, fleet.EndingReleased, ""))(b)
		},
	} {
		t.Run(string(want), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "[category.code]\n[budget]\nusd = 20.0\ntokens = 10000000\n")
				b.addTask("fix", "code", fleet.StateTodo)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				b.Repo = entering{meanwhile: func(run fleet.RunID) {
					if spent := fleet.SpentBy(b.present().Snapshot.Spent, fleet.FleetScope); spent.USD != fleet.FirstUSD {
						t.Errorf("reserved: %+v", spent)
					}
					meanwhile(b, stop, run)
				}}
				run, err := b.Run(ctx, engine.RunOptions{Category: "code"})
				s := b.present().Snapshot
				if spent := fleet.SpentBy(s.Spent, fleet.FleetScope); outcome(err) != want || spent.USD != 0 || spent.Tokens != 0 || spent.Runs != 1 {
					t.Errorf("%v: %+v, want nothing used by %+v", err, spent, b.stored(run.ID))
				}
				if got := s.Prices.Use; got != (rank.Prices{}).Use {
					t.Errorf("the ranking counts a use: %+v", got)
				}
			})
		})
	}
}
