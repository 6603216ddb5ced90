package config

import (
	"maps"
	"slices"

	"stint/internal/fleet"
)

// taskFormat is the preset for reading the task files of another program.
type taskFormat struct {
	dir        string // where their program keeps them, relative to the workspace
	fields     map[fleet.TaskField]string
	states     map[string]fleet.TaskState
	priorities map[string]fleet.Priority
	foreign    bool // stint's own words for states mean nothing there
}

// taskFormats are the presets. They leave out the names that are stint's own and that each
// format shares.
func taskFormats(name fleet.TaskFormat) taskFormat {
	switch name {
	case fleet.FormatGptme: // github.com/gptme/gptme-contrib, packages/gptodo
		return taskFormat{
			dir:        defaultTaskDir,
			states:     map[string]fleet.TaskState{"draft": fleet.StateSomeday, "someday": fleet.StateSomeday},
			priorities: map[string]fleet.Priority{"none": fleet.PriorityLow},
		}
	case fleet.FormatBacklog: // github.com/MrLesk/Backlog.md
		return taskFormat{
			dir: "backlog/tasks",
			fields: map[fleet.TaskField]string{
				fleet.FieldTitle:            "title",
				fleet.FieldState:            "status",
				fleet.FieldTags:             "labels",
				fleet.FieldCreated:          "created_date",
				fleet.FieldAssignedTo:       "assignee",
				fleet.FieldRequires:         "dependencies",
				fleet.FieldFamily:           "parent_task_id",
				fleet.FieldPaths:            "",
				fleet.FieldNextAction:       "",
				fleet.FieldSuccessCriterion: "", // its acceptance criteria are in the body
				fleet.FieldWait:             "",
				fleet.FieldWaitingFor:       "",
			},
			states: map[string]fleet.TaskState{
				"To Do": fleet.StateTodo, "In Progress": fleet.StateActive, "Done": fleet.StateDone,
			},
			priorities: map[string]fleet.Priority{
				"high": fleet.PriorityHigh, "medium": fleet.PriorityMedium, "low": fleet.PriorityLow,
			},
			foreign: true,
		}
	case fleet.FormatStint:
	}
	return taskFormat{dir: defaultTaskDir}
}

// defaultTaskDir is the tasks' folder of workspaces of stint's own kind.
const defaultTaskDir = "tasks"

// fileFields are the fields in a task file's front matter. Its id is its name.
func fileFields() []fleet.TaskField {
	return slices.DeleteFunc(fleet.TaskFields(), func(f fleet.TaskField) bool {
		return f == fleet.FieldID || f == fleet.FieldBody || f == fleet.FieldURL || f == fleet.FieldModified
	})
}

// addFormat adds to the file's fields, states and priorities those of its format. A field
// for the state that is not the format's has words of its own.
func (t *Tasks) addFormat() {
	preset, own := taskFormats(t.Format), t.States
	t.Fields = merged(preset.fields, t.Fields)
	if t.Fields[fleet.FieldState] != preset.fields[fleet.FieldState] && len(own) > 0 {
		preset.states, preset.foreign = nil, true
	}
	t.States = merged(preset.states, own)
	t.Priorities = merged(preset.priorities, t.Priorities)
	t.Foreign = preset.foreign
	t.Words = words(t.States, preset.states)
}

// words is the inverse of what states mean: the word to write for each state that has
// one. Words that are not the preset's go first, then stint's own, then the first by the
// alphabet.
func words(states, preset map[string]fleet.TaskState) map[fleet.TaskState]string {
	rank := func(word string) (n int) {
		if state, ok := preset[word]; ok && state == states[word] {
			n += 2
		}
		if word != string(states[word]) {
			n++
		}
		return n
	}
	list := slices.Sorted(maps.Keys(states))
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	var first map[fleet.TaskState]string
	for _, word := range list {
		if first == nil {
			first = map[fleet.TaskState]string{}
		}
		if _, given := first[states[word]]; !given {
			first[states[word]] = word
		}
	}
	return first
}

// merged is both maps, the second before the first; nil when they are empty.
func merged[K comparable, V any](base, over map[K]V) map[K]V {
	if len(base)+len(over) == 0 {
		return nil
	}
	both := map[K]V{}
	maps.Copy(both, base)
	maps.Copy(both, over)
	return both
}
