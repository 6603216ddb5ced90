package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// patience bounds a session without a time-out of its own: the
// category's, the agent's grace, two reports to its task's source, two looks at its folder, two commands
// before a session follows, closing four times, and a minute's slack.
const patience = 30*time.Minute + 10*time.Second + 2*3*time.Minute + 2*7*time.Minute + 2*time.Minute + 4*20*time.Second + time.Minute

const halfHour = "[category.code]\ntimeout = \"30m\"\nttl = \"60m\"\n[category.docs]\n[category.triage]\n"

// dead leaves what a session leaves whose supervisor was killed: an open run that holds
// a lane and a claim. The lock, while it is open, is a process of it that lives on.
func (b *bench) dead(c fleet.Category, task fleet.TaskID) (fleet.Run, *os.File) {
	b.Helper()
	r := fleet.Run{ID: fleet.NewRunID(b.clock(), uint32(b.Random())), Location: b.Here, Category: c, Agent: "fake", CreatedAt: b.clock()}
	lock := must.Get(claim.Locks(b.Config.State).Live(r.ID))(b)
	b.Cleanup(func() { _ = lock.Close() }) // most tests close it before
	grant := fleet.Granted
	err := b.db.AddRun(b.Context(), r)
	if err == nil {
		_, _, err = storekit.TakeLane(b.Context(), b.db, store.Begin{Run: r.ID, PID: 1 << 22, Category: c, Lane: 1, TTL: time.Hour})
	}
	if err == nil {
		grant, _, err = storekit.TakeForRun(b.Context(), b.db, storekit.RunTake{
			TakeRequest: store.TakeRequest{Key: fleet.Key(task), Holder: r.ID.Holder(), Renews: true, TTL: time.Hour}, Run: r.ID, PID: 1 << 22, Task: task,
		})
	}
	if err != nil || grant != fleet.Granted {
		b.Fatalf("leave a dead run: %s, %v", grant, err)
	}
	return r, lock
}

// TestLooksForLong has a worker whose look takes longer than a start: its lock says that it is there.
func TestLooksForLong(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	r := fleet.Run{ID: fleet.NewRunID(b.clock(), 1), Location: b.Here, Category: "code", Source: fleet.FromSelected, Agent: "fake", CreatedAt: b.clock()}
	must.Do(t, b.db.AddRun(t.Context(), r))
	lock := must.Get(claim.Locks(b.Config.State).Live(r.ID))(t)
	b.later(5 * time.Minute)
	must.Equal(t, "closed while it looks", len(b.reap()), 0)
	b.closeAll(lock)
	closed := b.reap()
	must.Equal(t, "closed once it is dead", len(closed), 1)
	must.Equal(t, "reason", closed[0].Reason, "its worker never began")
}

func (b *bench) reap() []engine.Reaped {
	b.Helper()
	reaped := must.Get(b.Reap(b.Context(), false))(b)
	return reaped
}

func (b *bench) closeAll(files ...*os.File) {
	b.Helper()
	for _, f := range files {
		// A child of another test that has not become its program yet may have the file open, too.
		must.Do(b, errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close()))
	}
}

// checkRecord fails the test if two runs held one lane at once.
func (b *bench) checkRecord() {
	b.Helper()
	var r report.Record
	must.Do(b, b.db.EachLaneHold(b.Context(), time.Time{}, r.Holds.Add))
	if v := report.NewAudit(r, rank.Settings{}).Violations; v != nil {
		b.Errorf("lanes held twice: %+v", v)
	}
}

func TestDeadRunIsClosedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.addTask("fix", "code", fleet.StateTodo)
	r, lock := b.dead("code", "fix")
	b.later(time.Second)
	if reaped := b.reap(); reaped != nil {
		t.Errorf("closed although it lives: %+v", reaped)
	}
	b.closeAll(lock)
	if reaped, err := b.Reap(t.Context(), true); err != nil || len(reaped) != 1 {
		t.Errorf("dry run: %+v, %v; want one", reaped, err)
	}
	if got := b.stored(r.ID); !got.EndedAt.IsZero() {
		t.Errorf("the dry run closed it: %+v", got.Verdict)
	}
	if reaped := b.reap(); len(reaped) != 1 || reaped[0].Run.ID != r.ID {
		t.Errorf("closed %+v, want run %s", reaped, r.ID)
	}
	first := b.stored(r.ID)
	if v := first.Verdict; v.Outcome != fleet.Abandoned || v.Grade != nil || !first.EndedAt.Equal(first.StartedAt) {
		t.Errorf("closed as %+v at %s", v, first.EndedAt)
	}
	b.later(time.Second)
	if reaped := b.reap(); reaped != nil {
		t.Errorf("closed again: %+v", reaped)
	}
	must.Equal(t, "changed by the second reaping", b.stored(r.ID), first)
	b.wantsGrades("code", 1)
	if again, err := b.Run(t.Context(), engine.RunOptions{Category: "code"}); err != nil || again.Epoch != 2 {
		t.Errorf("next session: epoch %d, %v; want 2", again.Epoch, err)
	}
	b.checkRecord()
}

// TestDeadRestFromTheirDeath finds a run an hour after the last that was known of it: its
// category has rested.
func TestDeadRestFromTheirDeath(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nttl = \"30m\"\n")
	b.addTask("fix", "code", fleet.StateTodo)
	r, lock := b.dead("code", "fix")
	b.later(10 * time.Minute)
	must.Get(b.db.Renew(t.Context(), store.Hold{Key: "fix", Holder: r.ID.Holder()}, 30*time.Minute))(t)
	b.closeAll(lock)
	died := b.clock()
	b.later(2 * time.Minute)
	if out := b.explained().Out; !strings.HasPrefix(out, "cooldown until 2026-06-01T12:13:00Z") {
		t.Errorf("right after it: got code out for %q, want it to rest for three minutes", out)
	}
	b.later(time.Hour)
	if out := b.explained().Out; out != "" {
		t.Errorf("before it is found: got code out for %q, want it rested", out)
	}
	b.reap()
	if got := b.stored(r.ID).EndedAt; !got.Equal(died) {
		t.Errorf("it ended at %s, want its death, %s", got, died)
	}
	if out := b.explained().Out; out != "" {
		t.Errorf("once it is found: got code out for %q, want it rested", out)
	}
}

// TestClockThatWasAhead sets a clock right that was two days ahead. Its times hold nothing up:
// ends of sessions, a planned run, rests of agents, a claim by hand, a back-off.
func TestClockThatWasAhead(t *testing.T) {
	t.Parallel()
	b, _, id := chain(t, "[category.code]\nmax_chain = 0\n[category.docs]\n[category.triage]\nself_directed = true\n")
	b.addTask("write", "docs", fleet.StateTodo)
	b.mustRun(id)
	const ahead = 48 * time.Hour
	b.later(ahead)
	b.meetWall("fake")
	b.session("0empty", "code", "other", fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Noop}})
	planned := fleet.Run{ID: "0planned", Category: "docs", Source: fleet.FromSelected, Agent: "fake", CreatedAt: b.clock()}
	_, _, err := b.db.Take(t.Context(), store.TakeRequest{Key: "write", Holder: "bob", TTL: time.Hour})
	must.Do(t, errors.Join(err, b.db.AddRun(t.Context(), planned)))
	b.later(10*time.Minute - ahead)
	s := must.Get(b.explain().Select(t.Context(), inspect.SelectOptions{}))(t)
	for _, c := range s.Candidates {
		if c.Out != "" {
			t.Errorf("got %s out for %q, want it ready", c.Category, c.Out)
		}
	}
	if reaped := b.reap(); len(reaped) != 1 || reaped[0].Run.ID != planned.ID {
		t.Errorf("closed %+v, want run %s", reaped, planned.ID)
	}
	if r, err := b.Run(t.Context(), engine.RunOptions{Category: "docs"}); err != nil {
		t.Errorf("got %+v, %v, want a session of the task that was claimed ahead", r.Verdict, err)
	}
}

