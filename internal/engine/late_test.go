package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// TestPivotPassesBusyLanes has lanes that are taken: their categories whose lanes are taken are no pivots.
func TestPivotPassesBusyLanes(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n[category.docs]\n[category.triage]\n[category.news]\n[fanout]\nworkers = 3\n")
	for _, c := range b.Config.CategoryNames() {
		b.addTask("a-"+string(c), c, fleet.StateTodo)
	}
	fired := must.Get(b.fire(engine.FanoutOptions{Payload: []byte(`{"all_scores":{"code":9,"docs":8,"triage":7,"news":6}}`)}))(t)
	for _, c := range []fleet.Category{"docs", "triage"} {
		held := must.Get(claim.Locks(b.Config.State).Take(c, 1, b.runOf(fired, c)))(t)
		defer func() { _ = held.Release() }()
	}
	b.Store = &rival{Store: b.db, holder: "quick", quick: 1}
	run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(fired, "code")})
	if err != nil || run.Category != "news" {
		t.Errorf("worked in %s: %v; want news, the best with a free lane", run.Category, err)
	}
}

// TestWorkerThatBeginsWhileItIsReaped begins a run between a reaper's look and its
// closing: it is left alone.
func TestWorkerThatBeginsWhileItIsReaped(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	fired := must.Get(b.fire(engine.FanoutOptions{}))(t)
	id := b.runOf(fired, "code")
	b.later(time.Minute)
	reaper, parts := *b.Engine, *b.Reader
	reaper.Reader = &parts
	late := &lateStore{dying: &dying{Store: b.db, left: 99}, begun: make(chan struct{}), looked: make(chan struct{})}
	reaper.Store = late
	done := make(chan error)
	b.Runner = agent(func(context.Context, fleet.SessionSpec) fleet.SessionExit {
		close(late.begun) // the reaper goes on
		if err := <-done; err != nil {
			t.Error(err)
		}
		if keys := b.held(); !slices.Equal(keys, []fleet.Key{fleet.LaneKey("code", 1), "fix"}) {
			t.Errorf("claims while the session works: %v, want its own and its lane's", keys)
		}
		return fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"outcome":"productive","grade":1}`)}
	})
	go func() { _, err := reaper.Reap(t.Context(), false); done <- err }()
	<-late.looked // the reaper has looked
	if _, err := b.Run(t.Context(), engine.RunOptions{Run: id}); err != nil {
		t.Errorf("the session: %v", err)
	}
}

// lateStore answers the reaper when the worker has begun.
type lateStore struct {
	*dying
	begun, looked chan struct{}
	first         sync.Once
}

func (s *lateStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	s.first.Do(func() { close(s.looked) })
	<-s.begun
	return snap, err
}

// TestRunWithoutFolderIsClosedOnceOverdue has a run that nobody can ask about any more.
func TestRunWithoutFolderIsClosedOnceOverdue(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.addTask("fix", "code", fleet.StateTodo)
	r, lock := b.dead("code", "fix")
	b.closeAll(lock)
	must.Do(t, os.RemoveAll(filepath.Dir(lock.Name())))
	b.later(48 * time.Hour)
	b.reap()
	if got := b.stored(r.ID).Verdict.Outcome; got != fleet.Abandoned {
		t.Errorf("two days later it ended as %q", got)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil {
		t.Errorf("the next session: %v", err)
	}
}

// overtaken is a workspace that takes so long that another has the run's claim when it is ready.
type overtaken struct {
	noRepo
	*bench
}

func (o overtaken) Enter(ctx context.Context, run fleet.RunID, p fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	if _, err := o.db.Release(ctx, store.Hold{Key: "item", Holder: run.Holder()}, fleet.EndingReleased, ""); err != nil {
		return fleet.Site{}, nil, err
	}
	if grant, _, err := o.db.Take(ctx, store.TakeRequest{Key: "item", Holder: "quick", TTL: time.Hour}); err != nil || grant != fleet.Granted {
		o.Errorf("got %s, %v, want the claim", grant, err)
	}
	return o.noRepo.Enter(ctx, run, p)
}

// tracker has one item, and notes the reports that it gets.
type tracker struct {
	engine.Sources
	told []fleet.TaskCall
}

func (t *tracker) List(context.Context) ([]fleet.Task, []fleet.TaskProblem, error) {
	return []fleet.Task{{ID: "item", Source: "gh", Item: "7", Category: "code", State: fleet.StateTodo}}, nil, nil
}

func (t *tracker) Body(context.Context, fleet.Task) (string, error) { return "", nil }

func (t *tracker) Call(_ context.Context, what fleet.TaskCall, _ fleet.Task, _ fleet.RunID, _ string) error {
	t.told = append(t.told, what)
	return nil
}

// TestLateWordIsRefused has a claim be another's by the time its session begins, and by the
// time a person who had it gives its task a state: neither leaves it a state, and the tracker gets
// no report of that.
func TestLateWordIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n")
	items := &tracker{}
	b.Tasks, b.Sources, b.Repo = items, items, overtaken{bench: b}
	call := []string{"true"}
	b.Config.Tasks.Sources = map[string]config.TaskSource{
		"gh": {Start: call, Done: call, Release: call},
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); outcome(err) != fleet.Lost {
		t.Errorf("got %v, want the run lost", err)
	}
	list, _, _ := items.List(t.Context())
	if _, err := b.GiveState(t.Context(), store.Hold{Key: "item", Holder: "slow", Epoch: 1}, list[0], fleet.StateDone); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("a person's late word: got %v, want it lost", err)
	}
	s, err := b.db.Snapshot(t.Context())
	if err != nil || len(s.Tasks) != 1 || s.Tasks[0].State != fleet.StateTodo || s.Tasks[0].Taken != 0 || !slices.Equal(items.told, []fleet.TaskCall{fleet.CallStart}) {
		t.Errorf("got %+v remembered and %v told (%v), want that it began alone", s.Tasks, items.told, err)
	}
}

// releasing looks at a lane while its release is put on record.
type releasing struct {
	store.Store
	b     *bench
	taken error // of a rival that tries it meanwhile
	asked int
}

func (s *releasing) Complete(ctx context.Context, r fleet.Run) error {
	s.asked++
	l, err := s.b.Lanes.Take("code", 1, "0other")
	if s.taken = err; err == nil {
		return errors.Join(l.Release(), s.Store.Complete(ctx, r))
	}
	return s.Store.Complete(ctx, r)
}

// TestLaneIsReleasedOnRecordFirst: else the next session's hold could begin, on record,
// before the last one's ended, and the audit would find two in one lane.
func TestLaneIsReleasedOnRecordFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n")
	b.addTask("a", "code", "todo")
	looks := &releasing{Store: b.db, b: b}
	b.Store = looks
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil {
		t.Error(err)
	}
	if looks.asked != 1 || !errors.Is(looks.taken, fleet.ErrBusy) {
		t.Errorf("released %d times; taken meanwhile: %v, want %v", looks.asked, looks.taken, fleet.ErrBusy)
	}
	l := must.Get(b.Lanes.Take("code", 1, "0other"))(t)
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// outlived takes longer to record an end than the run has its claim; then it answers.
type outlived struct {
	store.Store
	asked bool
}

func (s *outlived) Complete(ctx context.Context, r fleet.Run) error {
	if s.asked {
		return s.Store.Complete(ctx, r)
	}
	s.asked = true
	_, err := s.Release(ctx, store.Hold{Key: r.Key, Holder: r.ID.Holder()}, fleet.EndingReleased, "")
	if err == nil {
		_, _, err = s.Take(ctx, store.TakeRequest{Key: r.Key, Holder: "quick", TTL: time.Hour})
	}
	if err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestClaimLostWhileTheEndIsRecorded has the keeper of the claim cut the record short.
func TestClaimLostWhileTheEndIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, "[category.code]\n")
		b.addTask("fix", "code", fleet.StateTodo)
		b.Runner, b.Store = says(delivers), &outlived{Store: b.db}
		run, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
		if got := b.stored(run.ID).Verdict.Outcome; got != fleet.Lost || outcome(err) != fleet.Lost {
			t.Errorf("got %v, %q on record, want the run lost", err, got)
		}
	})
}

// TestLostClaimIsNotGivenBackAsDone has a claim be another's before the end of its session is recorded, which says that
// the task is done: by the worker, and by the reaper of one that died then. Nothing is given back as done, and the task
// stays the other's.
func TestLostClaimIsNotGivenBackAsDone(t *testing.T) {
	t.Parallel()
	for name, session := range map[string]func(*bench, func(fleet.Holder)) fleet.RunID{
		"recorded by its worker": func(b *bench, lose func(fleet.Holder)) fleet.RunID {
			b.Runner = agent(func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit {
				lose("run:" + fleet.Holder(filepath.Base(s.Files.Dir)))
				return says(delivers)(ctx, s)
			})
			run, err := b.Run(b.Context(), engine.RunOptions{Category: "code"})
			if outcome(err) != fleet.Lost {
				b.Errorf("got %v, want the run lost", err)
			}
			return run.ID
		},
		"recorded late": func(b *bench, lose func(fleet.Holder)) fleet.RunID {
			r, lock := b.dead("code", "fix")
			r = b.stored(r.ID)
			r.EndedAt, r.Verdict = b.clock(), fleet.Verdict{Outcome: fleet.Productive, TaskState: fleet.StateDone}
			r.Left = fleet.TaskLeft{State: fleet.StateDone, Changed: true}
			must.Do(b, b.Folders.PutEnd(r))
			lose(r.ID.Holder())
			b.closeAll(lock)
			b.reap()
			return r.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[category.code]\n")
			b.addTask("fix", "code", fleet.StateTodo)
			id := session(b, func(h fleet.Holder) {
				must.Get(b.db.Release(t.Context(), store.Hold{Key: "fix", Holder: h}, fleet.EndingReleased, ""))(t)
				for key, holder := range map[fleet.Key]fleet.Holder{"fix": "quick", "beside": h} { // and one more of the session's own
					if grant, _, err := b.db.Take(t.Context(), store.TakeRequest{Key: key, Holder: holder, TTL: time.Hour}); err != nil || grant != fleet.Granted {
						t.Errorf("take %s: %s, %v", key, grant, err)
					}
				}
			})
			b.reap()
			if got := b.stored(id); got.Verdict.Outcome != fleet.Lost || got.Verdict.TaskState != "" {
				t.Errorf("got %+v on record, want the run lost", got.Verdict)
			}
			c, at, err := b.db.Check(t.Context(), "fix")
			if err != nil || c.Holder != "quick" || c.Epoch != 2 || !c.Current(at) {
				t.Errorf("got %+v, %v, want the other's claim held", c, err)
			}
			if c, _, err = b.db.Check(t.Context(), "beside"); err != nil || c.Ending != fleet.EndingReleased {
				t.Errorf("the lost session's other claim: got %q, %v, want %q", c.Ending, err, fleet.EndingReleased)
			}
			s := must.Get(b.db.Snapshot(t.Context()))(t)
			file := must.Get(os.ReadFile(filepath.Join(b.Config.Tasks.Dir, "fix.md")))(t)
			if len(s.Tasks) != 0 || !strings.Contains(string(file), "state: todo") {
				t.Errorf("got %+v remembered and the file %q, want nothing said of the task", s.Tasks, file)
			}
		})
	}
}

// TestLateEndHasItsBranch records an end late whose work was in the target by then, which leaves no branch to watch: the
// record says so as if its worker had made it.
func TestLateEndHasItsBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\n")
	b.addTask("fix", "code", fleet.StateTodo)
	r, lock := b.dead("code", "fix")
	must.Do(t, b.db.OnBranch(t.Context(), r.ID, "stint/x", fleet.Conversation{}))
	r = b.stored(r.ID)
	r.EndedAt, r.Verdict, r.Commits, r.Branch = b.clock(), fleet.Verdict{Outcome: fleet.Productive}, []string{"c0ffee"}, ""
	must.Do(t, b.Folders.PutEnd(r))
	b.closeAll(lock)
	b.reap()
	if got := b.stored(r.ID); got.Branch != "" || len(got.Commits) != 1 {
		t.Errorf("got branch %q and commits %v, want no branch", got.Branch, got.Commits)
	}
}

// slowRepo has the turn of another session's fetch before each look at a session's work, and before its folder is left.
type slowRepo struct {
	noRepo
	takes time.Duration
	left  *bool
}

func (r slowRepo) wait(ctx context.Context) error {
	select {
	case <-time.After(r.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r slowRepo) Work(ctx context.Context, _ string, _ fleet.RunFiles) (fleet.Work, error) {
	if err := r.wait(ctx); err != nil {
		return fleet.Work{}, err
	}
	return fleet.Work{Known: true, Revisions: []string{"c0ffee"}}, nil
}

func (r slowRepo) Enter(context.Context, fleet.RunID, fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	return fleet.Site{}, func(ctx context.Context) (string, error) {
		err := r.wait(ctx)
		*r.left = err == nil
		return "", err
	}, nil
}

// TestWorkIsLookedAtInTurn has the workspace's turn be another's for longer than a worker has that was asked to stop. A worker that
// nobody stops waits. A worker that is stopped, also while it waits, is over in time.
//
//nolint:paralleltest // a bubble's test stands alone
func TestWorkIsLookedAtInTurn(t *testing.T) {
	for name, tt := range map[string]struct {
		takes, stop time.Duration // from the end of the agent; 0: never
		want        int           // commits on record
		most        time.Duration // to the end of the run
	}{
		"not stopped":                {takes: 3 * time.Minute, want: 1, most: 6 * time.Minute},
		"never its turn":             {takes: time.Hour, most: 15 * time.Minute},
		"stopped while it waits":     {takes: 3 * time.Minute, stop: time.Minute, most: time.Minute + 31*time.Second},
		"stopped before, in a while": {takes: 5 * time.Second, stop: time.Millisecond, want: 1, most: 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, "[category.code]\n")
				b.addTask("fix", "code", fleet.StateTodo)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var began time.Time
				b.Runner = agent(func(ctx context.Context, s fleet.SessionSpec) fleet.SessionExit {
					if began = virtual(); tt.stop > 0 {
						time.AfterFunc(tt.stop, stop)
					}
					return says(`{"outcome":"productive","grade":0.5}`)(ctx, s)
				})
				left := false
				b.Repo = slowRepo{takes: tt.takes, left: &left}
				run, err := b.Run(ctx, engine.RunOptions{Category: "code"})
				got := b.stored(run.ID)
				if took := virtual().Sub(began); took > tt.most || len(got.Commits) != tt.want || left != (tt.want > 0) || got.EndedAt.IsZero() {
					t.Errorf("after %v (%v): commits %v, left %t, verdict %+v", took, err, got.Commits, left, got.Verdict)
				}
			})
		})
	}
}
