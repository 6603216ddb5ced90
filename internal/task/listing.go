package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Listing says how the items that a command prints become tasks.
type Listing struct {
	Name       string                     // of the source, as in [tasks.source.NAME]
	Category   fleet.Category             // of an item that names none; empty: the tags and the folder say
	Fields     map[fleet.TaskField]string // where in an item each is, as a path: "labels.name"; empty: nowhere
	States     map[string]fleet.TaskState // what the command's own words mean, whatever their case
	Priorities map[string]fleet.Priority
}

const (
	maxItemBytes = maxFileBytes // as much as a task file
	// maxProblems are reported of one list: with more, the map of its fields is wrong, and
	// the first say how.
	maxProblems = 20
	// maxReason bounds a reported problem, in characters: it may quote the command's output.
	maxReason = 300
)

// Parse reads what a command printed, as JSON: one list, or objects one after
// another. An item that is no task is a problem and left out; output that is not JSON is one
// problem. Nothing printed is an empty list.
func (l Listing) Parse(data []byte) ([]fleet.Task, []fleet.TaskProblem) {
	list, err := items(data)
	if err != nil {
		return nil, []fleet.TaskProblem{l.failure(err)}
	}
	reader := &itemReader{Listing: l}
	var tasks []fleet.Task
	var problems []fleet.TaskProblem
	for i, item := range list {
		t, err := reader.task(item)
		if err != nil {
			problems = append(problems, l.problem(i+1, err))
			continue
		}
		tasks = append(tasks, t)
	}
	if l.Fields[fleet.FieldRequires] == fleet.BeadsRequires { // bd leaves closed items out of most lists
		listed := map[string]bool{}
		for _, t := range tasks {
			listed[string(t.ID)] = true
		}
		for i := range tasks {
			tasks[i].Requires = slices.DeleteFunc(tasks[i].Requires, func(need string) bool { return !listed[need] })
		}
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], l.problem(0, fmt.Errorf("%d more items cannot be read", more)))
	}
	return tasks, problems
}

// problem is one of the item of that number, or with 0 of the whole.
func (l Listing) problem(number int, err error) fleet.TaskProblem {
	return fleet.TaskProblem{Path: l.Name, Line: number, Reason: plain.Short(plain.Line(err.Error()), maxReason)}
}

// failure is the problem of a source of which nothing can be read.
func (l Listing) failure(err error) fleet.TaskProblem {
	p := l.problem(0, err)
	p.Source = l.Name
	return p
}

// id is a task's id for one of the tracker's. A mere number would be that of another tracker's
// as well, so it gets the source's name; any other is kept, for the agent will use it with the
// tracker.
func (l Listing) id(s string) string {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return l.Name + "-" + s
	}
	return s
}

// itemReader reads the items of one listing, one after another. The first wrong field
// of the current one is kept in err.
type itemReader struct {
	Listing

	raw     json.RawMessage
	current map[string]any // raw
	err     error
}

func (r *itemReader) task(i item) (fleet.Task, error) {
	if err := r.open(i); err != nil {
		return fleet.Task{}, err
	}
	if r.Fields[fleet.FieldState] != "" {
		r.checkOwner()
	}
	t := fleet.Task{
		ID:               r.ownID(),
		Title:            r.line(fleet.FieldTitle),
		Body:             r.body(),
		State:            translated(r, fleet.FieldState, r.States, fleet.ParseTaskState),
		Priority:         translated(r, fleet.FieldPriority, r.Priorities, fleet.ParsePriority),
		Tags:             r.list(fleet.FieldTags),
		Category:         cmp.Or(parsedItem(r, fleet.FieldCategory, parseCategory), r.Category),
		Created:          parsedItem(r, fleet.FieldCreated, parseDate),
		Modified:         parsedItem(r, fleet.FieldModified, parseDate),
		AssignedTo:       r.line(fleet.FieldAssignedTo),
		NextAction:       r.prose(fleet.FieldNextAction),
		SuccessCriterion: r.prose(fleet.FieldSuccessCriterion),
		Requires:         r.required(),
		Wait:             parsedItem(r, fleet.FieldWait, parseDate),
		WaitingFor:       r.line(fleet.FieldWaitingFor),
		Family:           r.line(fleet.FieldFamily),
		Paths:            r.patterns(),
	}
	t.Title = cmp.Or(t.Title, string(t.ID))
	for i, need := range t.Requires {
		t.Requires[i] = r.id(need)
	}
	ids, _ := r.words(fleet.FieldID)
	t.Item, t.Seen = strings.Join(ids, ", "), seenItem(t)
	return t, r.err
}

// checkOwner refuses an item that has its state in another field than is said: a closed
// one would be offered as work.
func (r *itemReader) checkOwner() {
	path, _, _ := strings.Cut(r.Fields[fleet.FieldState], ".")
	if _, given := r.current[path]; given {
		return
	}
	for _, name := range stateFields() {
		if _, given := r.current[name]; given {
			r.fail(fmt.Errorf("%s, and no %s: say under [tasks.source.%s] where the state is, as in fields = { state = %q }",
				name, r.Fields[fleet.FieldState], r.Name, name))
			return
		}
	}
}

