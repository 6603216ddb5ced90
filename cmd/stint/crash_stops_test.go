package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"stint/internal/cli"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/host"
	"stint/internal/store"
)

// The variables that crashstint reads.
const (
	crashStop  = "STINT_CRASH_STOP"  // where it kills itself, as "before Store.AddRun"
	crashLater = "STINT_CRASH_LATER" // how much later it is
	crashClock = "STINT_CRASH_CLOCK" // how far the machine's clock is off
	crashRival = "STINT_CRASH_RIVAL" // set: this holder takes a run's claim right before it
	crashGate  = "STINT_CRASH_GATE"  // set: it waits until descriptor 3 ends
)

// crashstint is stint, except for the faults that its environment asks for.
func crashstint() {
	if os.Getenv(crashGate) != "" {
		if _, err := io.ReadAll(os.NewFile(3, "gate")); err != nil {
			fmt.Fprintln(os.Stderr, "crashstint: gate:", err)
			os.Exit(99)
		}
	}
	s := cli.Process()
	later, _ := time.ParseDuration(os.Getenv(crashLater))
	off, _ := time.ParseDuration(os.Getenv(crashClock))
	s.Now = func() time.Time { return time.Now().Add(later + off) }
	s.Elapsed = func() time.Duration { return host.Elapsed() + later }
	s.Tamper = func(e *engine.Engine) {
		stop := stop(os.Getenv(crashStop))
		e.Store = crashStore{Store: e.Store, stop: stop, rival: fleet.Holder(os.Getenv(crashRival))}
		e.Sources = crashSources{e.Sources, stop}
		e.Repo = crashRepo{e.Repo, stop}
		e.Lanes = crashLanes{e.Lanes, stop}
		e.Stopper = crashStopper{e.Stopper, stop}
		e.Runner = crashRunner{e.Runner, stop}
		e.Later = crashTimers{stop}
		e.Folders = crashFolders{e.Folders, stop}
		e.Trunk = crashTrunk{e.Trunk, stop}
		e.Graders = crashGraders{e.Graders, stop}
		if e.Publisher != nil {
			e.Publisher = crashPublisher{e.Publisher, stop}
		}
	}
	os.Exit(cli.Main(os.Args[1:], s))
}

// stop is where the process kills itself: "before" or "after", and a call. After means
// that the call took effect.
type stop string

func (s stop) around(call string, do func() error) error {
	s.at("before " + call)
	err := do()
	if err == nil {
		s.at("after " + call)
	}
	return err
}

func (s stop) at(here string) {
	if string(s) == here {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // The signal is on its way.
	}
}

type crashStore struct {
	store.Store
	stop  stop
	rival fleet.Holder
}

func (c crashStore) RecordFire(ctx context.Context, f store.Firing) (fire fleet.Fire, err error) {
	err = c.stop.around("Store.RecordFire", func() error {
		fire, err = c.Store.RecordFire(ctx, f)
		return err
	})
	return fire, err
}

func (c crashStore) NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (closed bool, err error) {
	err = c.stop.around("Store.NotStarted", func() error {
		closed, err = c.Store.NotStarted(ctx, fire, run, reason)
		return err
	})
	return closed, err
}

func (c crashStore) AddRun(ctx context.Context, r fleet.Run) error {
	return c.stop.around("Store.AddRun", func() error { return c.Store.AddRun(ctx, r) })
}

func (c crashStore) BeginRun(ctx context.Context, id fleet.RunID, pid int) error {
	return c.stop.around("Store.BeginRun", func() error { return c.Store.BeginRun(ctx, id, pid) })
}

func (c crashStore) LaneTaken(ctx context.Context, l store.LaneTake) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = c.stop.around("Store.LaneTaken", func() error {
		grant, claim, err = c.Store.LaneTaken(ctx, l)
		return err
	})
	return grant, claim, err
}

func (c crashStore) OnBranch(ctx context.Context, id fleet.RunID, branch string) error {
	return c.stop.around("Store.OnBranch", func() error { return c.Store.OnBranch(ctx, id, branch) })
}

func (c crashStore) LaneReleased(ctx context.Context, id fleet.RunID) error {
	return c.stop.around("Store.LaneReleased", func() error { return c.Store.LaneReleased(ctx, id) })
}

func (c crashStore) TakeForRun(ctx context.Context, r store.RunTake) (grant fleet.Grant, claim fleet.Claim, err error) {
	if c.rival != "" {
		if _, _, err := c.Store.Take(ctx, store.TakeRequest{Key: r.Key, Holder: c.rival, Renews: true, TTL: time.Hour}); err != nil {
			return "", fleet.Claim{}, err
		}
	}
	err = c.stop.around("Store.TakeForRun", func() error {
		grant, claim, err = c.Store.TakeForRun(ctx, r)
		return err
	})
	return grant, claim, err
}

