package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"stint/internal/cli"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/store"
	"stint/internal/testkit/storekit"
)

// The variables that crashstint reads.
const (
	crashStop   = "STINT_CRASH_STOP"     // where it kills itself, as "before Store.AddRun"
	crashLater  = "STINT_CRASH_LATER"    // how much later it is
	crashClock  = "STINT_CRASH_CLOCK"    // how far the machine's clock is off
	crashRival  = "STINT_CRASH_RIVAL"    // set: this holder takes a run's claim right before it
	crashChance = "STINT_CRASH_WITHHOLD" // how often sessions do without a lesson
	crashGate   = "STINT_CRASH_GATE"     // set: it waits until descriptor 3 ends
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
	s.Elapsed = func() time.Duration { return machine.Elapsed() + later }
	withhold, err := strconv.ParseFloat(os.Getenv(crashChance), 64)
	s.Tamper = func(e *engine.Engine) {
		if err == nil {
			e.Withhold = withhold
		}
		stop := stop(os.Getenv(crashStop))
		if e.Store != nil { // something has run
			writes := storekit.Around(e.Store, func(write string, do func() error) error { return stop.around("Store."+write, do) })
			e.Store = crashStore{writes, stop, fleet.Holder(os.Getenv(crashRival))}
		}
		e.Sources = crashSources{e.Sources, stop}
		e.Lanes = crashLanes{e.Lanes, stop}
		e.Stopper = crashStopper{e.Stopper, stop}
		e.Runner = crashRunner{e.Runner, stop}
		e.Later = crashTimers{stop}
		e.Folders = crashFolders{e.Folders, stop}
		e.TargetBranch = crashTrunk{e.TargetBranch, stop}
		e.Graders = crashGraders{e.Graders, stop}
		if e.Publisher != nil {
			e.Publisher = crashHook{e.Publisher, stop}
		}
	}
	os.Exit(cli.Main(os.Args[1:], s))
}

// stop names the place where the process kills itself: "before" or "after", and a call. After means
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

// answer is around for a call that has an answer.
func answer[T any](s stop, call string, do func() (T, error)) (got T, err error) {
	err = s.around(call, func() error {
		got, err = do()
		return err
	})
	return got, err
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

func (c crashStore) Begin(ctx context.Context, b store.Begin) (store.Begun, error) {
	for _, o := range b.Offers {
		if c.rival != "" {
			if _, _, err := c.Store.Take(ctx, store.TakeRequest{Key: o.Key, Holder: c.rival, Renews: true, TTL: time.Hour}); err != nil {
				return store.Begun{}, err
			}
		}
	}
	return c.Store.Begin(ctx, b)
}

func (c crashStore) SaveReview(ctx context.Context, r fleet.Review) error {
	call := "Store.SaveReview checked"
	if r.Decision != "" {
		call = "Store.SaveReview " + string(r.Decision)
	}
	return c.stop.around(call, func() error { return c.Store.SaveReview(ctx, r) })
}

type crashSources struct {
	engine.Sources
	stop stop
}

func (c crashSources) SetState(ctx context.Context, id fleet.TaskID, s fleet.TaskState) (bool, error) {
	return answer(c.stop, "Sources.SetState", func() (bool, error) { return c.Sources.SetState(ctx, id, s) })
}

func (c crashSources) Call(ctx context.Context, what fleet.TaskCall, t fleet.Task, run fleet.RunID, reason string) error {
	return c.stop.around("Sources.Call", func() error {
		return c.stop.around("Sources.Call "+string(what), func() error { return c.Sources.Call(ctx, what, t, run, reason) })
	})
}

type crashFolders struct {
	engine.Folders
	stop stop
}

func (c crashFolders) Trim(run fleet.RunID) (bool, error) {
	return answer(c.stop, "Folders.Trim", func() (bool, error) { return c.Folders.Trim(run) })
}

func (c crashFolders) PutEnd(r fleet.Run) error {
	return c.stop.around("Folders.PutEnd", func() error { return c.Folders.PutEnd(r) })
}

type crashLanes struct {
	engine.Lanes
	stop stop
}

func (c crashLanes) Take(category fleet.Category, lane int, run fleet.RunID) (fleet.Lane, error) {
	l, err := answer(c.stop, "Lanes.Take", func() (fleet.Lane, error) { return c.Lanes.Take(category, lane, run) })
	if release := l.Release; release != nil {
		l.Release = func() error { return c.stop.around("Lane.Release", release) }
	}
	return l, err
}

func (c crashLanes) Live(run fleet.RunID) (*os.File, error) {
	return answer(c.stop, "Lanes.Live", func() (*os.File, error) { return c.Lanes.Live(run) })
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

func (c crashRunner) Run(ctx context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	return answer(c.stop, "Runner.Run", func() (fleet.SessionExit, error) { return c.Runner.Run(ctx, s) })
}

// crashTimers are timers that never elapse: no manager is needed for them.
type crashTimers struct{ stop stop }

func (c crashTimers) StartAfter(context.Context, fleet.UnitSpec, time.Duration) error {
	return c.stop.around("Later.StartAfter", func() error { return nil })
}

func (c crashTimers) FireAt(context.Context, string, time.Time) error { return nil }

type crashTrunk struct {
	engine.TargetBranch
	stop stop
}

func (c crashTrunk) Landings(doing string) (func() error, error) {
	return answer(c.stop, "TargetBranch.Landings", func() (func() error, error) { return c.TargetBranch.Landings(doing) })
}

func (c crashTrunk) Stack(ctx context.Context, l fleet.Landing) (fleet.Stacked, error) {
	return answer(c.stop, "TargetBranch.Stack", func() (fleet.Stacked, error) { return c.TargetBranch.Stack(ctx, l) })
}

func (c crashTrunk) Advance(ctx context.Context, s fleet.Stacked) (bool, error) {
	return answer(c.stop, "TargetBranch.Advance", func() (bool, error) { return c.TargetBranch.Advance(ctx, s) })
}

func (c crashTrunk) Drop(ctx context.Context, l fleet.Landing) (string, error) {
	return answer(c.stop, "TargetBranch.Drop", func() (string, error) { return c.TargetBranch.Drop(ctx, l) })
}

func (c crashTrunk) Unstack(ctx context.Context) error {
	return c.stop.around("TargetBranch.Unstack", func() error { return c.TargetBranch.Unstack(ctx) })
}

func (c crashTrunk) Push(ctx context.Context, l fleet.Landing, before string) (string, error) {
	return answer(c.stop, "TargetBranch.Push", func() (string, error) { return c.TargetBranch.Push(ctx, l, before) })
}

func (c crashTrunk) PushTarget(ctx context.Context) (string, error) {
	return answer(c.stop, "TargetBranch.PushTarget", func() (string, error) { return c.TargetBranch.PushTarget(ctx) })
}

type crashGraders struct {
	engine.Graders
	stop stop
}

func (c crashGraders) Check(ctx context.Context, q engine.Question) (string, error) {
	return answer(c.stop, "Graders.Check", func() (string, error) { return c.Graders.Check(ctx, q) })
}

type crashHook struct {
	engine.Hook
	stop stop
}

func (c crashHook) Ask(ctx context.Context, question []byte, argv ...string) ([]byte, error) {
	return answer(c.stop, "Hook.Ask", func() ([]byte, error) { return c.Hook.Ask(ctx, question, argv...) })
}
