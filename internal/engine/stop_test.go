package engine_test

import (
	"errors"
	"slices"
	"testing"

	"stint/internal/engine"
	"stint/internal/fleet"
)

func TestStop(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		supervised bool
		gone       bool // nothing of it lives
		deaf       bool // nor can be ended
		told       int
		ended      int
		refused    bool
		outcome    fleet.Outcome
	}{
		{name: "at work", supervised: true, told: 1},
		{name: "supervisor killed", ended: 1, outcome: fleet.Abandoned},
		{name: "supervisor killed, does not die", ended: 1, deaf: true, refused: true},
		{name: "dead", gone: true, outcome: fleet.Abandoned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, threeCategories)
			r, lock := b.dead("code", "fix")
			b.supervised = tt.supervised
			if tt.gone {
				b.closeAll(lock)
			}
			b.Sessions = ending{b, func() {
				if !tt.deaf {
					b.closeAll(lock)
				}
			}}
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
	report, err := b.fire(engine.FanoutOptions{})
	if err != nil {
		t.Fatal(err)
	}
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
