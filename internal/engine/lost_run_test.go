package engine_test

import (
	"context"
	"errors"
	"testing"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/store"
)

// forgetful is a store that went back, behind when the run was planned, once its session has ended.
type forgetful struct{ store.Store }

func (f forgetful) Run(context.Context, fleet.RunID) (fleet.Run, error) {
	return fleet.Run{}, fleet.ErrNotFound
}

func TestRunThatTheStoreLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.Store = forgetful{b.db}
	_, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
	if !errors.Is(err, fleet.ErrLost) || errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("got %v; want that it is lost, for nobody gave a wrong name", err)
	}
}

// leaving is a workspace that nobody enters before the session is stopped.
type leaving struct {
	noRepo
	stop func()
}

func (l leaving) Enter(ctx context.Context, _ fleet.RunID, _ fleet.Place) (fleet.Site, func(context.Context) (string, error), error) {
	l.stop()
	return fleet.Site{}, nil, ctx.Err()
}

func TestStoppedEarlySaysByWhat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by   error
		want string
	}{
		{errors.New("stopped by signal: hangup"), "stopped by signal: hangup before the agent began"},
		{nil, "stopped before the agent began"},
	} {
		b := newBench(t, threeCategories)
		b.addTask("fix", "code", fleet.StateTodo)
		ctx, cancel := context.WithCancelCause(t.Context())
		b.Repo = leaving{stop: func() { cancel(c.by) }}
		run, _ := b.Run(ctx, engine.RunOptions{Category: "code"})
		if got := b.stored(run.ID).Verdict; got.Outcome != fleet.Cancelled || got.Reason != c.want {
			t.Errorf("stopped by %v: %+v, want %q", c.by, got, c.want)
		}
	}
}