// TestReapersAtOnce has eight reap what fires and sessions do at the same time.
func TestReapersAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.Engine.Random = func() uint64 { return 0 }
	var locks []*os.File
	for i := range 12 {
		b.later(time.Second) // an id of its own
		_, lock := b.dead("code", fleet.TaskID(fmt.Sprintf("t%d", i)))
		locks = append(locks, lock)
	}
	b.closeAll(locks...)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		times = map[fleet.RunID]int{}
	)
	for range 8 {
		group.Go(func() {
			reaped, err := b.Reap(t.Context(), false)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range reaped {
				times[r.Run.ID]++
			}
		})
	}
	group.Wait()
	for id, n := range times {
		if n != 1 {
			t.Errorf("run %s was closed %d times", id, n)
		}
	}
	if len(times) != 12 {
		t.Errorf("%d runs closed, want 12", len(times))
	}
}

// dying is a store that a reaper sees fail from its n-th closing on, before or after
// the write took effect.
type dying struct {
	store.Store
	left    int
	applied bool
}

func (s *dying) Abandon(ctx context.Context, g store.Gone) (bool, error) {
	if s.left--; s.left >= 0 {
		return s.Store.Abandon(ctx, g)
	}
	if s.applied {
		if _, err := s.Store.Abandon(ctx, g); err != nil {
			return false, err
		}
	}
	return false, errDisk
}

func TestReapingThatDiesHalfWay(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		t.Run(fmt.Sprintf("applied=%t", applied), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, halfHour)
			var runs []fleet.RunID
			for _, task := range []fleet.TaskID{"a", "b", "c"} {
				r, lock := b.dead("code", task)
				b.closeAll(lock)
				runs = append(runs, r.ID)
			}
			b.Store = &dying{Store: b.db, left: 1, applied: applied}
			if reaped, err := b.Reap(t.Context(), false); !errors.Is(err, errDisk) || len(reaped) != 1 {
				t.Fatalf("closed %+v, %v; want one, and the store's error", reaped, err)
			}
			b.Store = b.db
			want := 2
			if applied {
				want = 0
			}
			if reaped := b.reap(); len(reaped) != want {
				t.Errorf("the next closed %d, want %d", len(reaped), want)
			}
			for _, id := range runs {
				if got := b.stored(id).Verdict.Outcome; got != fleet.Abandoned {
					t.Errorf("run %s ended as %q", id, got)
				}
			}
			if keys := b.held(); keys != nil {
				t.Errorf("claims left: %v", keys)
			}
			b.checkRecord()
		})
	}
}

// TestOverdue moves the clock to when a session is, and is not yet, given up. Only a
// session that should have ended is ended, and only one that is gone is closed.
func TestOverdue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		after  time.Duration
		dies   bool // when it is asked to
		dryRun bool
		ended  int
		closed bool
	}{
		{"in time", patience, true, false, 0, false},
		{"too late", patience + time.Second, true, false, 1, true},
		{"too late, does not die", patience + time.Second, false, false, 1, false},
		{"dry run", patience + time.Second, true, true, 0, false},
		{"a day back", -24 * time.Hour, true, false, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, halfHour)
			r, lock := b.dead("code", "fix")
			b.Stopper = ending{b, func() {
				if tt.dies {
					b.closeAll(lock)
				}
			}}
			b.later(tt.after)
			reaped, err := b.Reap(t.Context(), tt.dryRun)
			if err != nil || len(b.ended) != tt.ended {
				t.Errorf("%d sessions ended, %v; want %d", len(b.ended), err, tt.ended)
			}
			if got := b.stored(r.ID).Verdict.Outcome == fleet.Abandoned; got != tt.closed {
				t.Errorf("closed: %t, want %t", got, tt.closed)
			}
			if want := tt.closed || tt.dryRun; (len(reaped) == 1) != want {
				t.Errorf("reaped %+v, want one: %t", reaped, want)
			}
		})
	}
}

