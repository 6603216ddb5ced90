package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// defaultTaskSource reads what bd prints (github.com/gastownhall/beads); other trackers' names
// are read as well where no two trackers mean different things by one.
func defaultTaskSource() TaskSource {
	return TaskSource{
		Timeout: 20 * time.Second, // several sources, all slow, leave a fire its minutes
		Fields: map[fleet.TaskField]string{
			fleet.FieldID:               "id",
			fleet.FieldTitle:            "title",
			fleet.FieldBody:             "description",
			fleet.FieldURL:              "url", // bd has none
			fleet.FieldState:            "status",
			fleet.FieldPriority:         "priority",
			fleet.FieldTags:             "labels",
			fleet.FieldCreated:          "created_at",
			fleet.FieldModified:         "updated_at",
			fleet.FieldAssignedTo:       "assignee",
			fleet.FieldSuccessCriterion: "acceptance_criteria",
			fleet.FieldWait:             "defer_until",
		},
		States: map[string]fleet.TaskState{
			"open":        fleet.StateTodo,
			"in_progress": fleet.StateActive,
			"hooked":      fleet.StateActive, // claimed by a worker of bd's own
			"blocked":     fleet.StateWaiting,
			"deferred":    fleet.StateSomeday,
			"pinned":      fleet.StateSomeday, // a note that stays open, not work
			"closed":      fleet.StateDone,
			"tombstone":   fleet.StateCancelled, // deleted
		},
		Priorities: map[string]fleet.Priority{
			"0": fleet.PriorityUrgent,
			"1": fleet.PriorityHigh,
			"2": fleet.PriorityMedium,
			"3": fleet.PriorityLow,
			"4": fleet.PriorityLow, // bd's backlog
		},
	}
}

func (r *reader) taskSources(file *table, categories map[fleet.Category]Category) map[string]TaskSource {
	var sources map[string]TaskSource
	for name, t := range file.children() {
		if !isPlainName(name) {
			r.report(t.key,
				errors.New("a source's name is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -"),
				"rename it, as in [tasks.source.beads]")
		}
		if sources == nil {
			sources = map[string]TaskSource{}
		}
		sources[name] = r.taskSource(t, categories)
	}
	return sources
}

// taskSource adds the file's fields, states and priorities to the default ones.
func (r *reader) taskSource(t *table, categories map[fleet.Category]Category) TaskSource {
	s := defaultTaskSource()
	s.Command = t.command(1)
	if !t.has("command") {
		t.missing("command", `write command = ["bd", "ready", "--json", "--limit", "1000"]`)
	}
	s.Timeout = get(t, "timeout", s.Timeout, duration())
	s.Category = get(t, "category", s.Category, rule[fleet.Category]{`"…"`, func(value any) (fleet.Category, error) {
		word, err := text().parse(value)
		if err == nil && word != "" {
			err = checkCategory(word, categories)
		}
		return fleet.Category(word), err
	}})
	maps.Copy(s.Fields, taskFields(t, fleet.TaskFields()))
	maps.Copy(s.States, translations(t, "states", fleet.ParseTaskState))
	maps.Copy(s.Priorities, translations(t, "priorities", fleet.ParsePriority))
	for _, call := range taskCalls() {
		if words := t.list(string(call), 0, program()); len(words) > 0 {
			if s.Calls == nil {
				s.Calls = map[fleet.TaskCall][]string{}
			}
			s.Calls[call] = words
		}
	}
	t.close()
	return s
}

// taskCalls are what a tracker can be told.
func taskCalls() []fleet.TaskCall {
	return []fleet.TaskCall{fleet.CallStart, fleet.CallDone, fleet.CallRelease}
}

func taskFields(t *table, all []fleet.TaskField) map[fleet.TaskField]string {
	known := mapped(all, func(f fleet.TaskField) string { return string(f) })
	fields := map[fleet.TaskField]string{}
	for name, path := range t.pairs("fields", func(name, path string) error {
		if !slices.Contains(known, name) {
			return fleet.WithHint(errors.New("unknown field"), meant(name, known))
		}
		return checkFieldPath(path)
	}) {
		fields[fleet.TaskField(name)] = path
	}
	return fields
}

// checkFieldPath accepts names joined by dots, or nothing.
func checkFieldPath(path string) error {
	if path != "" && slices.Contains(strings.Split(path, "."), "") {
		return fleet.WithHint(fmt.Errorf("%s: an empty name in a path", describe(path)), `write a path such as "labels.name"`)
	}
	return nil
}

// translations reads a table from a tracker's words to stint's.
func translations[T any](t *table, name string, parse func(string) (T, error)) map[string]T {
	table := map[string]T{}
	words := t.pairs(name, func(_, word string) error {
		if word == "" {
			return errors.New("want a word, not an empty string")
		}
		_, err := parse(word)
		return err
	})
	for theirs, ours := range words {
		if value, err := parse(ours); err == nil && ours != "" {
			table[theirs] = value
		}
	}
	return table
}

// program checks the elements of a command, of which the first is a program.
func program() func(string) error {
	first := true
	return func(word string) error {
		defer func() { first = false }()
		if first && word == "" {
			return errors.New("want a program, not an empty string")
		}
		return nil
	}
}

func (v *values) addTaskSource(name string, s TaskSource) {
	v.add(s.Command, "tasks", "source", name, "command")
	for _, call := range taskCalls() {
		v.add(s.Calls[call], "tasks", "source", name, string(call))
	}
	v.add(s.Timeout, "tasks", "source", name, "timeout")
	v.add(string(s.Category), "tasks", "source", name, "category")
	v.addTaskMaps(s.Fields, s.States, s.Priorities, "tasks", "source", name)
}

// addTaskMaps adds what fields and words mean in a folder or a tracker.
func (v *values) addTaskMaps(fields map[fleet.TaskField]string, states map[string]fleet.TaskState, priorities map[string]fleet.Priority, key ...string) {
	for _, field := range fleet.TaskFields() {
		if path, ok := fields[field]; ok {
			v.add(path, append(slices.Clone(key), "fields", string(field))...)
		}
	}
	addTable(v, states, func(state fleet.TaskState) any { return string(state) }, append(slices.Clone(key), "states")...)
	addTable(v, priorities, func(p fleet.Priority) any { return string(p) }, append(slices.Clone(key), "priorities")...)
}
