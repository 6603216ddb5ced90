package config

import "stint/internal/fleet"

// start reads what bd prints (github.com/gastownhall/beads); other trackers' names
// are read as well where no two trackers mean different things by one.
func (s *TaskSource) start(map[string]any) {
	*s = TaskSource{
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
			fleet.FieldRequires:         fleet.BeadsRequires,
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

// Calls are the programs that report to a task's tracker, by the call.
func (s TaskSource) Calls() map[fleet.TaskCall][]string {
	return map[fleet.TaskCall][]string{fleet.CallStart: s.Start, fleet.CallDone: s.Done, fleet.CallRelease: s.Release}
}