func (c crashStore) AddFates(ctx context.Context, list []fleet.Fate) (news []fleet.Fate, err error) {
	err = c.stop.around("Store.AddFates", func() error { news, err = c.Store.AddFates(ctx, list); return err })
	return news, err
}

func (c crashStore) MoveEdge(ctx context.Context, cut store.Cut) (moved bool, err error) {
	err = c.stop.around("Store.MoveEdge", func() error { moved, err = c.Store.MoveEdge(ctx, cut); return err })
	return moved, err
}

func (c crashStore) Forget(ctx context.Context, before time.Time) (n int, err error) {
	err = c.stop.around("Store.Forget", func() error { n, err = c.Store.Forget(ctx, before); return err })
	return n, err
}

func (c crashStore) SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error {
	return c.stop.around("Store.SeePlaces", func() error { return c.Store.SeePlaces(ctx, at, list) })
}

func (c crashStore) Renew(ctx context.Context, h store.Hold, ttl time.Duration) (kept store.Kept, err error) {
	err = c.stop.around("Store.Renew", func() error {
		kept, err = c.Store.Renew(ctx, h, ttl)
		return err
	})
	return kept, err
}

func (c crashStore) ReleaseHolder(ctx context.Context, h fleet.Holder, ending fleet.Ending) error {
	return c.stop.around("Store.ReleaseHolder", func() error { return c.Store.ReleaseHolder(ctx, h, ending) })
}

func (c crashStore) Denied(ctx context.Context, d fleet.DeniedClaim) error {
	return c.stop.around("Store.Denied", func() error { return c.Store.Denied(ctx, d) })
}

func (c crashStore) Complete(ctx context.Context, r fleet.Run) error {
	return c.stop.around("Store.Complete", func() error { return c.Store.Complete(ctx, r) })
}

func (c crashStore) EndRun(ctx context.Context, r fleet.Run) error {
	return c.stop.around("Store.EndRun", func() error { return c.Store.EndRun(ctx, r) })
}

func (c crashStore) Abandon(ctx context.Context, g store.Gone) (left bool, err error) {
	err = c.stop.around("Store.Abandon", func() error {
		left, err = c.Store.Abandon(ctx, g)
		return err
	})
	return left, err
}

func (c crashStore) SaveFeedback(ctx context.Context, f fleet.Feedback) error {
	return c.stop.around("Store.SaveFeedback", func() error { return c.Store.SaveFeedback(ctx, f) })
}

func (c crashStore) LeaveTask(ctx context.Context, h store.Hold, m fleet.TaskMemory) error {
	return c.stop.around("Store.LeaveTask", func() error { return c.Store.LeaveTask(ctx, h, m) })
}

func (c crashStore) SaveReview(ctx context.Context, r fleet.Review) error {
	call := "Store.SaveReview checked"
	if r.Decision != "" {
		call = "Store.SaveReview " + string(r.Decision)
	}
	return c.stop.around(call, func() error { return c.Store.SaveReview(ctx, r) })
}

func (c crashStore) Take(ctx context.Context, r store.TakeRequest) (grant fleet.Grant, claim fleet.Claim, err error) {
	err = c.stop.around("Store.Take", func() error {
		grant, claim, err = c.Store.Take(ctx, r)
		return err
	})
	return grant, claim, err
}

func (c crashStore) Release(ctx context.Context, h store.Hold, ending fleet.Ending, reason string) (claim fleet.Claim, err error) {
	err = c.stop.around("Store.Release", func() error {
		claim, err = c.Store.Release(ctx, h, ending, reason)
		return err
	})
	return claim, err
}

func (c crashStore) SeeTasks(ctx context.Context, list []store.TaskSight) error {
	return c.stop.around("Store.SeeTasks", func() error { return c.Store.SeeTasks(ctx, list) })
}

func (c crashStore) Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b store.Bounds) (by fleet.RunID, why string, err error) {
	err = c.stop.around("Store.Respawn", func() error {
		by, why, err = c.Store.Respawn(ctx, run, next, reason, b)
		return err
	})
	return by, why, err
}

type crashSources struct {
	engine.Sources
	stop stop
}

func (c crashSources) Call(ctx context.Context, what fleet.TaskCall, t fleet.Task, run fleet.RunID, reason string) error {
	return c.stop.around("Sources.Call", func() error {
		return c.stop.around("Sources.Call "+string(what), func() error { return c.Sources.Call(ctx, what, t, run, reason) })
	})
}

type crashRepo struct {
	engine.Repo
	stop stop
}

