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