// TestClockStepEndsNoSession steps the clock past a session's time while its supervisor,
// which measures that time by another clock, is at work.
func TestClockStepEndsNoSession(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	r, lock := b.dead("code", "fix")
	b.supervised.Store(true)
	b.later(24 * time.Hour)
	if reaped := b.reap(); len(b.ended) != 0 || len(reaped) != 0 || !b.stored(r.ID).EndedAt.IsZero() {
		t.Errorf("ended %v, reaped %v", b.ended, reaped)
	}
	b.closeAll(lock)
}

// TestSuspendedSupervisor stops a supervisor, as Ctrl-Z does: the reaping says so, and asks the
// session to end once its time is over.
func TestSuspendedSupervisor(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	r, _ := b.dead("code", "fix")
	b.supervised.Store(true)
	b.suspended = true
	s, err := b.explain().Status(t.Context(), inspect.StatusOptions{})
	if err != nil || len(s.Open) != 1 || s.Open[0].State != fleet.RunSuspended {
		t.Errorf("got %+v, %v, want the run suspended", s.Open, err)
	}
	b.later(patience)
	if b.reap(); len(b.told) != 0 {
		t.Errorf("told %v to end in their time", b.told)
	}
	b.later(time.Second)
	if reaped, err := b.Reap(t.Context(), true); err != nil || len(reaped) != 0 || len(b.told) != 0 {
		t.Errorf("a dry run: closed %+v, told %v to end; %v", reaped, b.told, err)
	}
	if reaped := b.reap(); len(reaped) != 0 || len(b.ended) != 0 || !slices.Equal(b.told, []fleet.RunID{r.ID}) {
		t.Errorf("closed %+v, killed %v, told %v to end; want run %s told alone", reaped, b.ended, b.told, r.ID)
	}
}

// ending is sessions that do something when they are ended.
type ending struct {
	*bench
	do func()
}

func (e ending) End(ctx context.Context, r fleet.Run) error {
	e.do()
	return e.bench.End(ctx, r)
}

// TestWorkerThatNeverBegan is closed after the grace for a start, and a worker that
// comes later finds its run closed.
func TestWorkerThatNeverBegan(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.addTask("fix", "code", fleet.StateTodo)
	fired := must.Get(b.fire(engine.FanoutOptions{}))(t)
	id := b.runOf(fired, "code")
	b.later(time.Minute - time.Second)
	if reaped := b.reap(); reaped != nil {
		t.Errorf("closed a second too early: %+v", reaped)
	}
	b.later(time.Second)
	if reaped := b.reap(); len(reaped) != 1 || reaped[0].Run.ID != id {
		t.Errorf("closed %+v, want run %s", reaped, id)
	}
	if _, err := b.Run(t.Context(), engine.RunOptions{Run: id}); !errors.Is(err, fleet.ErrUsage) {
		t.Errorf("a worker that comes too late: %v, want it refused", err)
	}
	if keys := b.held(); keys != nil {
		t.Errorf("claims: %v", keys)
	}
}

// TestSessionThatCannotBeAsked keeps its claim until that expires, and no longer.
func TestSessionThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.addTask("fix", "docs", fleet.StateTodo)
	r, lock := b.dead("code", "fix")
	b.closeAll(lock)
	must.Do(t, os.RemoveAll(filepath.Dir(lock.Name())))
	b.later(time.Hour - time.Millisecond)
	if _, err := b.Run(t.Context(), engine.RunOptions{Category: "docs"}); outcome(err) != fleet.Idle {
		t.Errorf("before it expires: %v, want idle", err)
	}
	b.later(time.Millisecond)
	again, err := b.Run(t.Context(), engine.RunOptions{Category: "docs"})
	if err != nil || again.Epoch != 2 {
		t.Errorf("once it has expired: epoch %d, %v; want 2", again.Epoch, err)
	}
	if err := b.db.Complete(t.Context(), b.stored(r.ID)); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("a write under the old epoch: %v, want lost", err)
	}
}

