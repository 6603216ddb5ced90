package task

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/frontmatter"
)

// Parse reads a task file's bytes; path gives the task its id and is not opened.
// The category is the one the file names, or empty. The error of a file that is
// not a task names path, line and what to do.
func Parse(path string, data []byte) (fleet.Task, error) {
	_, task, err := parse(path, data)
	return task, err
}

func parse(path string, data []byte) (document, fleet.Task, error) {
	id, err := fleet.ParseTaskID(strings.TrimSuffix(filepath.Base(path), extension))
	if err != nil {
		return document{}, fleet.Task{}, newProblem(path, 0, "%v: rename the file", err)
	}
	d, err := newDocument(path, data)
	if err != nil {
		return document{}, fleet.Task{}, err
	}
	f := d.Fields()
	task := fleet.Task{
		ID:               id,
		State:            frontmatter.Parsed(f, "state", fleet.ParseTaskState),
		Created:          frontmatter.Parsed(f, "created", parseDate),
		Category:         frontmatter.Parsed(f, "category", parseCategory),
		Priority:         frontmatter.Parsed(f, "priority", fleet.ParsePriority),
		Tags:             f.List("tags"),
		AssignedTo:       f.Text("assigned_to"),
		NextAction:       f.Text("next_action"),
		SuccessCriterion: f.Text("success_criterion"),
		Requires:         f.List("requires", "depends"),
		Wait:             frontmatter.Parsed(f, "wait", parseDate),
		WaitingFor:       f.Text("waiting_for"),
		Family:           f.Text("family", "coordination_family"),
		Title:            title(d.Body, string(id)),
		Body:             d.Body,
		Path:             path,
	}
	if err := f.Err(); err != nil {
		return document{}, fleet.Task{}, err
	}
	return d, task, nil
}

func parseCategory(s string) (fleet.Category, error) {
	if s == "" {
		return "", nil
	}
	return fleet.ParseCategory(s)
}

// parseDate reads ISO dates and date-times, and those of YAML that put a space
// for the T. What names no zone is in UTC.
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
