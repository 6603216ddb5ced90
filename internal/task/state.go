package task

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"stint/internal/fleet"
)

// setStateAttempts bounds how often an edit starts over because the file
// changed under it; a person saves once.
const setStateAttempts = 3

var errMoved = errors.New("the file keeps changing")

// Writable is an error where the folder's files have no word for a state.
func (f Folder) Writable(s fleet.TaskState) error {
	_, _, err := f.Format.stateEntry(s)
	return err
}

// SetState writes a task's state into its file and leaves every other byte, the
// permission bits and, where links are followed, a link to the file as they are. It says whether there was
// anything to change; a file that is in that state already is not written. A file
// whose state cannot be changed alone is left as it is, with an error. An error
// with changed set means that only a power cut can still undo the change.
func (f Folder) SetState(ctx context.Context, id fleet.TaskID, s fleet.TaskState) (changed bool, err error) {
	if !slices.Contains(fleet.TaskStates(), s) {
		err := usage(fmt.Errorf("state %q is unknown", s), "one of "+fleet.Listed(fleet.TaskStates()))
		return false, fmt.Errorf("set state of task %q: %w", id, err)
	}
	path, err := f.path(id)
	if err != nil {
		return false, fmt.Errorf("set state of task: %w", err)
	}
	err = errMoved
	for attempt := 0; errors.Is(err, errMoved) && attempt < setStateAttempts; attempt++ {
		if err = ctx.Err(); err == nil {
			changed, err = f.setState(path, s)
		}
	}
	if err != nil {
		return changed, fmt.Errorf("set state of task %q to %s: %w", id, s, notFound(err))
	}
	return changed, nil
}

func (f Folder) setState(path string, s fleet.TaskState) (changed bool, err error) {
	old, info, err := f.readTaskFile(path)
	if err != nil {
		return false, err
	}
	edited, err := f.Format.withState(path, old, s)
	if err != nil || string(edited) == string(old) {
		return false, err
	}
	dir, err := f.open(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer dir.close()
	target := dir.file(filepath.Base(path))
	if dir.at == nil {
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return false, err
		}
	}
	changed, err = replace(target, old, edited, info.Mode().Perm())
	return changed, dir.named(err, path)
}

// withState is the pure part of [Folder.SetState]: a task file's bytes in that
// state. The result is read again before it is given out: nothing but the state
// may have changed.
func (f Format) withState(path string, data []byte, s fleet.TaskState) ([]byte, error) {
	old, task, err := f.parse(path, data)
	if err != nil || task.State == s {
		return data, err
	}
	field, word, err := f.stateEntry(s)
	if err != nil {
		return nil, err
	}
	edited := []byte(old.bom + old.frontWith(field, word) + old.rest)
	d, task, err := f.parse(path, edited)
	if err != nil || task.State != s || !sameBut(field, old, d) {
		return nil, fleet.WithHint(
			newError(path, old.lineOf(field), "the state cannot be changed alone"),
			fmt.Sprintf("write it by hand, on a line of its own: %s: %s", field, word),
		)
	}
	return edited, nil
}

// Restated returns a task file as it lands, with the state that the file has by now. False: its state is not all in which the file
// differs from what it was, or it is no task's.
func (f Folder) Restated(path string, was, now, lands []byte) ([]byte, bool) {
	dir, err := filepath.EvalSymlinks(f.Dir)
	if err != nil || filepath.Ext(path) != extension || !strings.HasPrefix(path, dir+string(filepath.Separator)) {
		return nil, false
	}
	old, _, err := f.Format.parse(path, was)
	if err != nil {
		return nil, false
	}
	d, task, err := f.Format.parse(path, now)
	if err != nil || !sameBut(f.Format.name(fleet.FieldState), old, d) {
		return nil, false
	}
	text, err := f.Format.withState(path, lands, task.State)
	return text, err == nil
}

// stateEntry is the field that a state is written into, and its word there.
func (f Format) stateEntry(s fleet.TaskState) (field, word string, err error) {
	field = f.name(fleet.FieldState)
	word, ok := f.Word(s)
	switch {
	case field == "":
		return "", "", usage(errors.New("the folder's files have no state"), "name its field under [tasks], as in fields = { state = \"status\" }")
	case !ok:
		return "", "", usage(fmt.Errorf("no word of %s stands for it", field),
			fmt.Sprintf("say under [tasks] which one does, as in states = { %q = %q }", "WORD", s))
	}
	return field, word, nil
}

// frontWith puts the text where a field is written, between its quotes if it has
// any, else on a last line of its own. A value that it cannot edit comes out wrong, which its
// caller finds.
func (d *document) frontWith(field, text string) string {
	n := d.field(field)
	if n == nil {
		return d.front + strings.Repeat(" ", d.indent()) + field + ": " + text + d.lineEnd()
	}
	at := d.offset(n)
	old := n.Value
	switch {
	case n.Kind == yaml.AliasNode:
		old = "*" + old
	case n.Style&yaml.DoubleQuotedStyle != 0:
		old, text = `"`+old+`"`, `"`+text+`"`
	case n.Style&yaml.SingleQuotedStyle != 0:
		old, text = "'"+old+"'", "'"+text+"'"
	case old == "": // A null of no characters begins right after the colon.
		text = " " + text
	}
	after, ok := strings.CutPrefix(d.front[at:], old)
	if !ok {
		return d.front
	}
	return d.front[:at] + text + after
}

// lineOf is the line with a field, or the one before which it belongs.
func (d *document) lineOf(field string) int {
	if n := d.field(field); n != nil {
		return d.line(n)
	}
	return lineAt(d.front, len(d.front))
}

func (d *document) lineEnd() string {
	if first, _, _ := strings.Cut(d.front, "\n"); strings.HasSuffix(first, "\r") {
		return "\r\n"
	}
	return "\n"
}

func sameBut(field string, a, b *document) bool {
	return a.rest == b.rest && slices.EqualFunc(a.allBut(field), b.allBut(field), sameNode)
}

func (d *document) allBut(field string) []*yaml.Node {
	var nodes []*yaml.Node
	left := d.field(field)
	for key, value := range d.all() {
		if value != left {
			nodes = append(nodes, key, value)
		}
	}
	return nodes
}

// sameNode compares what is written, not what aliases stand for, and neither
// places nor comments.
func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Style == b.Style && a.Tag == b.Tag && a.Value == b.Value &&
		a.Anchor == b.Anchor && slices.EqualFunc(a.Content, b.Content, sameNode)
}
