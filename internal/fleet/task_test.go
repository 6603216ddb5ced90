package fleet

import (
	"slices"
	"testing"
)

func TestParseTaskState(t *testing.T) {
	t.Parallel()
	aliases := map[string]TaskState{"": StateBacklog, "new": StateBacklog, "paused": StateBacklog}
	for _, s := range TaskStates() {
		aliases[string(s)] = s
	}
	for text, want := range aliases {
		if got, err := ParseTaskState(text); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"Done", "done ", "finished"} {
		if got, err := ParseTaskState(text); err == nil {
			t.Errorf("%q: got %q, want an error", text, got)
		}
	}
}

func TestTaskStates(t *testing.T) {
	t.Parallel()
	workable := []TaskState{StateActive, StateTodo, StateBacklog}
	settled := []TaskState{StateDone, StateCancelled}
	for _, s := range TaskStates() {
		if got, want := s.Workable(), slices.Contains(workable, s); got != want {
			t.Errorf("%s: got workable %v, want %v", s, got, want)
		}
		if got, want := s.Settled(), slices.Contains(settled, s); got != want {
			t.Errorf("%s: got settled %v, want %v", s, got, want)
		}
	}
}

func TestPriorities(t *testing.T) {
	t.Parallel()
	for i, text := range []string{"urgent", "high", "medium", "low"} {
		p, err := ParsePriority(text)
		if err != nil || p.Rank() != i {
			t.Errorf("%s: got rank %d, %v, want %d", text, p.Rank(), err, i)
		}
	}
	if got, err := ParsePriority(""); got != PriorityMedium || err != nil {
		t.Errorf("no priority: got %q, %v, want medium", got, err)
	}
	if got, err := ParsePriority("P1"); err == nil {
		t.Errorf("P1: got %q, want an error", got)
	}
	if got, want := Priority("").Rank(), PriorityMedium.Rank(); got != want {
		t.Errorf("unset: got rank %d, want %d", got, want)
	}
}

func TestTaskProblem(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]TaskProblem{
		"a.md: is empty":        {Path: "a.md", Reason: "is empty"},
		"a.md:3: state unknown": {Path: "a.md", Line: 3, Reason: "state unknown"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