// seenItem is the same for an item that says the same. When it was last changed does not
// count: in a tracker, a remark of anybody's or a mention elsewhere changes that.
func seenItem(t fleet.Task) string {
	return seen(fmt.Appendf(nil, "%q", []any{
		t.Title, t.Body, t.Priority, t.Tags, t.Category, t.Created.UnixNano(), t.AssignedTo, t.NextAction, t.SuccessCriterion,
		t.Requires, t.Wait.UnixNano(), t.WaitingFor, t.Family, t.Paths,
	}), t.State)
}

// open makes the item the current one.
func (r *itemReader) open(i item) error {
	r.err = nil
	switch {
	case i.err != nil:
		return i.err
	case len(i.raw) > maxItemBytes:
		return errors.New("larger than 1 MiB")
	case !utf8.Valid(i.raw):
		return errors.New("not valid UTF-8")
	case i.raw[0] != '{':
		return fmt.Errorf("want an object, not %s", plain.Short(string(i.raw), maxBrief))
	}
	r.raw, r.current = i.raw, nil
	decoder := json.NewDecoder(bytes.NewReader(i.raw))
	decoder.UseNumber() // which is as it was written
	return decoder.Decode(&r.current)
}

func (r *itemReader) ownID() fleet.TaskID {
	words, _ := r.words(fleet.FieldID)
	id, err := fleet.ParseTaskID(r.id(strings.Join(words, ", ")))
	if len(words) == 0 && r.err == nil {
		err = fmt.Errorf("no id in %q: name the field under fields, as in id = %q", r.Fields[fleet.FieldID], "number")
	}
	if err != nil {
		r.fail(err)
	}
	return id
}

// words are the texts of a field, as printed; listed means that they are of a list.
func (r *itemReader) words(field fleet.TaskField) (list []string, listed bool) {
	path := r.Fields[field]
	if path == "" {
		return nil, false
	}
	list, listed, err := words(r.current, strings.Split(path, "."))
	if err != nil {
		r.fail(fmt.Errorf("%s (%s): %w", path, field, err))
	}
	return list, listed
}

// prose is text of any number of lines. Trackers hold what others wrote: control characters are
// replaced, rather than the task left out.
func (r *itemReader) prose(field fleet.TaskField) string {
	words, _ := r.words(field)
	text := strings.ReplaceAll(strings.Join(words, ", "), "\r\n", "\n")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return unicode.ReplacementChar
		}
		return c
	}, text)
}

// line is text in one line.
func (r *itemReader) line(field fleet.TaskField) string {
	return strings.TrimSpace(plain.Line(r.prose(field)))
}

// list are the texts of a field without those empty or mentioned before.
func (r *itemReader) list(field fleet.TaskField) []string {
	words, _ := r.words(field)
	var list []string
	seen := map[string]bool{}
	for _, word := range words {
		if word = strings.TrimSpace(plain.Line(word)); word != "" && !seen[word] {
			seen[word] = true
			list = append(list, word)
		}
	}
	return list
}

// required are the items that must be settled first. Of the dependencies of Beads only some types block: a parent,
// and what an item was found at, do not. Other trackers may have something else in that field.
func (r *itemReader) required() (list []string) {
	if r.Fields[fleet.FieldRequires] != fleet.BeadsRequires {
		return r.list(fleet.FieldRequires)
	}
	var item struct {
		Dependencies []struct {
			Type string `json:"type"`
			On   string `json:"depends_on_id"`
		} `json:"dependencies"`
	}
	if json.Unmarshal(r.raw, &item) != nil {
		return nil
	}
	for _, d := range item.Dependencies {
		if slices.Contains([]string{"blocks", "conditional-blocks", "waits-for"}, d.Type) && !slices.Contains(list, d.On) {
			list = append(list, d.On)
		}
	}
	return list
}

// patterns are those of the files that the task is to change.
func (r *itemReader) patterns() []string {
	list := r.list(fleet.FieldPaths)
	for _, p := range list {
		if err := plain.CheckPattern(p); err != nil {
			r.fail(fmt.Errorf("%s (%s): %w", r.Fields[fleet.FieldPaths], fleet.FieldPaths, err))
		}
	}
	return list
}

// body has the item's address first: a task without a file is found by it.
func (r *itemReader) body() string {
	return strings.Trim(r.line(fleet.FieldURL)+"\n\n"+r.prose(fleet.FieldBody), "\n")
}

// parsedItem reads a field's text by parse, which is given "" for an absent field.
func parsedItem[T any](r *itemReader, field fleet.TaskField, parse func(string) (T, error)) T {
	value, err := parse(r.line(field))
	if err != nil {
		r.fail(fmt.Errorf("%s (%s): %w", r.Fields[field], field, err))
	}
	return value
}

// translated looks a field's text up in the table, or else in stint's own words. In a list, such
// as labels, the first text that either knows counts, and one that neither knows means
// something else; a text of its own must be known.
func translated[T any](r *itemReader, field fleet.TaskField, table map[string]T, parse func(string) (T, error)) T {
	words, listed := r.words(field)
	words = slices.DeleteFunc(words, func(word string) bool { return word == "" })
	for _, word := range words {
		if value, ok := meaning(table, word); ok {
			return value
		}
		if value, err := parse(strings.ToLower(word)); err == nil {
			return value
		}
	}
	value, err := parse("")
	if len(words) > 0 && !listed {
		err = fmt.Errorf("%s (%s): %q is not known: say under [tasks.source.%s] what it means", r.Fields[field], field, words[0], r.Name)
	}
	if err != nil {
		r.fail(err)
	}
	return value
}

func (r *itemReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
