package task

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Format says how the files of a folder become tasks. The zero value is stint's own.
type Format struct {
	Name       fleet.TaskFormat           // by whose conventions files are named and put away
	Fields     map[fleet.TaskField]string // what a field is called in a file; empty: no file has it; of others, stint's name
	States     map[string]fleet.TaskState // what the folder's own words mean, whatever their case
	Priorities map[string]fleet.Priority
	Foreign    bool                       // no other states than those of States are known, not even stint's
	Words      map[fleet.TaskState]string // the word to write for a state; of others, stint's, unless Foreign
}

// Word is the word to write for a state. It is not ok when the folder has none.
func (f Format) Word(s fleet.TaskState) (word string, ok bool) {
	if word, ok := f.Words[s]; ok {
		return word, true
	}
	return string(s), !f.Foreign
}

// names returns the names of a field in a file, the one to write first.
func (f Format) names(field fleet.TaskField) []string {
	switch name, mapped := f.Fields[field]; {
	case mapped && name == "":
		return nil
	case mapped && (name != string(field) || field == fleet.FieldTitle):
		return []string{name}
	}
	switch {
	case field == fleet.FieldRequires:
		return []string{"requires", "depends"}
	case field == fleet.FieldFamily:
		return []string{"family", "coordination_family"}
	case field == fleet.FieldTags && f.Name == fleet.FormatGptme: // a pool is the same to it as a tag of that name
		return []string{"tags", "pool"}
	case field == fleet.FieldTitle: // it is the first heading
		return nil
	}
	return []string{string(field)}
}

// name returns a field's name in a file, or "" if no file has it.
func (f Format) name(field fleet.TaskField) string {
	return append(f.names(field), "")[0]
}

// separator stands between the id and the title in the names of a backlog.md folder.
const separator = " - "

// id is the task's by the name of its file. That of a backlog.md folder is in lower
// case: the program takes TASK-1 and task-1 for one.
func (f Format) id(path string) string {
	stem := strings.TrimSuffix(filepath.Base(path), extension)
	if f.Name == fleet.FormatBacklog {
		stem, _, _ = strings.Cut(stem, separator)
		return strings.ToLower(stem)
	}
	return stem
}

// archive is a folder of tasks that were put away. They are there for those that
// require them.
type archive struct {
	dir   string // relative to the folder of tasks
	state fleet.TaskState
}

// archives are the folders into which the format's program puts tasks, and the state
// that one has there whose own is not settled.
func (f Format) archives() []archive {
	switch f.Name {
	case fleet.FormatGptme:
		return []archive{{"archive", fleet.StateCancelled}}
	case fleet.FormatBacklog:
		return []archive{{"../completed", fleet.StateDone}, {"../archive/tasks", fleet.StateCancelled}}
	case fleet.FormatStint:
	}
	return nil
}

// isArchive reports whether tasks in that folder, relative to the folder of tasks, were put away.
func (f Format) isArchive(dir string) bool {
	return slices.ContainsFunc(f.archives(), func(a archive) bool { return a.dir == dir })
}

// stateIn is the state of a task that lies in that folder, relative to the folder of
// tasks, and names this state.
func (f Format) stateIn(dir string, s fleet.TaskState) fleet.TaskState {
	for _, a := range f.archives() {
		if dir == a.dir && !s.Settled() {
			return a.state
		}
	}
	return s
}

// stateFields lists the fields in which other programs keep a task's state.
func stateFields() []string { return []string{"state", "status", "done"} }

// checkOwner refuses a file that keeps its state in a field that the format does not
// know: tasks that others have finished would be offered as work.
func (f Format) checkOwner(d *document) error {
	own := f.name(fleet.FieldState)
	if own != "" && d.field(own) != nil {
		return nil
	}
	for _, name := range stateFields() {
		at := d.field(name)
		if at == nil || name == own {
			continue
		}
		fix := fmt.Sprintf("say under [tasks] whose format it is, as in fields = { state = %q } and states", name)
		switch {
		case name == "status":
			fix = fmt.Sprintf("say whose format it is: tasks.format = %q, or fields = { state = %q } and states under [tasks]", fleet.FormatBacklog, name)
		case name == "done":
			fix += ` = { true = "done", false = "todo" }`
		}
		return d.newError(at, "%s, and no %s: %s", name, own, fix)
	}
	return nil
}

// state reads a word for a state; empty is backlog.
func (f Format) state(word string) (fleet.TaskState, error) {
	if state, ok := meaning(f.States, word); ok {
		return state, nil
	}
	if f.Foreign && word != "" {
		return "", fmt.Errorf("%q is not known: %s", word, f.mapped("states", word, fleet.StateTodo))
	}
	state, err := fleet.ParseTaskState(word)
	if err != nil {
		err = fmt.Errorf("%w, or %s", err, f.mapped("states", word, fleet.StateTodo))
	}
	return state, err
}

// priority reads a word for a priority; empty is medium.
func (f Format) priority(word string) (fleet.Priority, error) {
	if priority, ok := meaning(f.Priorities, word); ok {
		return priority, nil
	}
	priority, err := fleet.ParsePriority(word)
	if err != nil {
		err = fmt.Errorf("%w, or %s", err, f.mapped("priorities", word, fleet.PriorityMedium))
	}
	return priority, err
}

// mapped says how to map a word.
func (Format) mapped(table, word string, example any) string {
	return fmt.Sprintf("say under [tasks] what it means, as in %s = { %q = %q }", table, word, example)
}

// meaning looks a word up in a table, as it is and then whatever its case.
func meaning[T any](table map[string]T, word string) (value T, ok bool) {
	if value, ok = table[word]; ok {
		return value, true
	}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if strings.EqualFold(key, word) {
			return table[key], true
		}
	}
	return value, false
}

// reader reads the fields of one file.
type reader struct {
	fields
	Format
}

func (r reader) text(field fleet.TaskField) string { return r.prose(r.names(field)...) }

// parsedField reads a field by parse, which must accept "" for an absent one.
func parsedField[T any](r reader, field fleet.TaskField, parse func(string) (T, error)) T {
	name := r.name(field)
	value, err := parse(r.fields.text(r.names(field)...))
	if err != nil {
		r.fail(r.field(name), "%s: %v", name, err)
	}
	return value
}

// paths are the patterns of the files that the task is to change.
func (r reader) paths() (list []string) {
	for _, e := range r.elements(r.names(fleet.FieldPaths)...) {
		if err := plain.CheckPattern(e.text); err != nil {
			r.fail(e.at, "%s: %v", r.name(fleet.FieldPaths), err)
		}
		list = append(list, e.text)
	}
	return list
}

// required are the tasks that must be settled first.
func (r reader) required() []string {
	var list []string
	for _, need := range r.list(r.names(fleet.FieldRequires)...) {
		if r.Name == fleet.FormatBacklog && !strings.Contains(need, "://") {
			need = strings.ToLower(need) // as [Format.id] has it
		}
		if !slices.Contains(list, need) {
			list = append(list, need)
		}
	}
	return list
}
