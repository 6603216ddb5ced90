package task

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"stint/internal/fleet"
)

// Parse reads a task file's bytes; path gives the task its id and is not opened.
// The category is the one the file names, or empty. The error of a file that is
// not a task names path, line and what to do.
func Parse(path string, data []byte) (fleet.Task, error) {
	_, task, err := parse(path, data)
	return task, err
}

func parse(path string, data []byte) (*document, fleet.Task, error) {
	id, err := fleet.ParseTaskID(strings.TrimSuffix(filepath.Base(path), extension))
	if err != nil {
		return nil, fleet.Task{}, newProblem(path, 0, "%v: rename the file", err)
	}
	d, err := newDocument(path, data)
	if err != nil {
		return nil, fleet.Task{}, err
	}
	f := fields{document: d}
	task := f.task(id)
	if f.err != nil {
		return nil, fleet.Task{}, f.err
	}
	return d, task, nil
}

// fields reads the known fields of a document. The first wrong one is kept in
// err. A null is a field not given.
type fields struct {
	*document
	err error
}

func (f *fields) task(id fleet.TaskID) fleet.Task {
	return fleet.Task{
		ID:               id,
		State:            parsed(f, "state", fleet.ParseTaskState),
		Created:          parsed(f, "created", parseDate),
		Category:         parsed(f, "category", parseCategory),
		Priority:         parsed(f, "priority", fleet.ParsePriority),
		Tags:             f.list("tags"),
		AssignedTo:       f.text("assigned_to"),
		NextAction:       f.text("next_action"),
		SuccessCriterion: f.text("success_criterion"),
		Requires:         f.list("requires", "depends"),
		Wait:             parsed(f, "wait", parseDate),
		WaitingFor:       f.text("waiting_for"),
		Family:           f.text("family", "coordination_family"),
		Title:            title(f.body, string(id)),
		Body:             f.body,
		Path:             f.path,
	}
}

// parsed reads a field's text by parse, which is given "" for an absent field.
func parsed[T any](f *fields, name string, parse func(string) (T, error)) T {
	value, err := parse(f.text(name))
	if err != nil {
		f.fail(f.field(name), "%s: %v", name, err)
	}
	return value
}

// text is the scalar under the first of the names that has one, as written.
func (f *fields) text(names ...string) string {
	for _, name := range names {
		if n := f.field(name); n != nil && !isNull(resolve(n)) {
			return f.scalar(n, name, "text")
		}
	}
	return ""
}

// list joins what is under all of the names, each a list or one scalar. Nulls
// and empty elements are left out, later mentions of one element too.
func (f *fields) list(names ...string) []string {
	var list []string
	seen := make(map[string]bool)
	for _, name := range names {
		for _, n := range elements(f.field(name)) {
			if s := f.scalar(n, name, "a list of text"); s != "" && !seen[s] {
				seen[s] = true
				list = append(list, s)
			}
		}
	}
	return list
}

func elements(n *yaml.Node) []*yaml.Node {
	switch {
	case n == nil:
		return nil
	case resolve(n).Kind == yaml.SequenceNode:
		return resolve(n).Content
	}
	return []*yaml.Node{n}
}

// scalar is a node's text. Numbers, dates and booleans are the text they are
// written as. Control characters are refused, for the text will be shown on
// terminals and put into an environment.
func (f *fields) scalar(at *yaml.Node, name, want string) string {
	switch n := resolve(at); {
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!binary":
		f.fail(at, "%s: want %s", name, want)
	case isNull(n):
	case strings.ContainsFunc(n.Value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		f.fail(at, "%s %q: control characters are not allowed", name, n.Value)
	default:
		return n.Value
	}
	return ""
}

func (f *fields) fail(at *yaml.Node, format string, args ...any) {
	if f.err == nil {
		f.err = f.problem(at, format, args...)
	}
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
