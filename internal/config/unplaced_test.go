package config

import (
	"testing"

	"stint/internal/fleet"
)

// TestUnplaced names a category that is missing, for tasks that somebody may still do.
func TestUnplaced(t *testing.T) {
	t.Parallel()
	c := Config{Categories: map[fleet.Category]Category{"code": {}}}
	const missing = "no [category.cod] in the configuration: add it, or correct the task"
	for _, tt := range []struct {
		category fleet.Category
		state    fleet.TaskState
		want     string
	}{
		{"code", fleet.StateTodo, ""},
		{"cod", fleet.StateTodo, missing},
		{"cod", fleet.StateActive, missing},
		{"cod", fleet.StateDone, ""},
		{"cod", fleet.StateCancelled, ""},
	} {
		if got := c.Unplaced(fleet.Task{Category: tt.category, State: tt.state}); got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.state, tt.category, got, tt.want)
		}
	}
}
