package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// defaultTaskSource reads what bd prints (github.com/gastownhall/beads); other trackers' names
// are read as well where no two trackers mean different things by one.
func defaultTaskSource() TaskSource {
	return TaskSource{
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

func (c *Config) taskKeys() []tomlfile.Key {
	t := &c.Tasks
	return []tomlfile.Key{
		tomlfile.Path("dir", &t.Dir, defaultTaskDir, &c.Workspace,
			`The folder of task files, relative to the workspace.`),
		tomlfile.Of("format", &t.Format, fleet.FormatStint, tomlfile.OneOf(fleet.TaskFormats()...),
			`The format of the files: stint, gptme or backlog.md. See: stint help tasks.`),
		taskFields(&t.Fields, fileFields(),
			`Other names for fields in the files, such as { state = "status" }; added to those of the format.`),
		taskStates(&t.States,
			`The meaning of the files' own words for states, such as { "In Review" = "ready_for_review" }; added to those of the format.`),
		taskPriorities(&t.Priorities,
			`The meaning of the files' own words for priorities, such as { none = "low" }; added to those of the format.`),
		tomlfile.Derived("default_category", &t.DefaultCategory, c.firstCategory, c.categoryName(),
			`The category of a task that names none. Left out, the first in this file.`),
		tomlfile.Of("tags", &t.Tags, nil, tomlfile.Words[string](nil, tomlfile.Entries[fleet.Category]{Rule: c.categoryName()}),
			`The category of a task that names none, by its tag, such as { docs = "research" }.`),
		tomlfile.Of("after", &t.After, string(fleet.StateReview), // what was done once is not done again, and a person looks at it
			tomlfile.OneOf(afterwards()...),
			`The state of a task after a productive session that set none: a task's state, or "keep" to leave it as
			it is, to be worked on once more.`),
		tomlfile.Of("raise_after", &t.RaiseAfter, 7*24*time.Hour, tomlfile.Pause(), // a low one is as urgent as any after three weeks, which people still remember
			`A waiting task gains one class of priority for each such time; "0s" is never.`),
		tomlfile.Of("most_sessions", &t.MostSessions, 8, tomlfile.Whole(0, 1000), // a day's work of sessions of 50 minutes
			`An open task on which more sessions than this have worked is reported; 0 is never.`),
		tomlfile.Family("source", &t.Sources, tomlfile.Each[TaskSource]{
			Name:  tomlfile.PlainName("a source's name", "[tasks.source.beads]"),
			Start: func(*tomlfile.Table) TaskSource { return defaultTaskSource() },
			Keys:  func(_ string, s *TaskSource) []tomlfile.Key { return c.sourceKeys(s) },
		}, `Tasks may be in a tracker as well: write a table [tasks.source.NAME] with a command that prints them as
			JSON. The output of bd is read as it is; for others, fields, states and priorities say where and what
			things are. Start, done and release report to the tracker what becomes of a task.`),
	}
}

// afterwards are the values of tasks.after.
func afterwards() (words []string) {
	for _, state := range fleet.TaskStates() {
		words = append(words, string(state))
	}
	return append(words, KeepState)
}

// sourceKeys add the file's fields, states and priorities to the default ones.
func (c *Config) sourceKeys(s *TaskSource) []tomlfile.Key {
	return []tomlfile.Key{
		tomlfile.Of("command", &s.Command, nil, tomlfile.Command(1),
			`The command that prints the tasks, such as ["bd", "ready", "--json", "--limit", "1000"].`,
			tomlfile.Required(`write command = ["bd", "ready", "--json", "--limit", "1000"]`)),
		tomlfile.Of("start", &s.Start, nil, tomlfile.Command(0),
			`A command that reports to the tracker that a session began, such as ["bd", "update", "{id}", "--status", "in_progress"].`),
		tomlfile.Of("done", &s.Done, nil, tomlfile.Command(0),
			`A command that reports to the tracker that a task was closed, such as ["bd", "close", "{id}"].`),
		tomlfile.Of("release", &s.Release, nil, tomlfile.Command(0),
			`A command that reports to the tracker that a session ended otherwise.`),
		tomlfile.Of("category", &s.Category, "", c.categoryOrNone(),
			`The category of its tasks that name none. Left out, it goes by their tags, or else is
			tasks.default_category.`),
		taskFields(&s.Fields, fleet.TaskFields(), `Where each field is in an item, such as { id = "number", tags = "labels.name" }.`),
		taskStates(&s.States, `The meaning of the tracker's words for states, such as { open = "todo" }.`),
		taskPriorities(&s.Priorities, `The meaning of the tracker's words for priorities, such as { P0 = "urgent" }.`),
	}
}

// categoryOrNone is the name of a category that the file has, or empty.
func (c *Config) categoryOrNone() tomlfile.Rule[fleet.Category] {
	r := c.categoryName()
	parse := r.Parse
	r.Parse = func(value any) (fleet.Category, error) {
		if value == any("") {
			return "", nil
		}
		return parse(value)
	}
	return r
}

// Calls are the programs that report to a task's tracker, by the call.
func (s TaskSource) Calls() map[fleet.TaskCall][]string {
	return map[fleet.TaskCall][]string{fleet.CallStart: s.Start, fleet.CallDone: s.Done, fleet.CallRelease: s.Release}
}

// checkFieldPath accepts names joined by dots, or nothing.
func checkFieldPath(path string) error {
	if path != "" && slices.Contains(strings.Split(path, "."), "") {
		return fleet.WithHint(fmt.Errorf("%s: an empty name in a path", tomlfile.Describe(path)), `write a path such as "labels.name"`)
	}
	return nil
}

func taskFields(field *map[fleet.TaskField]string, known []fleet.TaskField, doc string) tomlfile.Key {
	return tomlfile.Of("fields", field, *field, tomlfile.Words(*field, tomlfile.Entries[string]{
		Rule: tomlfile.Word[string](checkFieldPath), Names: tomlfile.OneOf(known...).Schema,
		Check: func(name, _ string) error {
			if slices.Contains(known, fleet.TaskField(name)) {
				return nil
			}
			return fleet.WithHint(errors.New("unknown field"), tomlfile.Meant(name, known))
		},
	}), doc)
}

func taskStates(field *map[string]fleet.TaskState, doc string) tomlfile.Key {
	rule := meaning(fleet.ParseTaskState, append(fleet.TaskStates(), "new", "paused"))
	return tomlfile.Of("states", field, *field, tomlfile.Words(*field, tomlfile.Entries[fleet.TaskState]{Rule: rule}), doc)
}

func taskPriorities(field *map[string]fleet.Priority, doc string) tomlfile.Key {
	rule := meaning(fleet.ParsePriority, []fleet.Priority{fleet.PriorityUrgent, fleet.PriorityHigh, fleet.PriorityMedium, fleet.PriorityLow})
	return tomlfile.Of("priorities", field, *field, tomlfile.Words(*field, tomlfile.Entries[fleet.Priority]{Rule: rule}), doc)
}

// meaning is a word that stands for one of stint's, which known lists for editors.
func meaning[T ~string](parse func(string) (T, error), known []T) tomlfile.Rule[T] {
	r := tomlfile.OneOf(known...)
	r.Parse = func(value any) (T, error) {
		word, err := tomlfile.Text().Parse(value)
		if err != nil {
			return "", err
		}
		if word == "" {
			return "", errors.New("want a word, not an empty string")
		}
		return parse(word)
	}
	return r
}