// TestClockSteps sets the clock by a day, and by the two hours that other processes are off, under
// a session: nobody else gets its lane or its task while it lives, it comes to the same end as under
// a clock that is right, and everybody may have the task then.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour, 24 * time.Hour, -24 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, halfHour)
			b.Elapsed = machine.Elapsed // nobody sets that
			b.supervised.Store(true)
			b.addTask("fix", "code", fleet.StateTodo)
			b.addTask("other", "code", fleet.StateTodo)
			var beside, task error
			b.Runner = agent(func(ctx context.Context, _ fleet.SessionSpec) fleet.SessionExit {
				b.later(step)
				b.Runner = agent(nil)
				_, beside = b.Run(ctx, engine.RunOptions{Category: "code"})
				grant, _, err := b.db.Take(ctx, store.TakeRequest{Key: "fix", Holder: "another", TTL: time.Hour})
				if grant != fleet.Denied {
					task = fmt.Errorf("task %s to another: %w", grant, err)
				}
				if reaped, err := b.Reap(ctx, false); err != nil || reaped != nil {
					t.Errorf("reaped %+v, %v", reaped, err)
				}
				return fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"outcome":"productive","grade":1}`)}
			})
			_, err := b.Run(t.Context(), engine.RunOptions{Category: "code", Task: "fix"})
			if outcome(beside) != fleet.Busy || task != nil {
				t.Errorf("beside the session: %v, %v; want busy and denied", beside, task)
			}
			if graded := b.arm("code").Graded; err != nil || graded != 1 {
				t.Errorf("the session: %v, %d grades; want 1", err, graded)
			}
			again, err := b.Run(t.Context(), engine.RunOptions{Category: "code", Task: "fix"})
			if err != nil || again.Epoch != 2 {
				t.Errorf("the next session: epoch %d, %v; want 2", again.Epoch, err)
			}
		})
	}
}

// rival is a store in which the first tasks that workers want are taken by another
// between pick and claim.
type rival struct {
	store.Store
	holder fleet.Holder
	quick  int
	taken  []fleet.Key
}

func (s *rival) Begin(ctx context.Context, b store.Begin) (store.Begun, error) {
	for _, o := range b.Offers {
		if len(s.taken) < s.quick && !slices.Contains(s.taken, o.Key) {
			s.taken = append(s.taken, o.Key)
			if _, _, err := s.Take(ctx, store.TakeRequest{Key: o.Key, Holder: s.holder, TTL: time.Hour}); err != nil {
				return store.Begun{}, err
			}
		}
	}
	return s.Store.Begin(ctx, b)
}

// sixCategories: one has another agent, one other limits.
const sixCategories = `
[agent.other]
command = ["other"]
[category.code]
agents = ["fake"]
[category.docs]
agents = ["other", "fake"]
[category.large]
agents = ["fake"]
unit = { MemoryMax = "4G" }
[category.alien]
agents = ["other"]
[category.triage]
agents = ["fake"]
[category.news]
agents = ["fake"]
`

// TestPivots gives a worker of code denials, and follows where it goes.
func TestPivots(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config string
		denied int
		works  fleet.Category // in the end; empty: it gives up
		tried  []fleet.Category
	}{
		{"none", "", 0, "code", nil},
		{"once: the best with its limits and its agent", "", 1, "docs", []fleet.Category{"code"}},
		{"twice", "", 2, "triage", []fleet.Category{"code", "docs"}},
		{"more often than it may pivot", "", 9, "", []fleet.Category{"code", "docs", "triage"}},
		{"out of the allow-list", "[fanout]\nallow = [\"code\", \"triage\"]\n", 1, "triage", []fleet.Category{"code"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, tt.config+sixCategories)
			for _, c := range b.Config.CategoryNames() {
				b.addTask("a-"+string(c), c, fleet.StateTodo)
			}
			payload := `{"all_scores":{"code":9,"large":8,"alien":7,"docs":6,"triage":5,"news":4}}`
			fired := must.Get(b.fire(engine.FanoutOptions{Workers: 1, Payload: []byte(payload)}))(t)
			b.Runner = says(`{"outcome":"productive","grade":0.5}`)
			b.Store = &rival{Store: b.db, holder: "quick", quick: tt.denied}
			run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(fired, "code")})
			if tt.works == "" {
				if outcome(err) != fleet.RunDenied {
					t.Errorf("outcome: %v; want denied", err)
				}
			} else if err != nil || run.Category != tt.works {
				t.Errorf("worked in %s: %v; want %s", run.Category, err, tt.works)
			}
			for _, c := range b.Config.CategoryNames() {
				if c == tt.works { // the category that is really worked has the debit
					b.wantsGrades(c, 1, 0.5)
				} else {
					b.wantsGrades(c, 0)
				}
			}
			b.checkDenials(run.ID, tt.tried)
			b.checkRecord()
		})
	}
}

// checkDenials compares the categories in which a run was denied, each with its holder
// on record, and the lanes that it took: one a category, given back.
func (b *bench) checkDenials(id fleet.RunID, want []fleet.Category) {
	b.Helper()
	denials := must.Get(b.db.DeniedClaims(b.Context(), time.Time{}))(b)
	var got []fleet.Category
	for _, d := range denials {
		got = append(got, d.Category)
		if d.Run != id || d.Holder != "quick" || d.Key != fleet.Key("a-"+string(d.Category)) {
			b.Errorf("denial on record: %+v", d)
		}
	}
	must.Equal(b, "denied in", got, want)
	holds := must.Get(b.db.LaneHolds(b.Context(), time.Time{}))(b)
	if slices.ContainsFunc(holds, func(h fleet.LaneHold) bool { return h.ReleasedAt.IsZero() }) {
		b.Errorf("lanes not given back: %+v", holds)
	}
}

// TestPivotLeavesTheFamily offers a denied worker a sibling of the task it lost, and a
// stranger to it.
func TestPivotLeavesTheFamily(t *testing.T) {
	t.Parallel()
	for _, stranger := range []bool{false, true} {
		t.Run(fmt.Sprintf("stranger=%t", stranger), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, threeCategories)
			for id, c := range map[string]fleet.Category{"one": "code", "two": "docs"} {
				text := fmt.Sprintf("---\nstate: active\ncategory: %s\nfamily: release\n---\n", c)
				must.Do(t, os.WriteFile(filepath.Join(b.Config.Tasks.Dir, id+".md"), []byte(text), 0o600))
			}
			if stranger {
				b.addTask("unrelated", "docs", fleet.StateBacklog)
			}
			fired := must.Get(b.fire(engine.FanoutOptions{Workers: 1, Payload: []byte(`{"all_scores":{"code":2,"docs":1}}`)}))(t)
			b.Store = &rival{Store: b.db, holder: "quick", quick: 1}
			run, err := b.Run(t.Context(), engine.RunOptions{Run: b.runOf(fired, "code")})
			if stranger && (err != nil || run.Task != "unrelated") || !stranger && outcome(err) != fleet.RunDenied {
				t.Errorf("worked on %q, %v", run.Task, err)
			}
		})
	}
}

// TestDeniedWorkerTriesTheNextTask has others be quicker at the first tasks of a category with three
// lanes: the worker tries a task for each lane.
func TestDeniedWorkerTriesTheNextTask(t *testing.T) {
	t.Parallel()
	const family = "family: release\n"
	all := []fleet.TaskID{"a", "b", "c", "d"}
	tests := []struct {
		name   string
		tasks  []fleet.TaskID
		kin    string // of the first two tasks
		asked  fleet.TaskID
		denied int
		works  fleet.TaskID // in the end; empty: it is denied
		lost   []fleet.Key
	}{
		{"one is taken", all, "", "", 1, "b", []fleet.Key{"a"}},
		{"two are taken", all, "", "", 2, "c", []fleet.Key{"a", "b"}},
		{"as many as there are lanes", all, "", "", 9, "", []fleet.Key{"a", "b", "c"}},
		{"no other is left", all[:1], "", "", 1, "", []fleet.Key{"a"}},
		{"its family is left", all, family, "", 1, "c", []fleet.Key{"a"}},
		{"a person asks for the task", all, "", "a", 1, "", []fleet.Key{"a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "[category.code]\nlanes = 3\n")
			for i, id := range tt.tasks {
				b.addTask(string(id), "code", fleet.StateTodo)
				if i < 2 && tt.kin != "" {
					text := "---\nstate: todo\ncategory: code\n" + tt.kin + "---\n"
					must.Do(t, os.WriteFile(filepath.Join(b.Config.Tasks.Dir, string(id)+".md"), []byte(text), 0o600))
				}
			}
			b.Store = &rival{Store: b.db, holder: "quick", quick: tt.denied}
			run, err := b.Run(t.Context(), engine.RunOptions{Category: "code", Task: tt.asked})
			if tt.works == "" {
				if outcome(err) != fleet.RunDenied {
					t.Errorf("outcome: %v; want denied", err)
				}
			} else if err != nil || run.Task != tt.works {
				t.Errorf("worked on %q: %v; want %s", run.Task, err, tt.works)
			}
			var lost []fleet.Key
			for _, d := range must.Get(b.db.DeniedClaims(t.Context(), time.Time{}))(t) {
				lost = append(lost, d.Key)
			}
			must.Equal(t, "denied", lost, tt.lost)
			b.checkRecord()
		})
	}
}

// TestReapTrims finds what a run wrote whose supervisor died before it had trimmed that.
func TestReapTrims(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	r, lock := b.dead("code", "fix")
	files := fleet.FilesOf(b.Config.State, r.ID)
	big := filepath.Join(files.Out, "big")
	must.Do(t, errors.Join(os.Mkdir(files.Out, 0o700), os.WriteFile(files.Result, []byte("{}"), 0o600), os.WriteFile(big, nil, 0o600),
		os.Truncate(big, config.KeepOut)))
	b.reap()
	if _, err := os.Lstat(big); err != nil {
		t.Errorf("trimmed while it lives: %v", err)
	}
	must.Do(t, lock.Close())
	b.reap()
	if _, err := os.Lstat(big); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want it gone", err)
	}
	if _, err := os.Lstat(files.Result); err != nil {
		t.Error(err)
	}
}

// TestWorktreeOfSweptRun: once the files of a run are removed, nothing of it lives.
func TestWorktreeOfSweptRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, halfHour)
	b.addTask("fix", "code", fleet.StateTodo)
	run := must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
	over := map[fleet.RunID]bool{}
	b.Repo = tidier{ask: func(live func(fleet.RunID) bool) { over[run.ID], over["0stranger"] = live(run.ID), live("0stranger") }}
	b.Config.Fanout.Allow = nil
	for range 2 {
		if _, err := b.fire(engine.FanoutOptions{}); err != nil && !errors.Is(err, fleet.ErrNothing) {
			t.Fatal(err)
		}
		if !over[run.ID] || over["0stranger"] {
			t.Errorf("got %v, want the run over, and the one not on record left alone", over)
		}
		must.Do(t, os.RemoveAll(fleet.FilesOf(b.Config.State, run.ID).Dir))
	}
}

// tidier asks who is over.
type tidier struct {
	noRepo
	ask func(over func(fleet.RunID) bool)
}

func (r tidier) Tidy(_ context.Context, over func(fleet.RunID) bool) error {
	r.ask(over)
	return nil
}
