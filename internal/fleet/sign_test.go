package fleet_test

import (
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
)

// TestSigns have a word, a mark and a mood that is listed.
func TestSigns(t *testing.T) {
	t.Parallel()
	for _, s := range []fleet.RunState{fleet.RunRunning, fleet.RunPlanned, fleet.RunWaiting, fleet.RunCrashed, fleet.RunSuspended} {
		if got := (fleet.RunStatus{State: s}).Sign(); got.Word != string(s) || got.Mark == "" {
			t.Errorf("%s: got %+v, want its own word and a mark", s, got)
		}
	}
	for _, o := range fleet.Outcomes() {
		s := o.Sign()
		if s.Word != string(o) || s.Mark == "" || !slices.Contains(fleet.Moods(), s.Mood) {
			t.Errorf("%s: got %+v, want its own word, a mark and a mood that is listed", o, s)
		}
	}
	if got := fleet.Outcome("").Sign(); got != (fleet.RunStatus{State: fleet.RunRunning}).Sign() {
		t.Errorf("without an outcome: got %+v, want that of a run under way", got)
	}
}

// TestRunState is decided by the first that holds.
func TestRunState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	const live, suspended, gone = 1, 2, 0
	for _, tt := range []struct {
		run  fleet.Run
		p    int
		want fleet.RunState
	}{
		{fleet.Run{}, live, fleet.RunPlanned},
		{fleet.Run{NotBefore: now}, live, fleet.RunPlanned},
		{fleet.Run{NotBefore: now.Add(time.Second)}, live, fleet.RunWaiting},
		{fleet.Run{NotBefore: now.Add(time.Second)}, gone, fleet.RunCrashed},
		{fleet.Run{StartedAt: now, NotBefore: now.Add(time.Second)}, live, fleet.RunRunning},
		{fleet.Run{StartedAt: now}, suspended, fleet.RunSuspended},
		{fleet.Run{StartedAt: now}, gone, fleet.RunCrashed},
		{fleet.Run{StartedAt: now, EndedAt: now}, live, fleet.RunEnded},
		{fleet.Run{EndedAt: now}, gone, fleet.RunEnded},
	} {
		if got := tt.run.State(tt.p != gone, tt.p == suspended, now); got != tt.want {
			t.Errorf("%+v, %d: got %s, want %s", tt.run, tt.p, got, tt.want)
		}
	}
}
