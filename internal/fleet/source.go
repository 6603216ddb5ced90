package fleet

// TaskFormat is whose conventions a folder of task files follows.
type TaskFormat string

const (
	FormatStint   TaskFormat = "stint"
	FormatGptme   TaskFormat = "gptme"      // of gptme's agents, as gptodo reads and writes it
	FormatBacklog TaskFormat = "backlog.md" // of the program backlog
)

// TaskFormats lists the formats.
func TaskFormats() []TaskFormat { return []TaskFormat{FormatStint, FormatGptme, FormatBacklog} }

// TaskField is something that a task file, or an item of a command's list, can say of a task.
type TaskField string

const (
	FieldID               TaskField = "id"
	FieldTitle            TaskField = "title"
	FieldBody             TaskField = "body"
	FieldURL              TaskField = "url" // goes before the body
	FieldState            TaskField = "state"
	FieldPriority         TaskField = "priority"
	FieldTags             TaskField = "tags"
	FieldCategory         TaskField = "category"
	FieldCreated          TaskField = "created"
	FieldModified         TaskField = "modified"
	FieldAssignedTo       TaskField = "assigned_to"
	FieldNextAction       TaskField = "next_action"
	FieldSuccessCriterion TaskField = "success_criterion"
	FieldRequires         TaskField = "requires"
	FieldWait             TaskField = "wait"
	FieldWaitingFor       TaskField = "waiting_for"
	FieldFamily           TaskField = "family"
	FieldPaths            TaskField = "paths"
)

// BeadsRequires is the path in an item of Beads to its dependencies; the type of each stands beside it.
const BeadsRequires = "dependencies.depends_on_id"

// TaskFields lists the fields.
func TaskFields() []TaskField {
	return []TaskField{
		FieldID, FieldTitle, FieldBody, FieldURL, FieldState, FieldPriority, FieldTags, FieldCategory, FieldCreated,
		FieldModified, FieldAssignedTo, FieldNextAction, FieldSuccessCriterion, FieldRequires, FieldWait, FieldWaitingFor,
		FieldFamily, FieldPaths,
	}
}