func (c crashRepo) Record(ctx context.Context, run fleet.RunID, e fleet.FileEdit) (branch string, err error) {
	write := e.Write
	e.Write = func(path string) (changed bool, err error) {
		err = c.stop.around("FileEdit.Write", func() error {
			changed, err = write(path)
			return err
		})
		return changed, err
	}
	err = c.stop.around("Repo.Record", func() error {
		branch, err = c.Repo.Record(ctx, run, e)
		return err
	})
	return branch, err
}

type crashFolders struct {
	engine.Folders
	stop stop
}

func (c crashFolders) Trim(run fleet.RunID) (trimmed bool, err error) {
	err = c.stop.around("Folders.Trim", func() error {
		trimmed, err = c.Folders.Trim(run)
		return err
	})
	return trimmed, err
}

func (c crashFolders) PutEnd(r fleet.Run) error {
	return c.stop.around("Folders.PutEnd", func() error { return c.Folders.PutEnd(r) })
}

type crashLanes struct {
	engine.Lanes
	stop stop
}

func (c crashLanes) Take(category fleet.Category, lane int, run fleet.RunID) (l fleet.Lane, err error) {
	err = c.stop.around("Lanes.Take", func() error {
		l, err = c.Lanes.Take(category, lane, run)
		return err
	})
	if release := l.Release; release != nil {
		l.Release = func() error { return c.stop.around("Lane.Release", release) }
	}
	return l, err
}

func (c crashLanes) Live(run fleet.RunID) (f *os.File, err error) {
	err = c.stop.around("Lanes.Live", func() error {
		f, err = c.Lanes.Live(run)
		return err
	})
	return f, err
}

type crashStopper struct {
	engine.Stopper
	stop stop
}

func (c crashStopper) End(ctx context.Context, r fleet.Run) error {
	return c.stop.around("Stopper.End", func() error { return c.Stopper.End(ctx, r) })
}

type crashRunner struct {
	engine.Runner
	stop stop
}

func (c crashRunner) Run(ctx context.Context, s fleet.SessionSpec) (exit fleet.SessionExit, err error) {
	err = c.stop.around("Runner.Run", func() error {
		exit, err = c.Runner.Run(ctx, s)
		return err
	})
	return exit, err
}

// crashTimers are timers that never elapse: no manager is needed for them.
type crashTimers struct{ stop stop }

func (c crashTimers) StartAfter(context.Context, fleet.UnitSpec, time.Duration) error {
	return c.stop.around("Later.StartAfter", func() error { return nil })
}

type crashTrunk struct {
	engine.Trunk
	stop stop
}

func (c crashTrunk) Landings(doing string) (end func() error, err error) {
	err = c.stop.around("Trunk.Landings", func() error {
		end, err = c.Trunk.Landings(doing)
		return err
	})
	return end, err
}

func (c crashTrunk) Stack(ctx context.Context, l fleet.Landing) (s fleet.Stacked, err error) {
	err = c.stop.around("Trunk.Stack", func() error {
		s, err = c.Trunk.Stack(ctx, l)
		return err
	})
	return s, err
}

func (c crashTrunk) Advance(ctx context.Context, s fleet.Stacked) (moved bool, err error) {
	err = c.stop.around("Trunk.Advance", func() error {
		moved, err = c.Trunk.Advance(ctx, s)
		return err
	})
	return moved, err
}

func (c crashTrunk) Drop(ctx context.Context, l fleet.Landing) (kept string, err error) {
	err = c.stop.around("Trunk.Drop", func() error {
		kept, err = c.Trunk.Drop(ctx, l)
		return err
	})
	return kept, err
}

func (c crashTrunk) Unstack(ctx context.Context) error {
	return c.stop.around("Trunk.Unstack", func() error { return c.Trunk.Unstack(ctx) })
}

func (c crashTrunk) Push(ctx context.Context, l fleet.Landing, before string) (remote string, err error) {
	err = c.stop.around("Trunk.Push", func() error {
		remote, err = c.Trunk.Push(ctx, l, before)
		return err
	})
	return remote, err
}

type crashGraders struct {
	engine.Graders
	stop stop
}

func (c crashGraders) Check(ctx context.Context, q engine.Question) (failure string, err error) {
	err = c.stop.around("Graders.Check", func() error {
		failure, err = c.Graders.Check(ctx, q)
		return err
	})
	return failure, err
}

type crashPublisher struct {
	engine.Publisher
	stop stop
}

func (c crashPublisher) Publish(ctx context.Context, argv []string, summary []byte) (printed []byte, err error) {
	err = c.stop.around("Publisher.Publish", func() error {
		printed, err = c.Publisher.Publish(ctx, argv, summary)
		return err
	})
	return printed, err
}
