package fleet

// TaskField is something that an item of a command's list can say of a task.
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
)

// TaskFields lists the fields.
func TaskFields() []TaskField {
	return []TaskField{
		FieldID, FieldTitle, FieldBody, FieldURL, FieldState, FieldPriority, FieldTags, FieldCategory, FieldCreated,
		FieldModified, FieldAssignedTo, FieldNextAction, FieldSuccessCriterion, FieldRequires, FieldWait, FieldWaitingFor,
		FieldFamily,
	}
}
