package task

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Parse reads a task file's bytes; path gives the task its id and is not opened.
// The category is the one the file names, or empty. The error of a file that is
// not a task names path, line and what to do.
func (f Format) Parse(path string, data []byte) (fleet.Task, error) {
	_, task, err := f.parse(path, data)
	return task, err
}

func (f Format) parse(path string, data []byte) (*document, fleet.Task, error) {
	id, err := fleet.ParseTaskID(f.id(path))
	if err != nil {
		return nil, fleet.Task{}, newError(path, 0, "%v: rename the file", err)
	}
	d, err := newDocument("task", path, data)
	if err != nil {
		return nil, fleet.Task{}, err
	}
	if err := f.checkOwner(d); err != nil {
		return nil, fleet.Task{}, err
	}
	r := reader{d.fields(), f}
	task := fleet.Task{
		ID:               id,
		State:            parsedField(r, fleet.FieldState, f.state),
		Created:          parsedField(r, fleet.FieldCreated, parseDate),
		Category:         parsedField(r, fleet.FieldCategory, parseCategory),
		Priority:         parsedField(r, fleet.FieldPriority, f.priority),
		Tags:             r.list(f.names(fleet.FieldTags)...),
		AssignedTo:       r.text(fleet.FieldAssignedTo),
		NextAction:       r.text(fleet.FieldNextAction),
		SuccessCriterion: r.text(fleet.FieldSuccessCriterion),
		Requires:         r.required(),
		Wait:             parsedField(r, fleet.FieldWait, parseDate),
		WaitingFor:       r.text(fleet.FieldWaitingFor),
		Family:           r.fields.text(f.names(fleet.FieldFamily)...),
		Paths:            r.paths(),
		Title:            cmp.Or(oneLine(r.fields.text(f.names(fleet.FieldTitle)...)), title(d.body, string(id))),
		Body:             d.body,
		Path:             path,
	}
	if err := r.err(); err != nil {
		return nil, fleet.Task{}, err
	}
	task.Seen = seen(data, task.State)
	return d, task, nil
}

// seen is the same for the same content that is read as the same state.
func seen(content []byte, s fleet.TaskState) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]) + " " + string(s)
}

func parseCategory(s string) (fleet.Category, error) {
	if s == "" {
		return "", nil
	}
	return fleet.ParseCategory(s)
}

// parseDate reads ISO dates and date-times, and those of YAML that put a space
// for the T. A time without a zone is in UTC.
func parseDate(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	iso := strings.NewReplacer("t", "T", " ", "T", "z", "Z").Replace(s)
	for _, layout := range []string{
		"2006-1-2", "2006-1-2T15:4:5Z07:00", "2006-1-2T15:4:5", "2006-1-2T15:4Z07:00", "2006-1-2T15:4",
	} {
		if t, err := time.Parse(layout, iso); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("date %q: want 2026-01-02 or 2026-01-02T15:04:05Z", s)
}
