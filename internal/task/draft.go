package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"stint/internal/fleet"
)

// Draft is a task to be written. Only an id or a title is needed; an empty field is not
// written, except the state, which is then backlog. Text other than the body is one line.
type Draft struct {
	ID    fleet.TaskID `yaml:"-"` // empty: made from the title
	Title string       `yaml:"-"` // becomes the first heading
	Body  string       `yaml:"-"` // follows the title

	State            fleet.TaskState `yaml:"state"`
	Created          time.Time       `yaml:"created,omitempty"`
	Category         fleet.Category  `yaml:"category,omitempty"`
	Priority         fleet.Priority  `yaml:"priority,omitempty"`
	Tags             []string        `yaml:"tags,omitempty,flow"`
	AssignedTo       string          `yaml:"assigned_to,omitempty"`
	NextAction       string          `yaml:"next_action,omitempty"`
	SuccessCriterion string          `yaml:"success_criterion,omitempty"`
	Requires         []string        `yaml:"requires,omitempty,flow"`
	Wait             time.Time       `yaml:"wait,omitempty"`
	WaitingFor       string          `yaml:"waiting_for,omitempty"`
	Family           string          `yaml:"family,omitempty"`
}

// Add writes a new task and reads it back. It makes the folder if only that is missing, and not the workspace. It never
// writes over a file: an id that is taken is [fleet.ErrUsage], and one made from the title gets a number. A task that could
// not be read back is [fleet.ErrUsage], with nothing written. A dry run refuses the same and writes nothing.
func (f Folder) Add(ctx context.Context, d Draft, dryRun bool) (fleet.Task, error) {
	failed := func(err error) (fleet.Task, error) { return fleet.Task{}, fmt.Errorf("add task: %w", f.missing(err)) }
	id, data, err := f.draft(d)
	if err != nil {
		return failed(err)
	}
	dir, err := f.open(f.Dir)
	if err == nil {
		_, err = os.Stat(dir.path)
	}
	if _, gone := os.Stat(cmp.Or(f.Top, "/")); gone == nil && errors.Is(err, fs.ErrNotExist) && !dryRun {
		if err = os.MkdirAll(f.Dir, 0o755); err == nil {
			dir, err = f.open(f.Dir)
		}
	}
	if err != nil && !(dryRun && errors.Is(err, fs.ErrNotExist)) {
		return failed(err)
	}
	defer dir.close()
	names := func(attempt int) (string, error) { return d.name(f, id, attempt) }
	if dryRun {
		name, err := names(1)
		if err != nil {
			return failed(err)
		}
		t, err := f.Format.Parse(filepath.Join(f.Dir, name), data)
		return f.place(t), err
	}
	name, err := create(ctx, dir.path, data, names)
	if err != nil {
		first, _ := names(1)
		return failed(dir.named(err, filepath.Join(f.Dir, first)))
	}
	return f.Get(ctx, fleet.TaskID(f.Format.id(name)))
}

// draft is the id and the text of the draft's file, known to read back.
func (f Folder) draft(d Draft) (fleet.TaskID, []byte, error) {
	asked := d
	if asked.ID == "" && f.Format.Name == fleet.FormatBacklog && strings.TrimSpace(d.Title) != "" {
		asked.ID = f.nextID()
	}
	id, err := asked.id()
	if err != nil {
		return "", nil, err
	}
	if f.Format.Name == fleet.FormatBacklog {
		id = fleet.TaskID(strings.ToLower(string(id)))
		if strings.Contains(string(id), separator) {
			return "", nil, usage(fmt.Errorf("task id %q: it would end at the dash", id), idHint)
		}
	}
	if err := d.checkText(); err != nil {
		return "", nil, err
	}
	data, err := d.render(f.Format, id)
	if err != nil {
		return "", nil, err
	}
	if _, err := f.Format.Parse(string(id)+extension, data); err != nil {
		return "", nil, refused(err)
	}
	return id, data, nil
}

// nextID is the id after the highest number in a backlog.md folder, with its prefix. Two
// who add at once may both get it, as with that program; the second is then left out
// of listings, which says so.
func (f Folder) nextID() fleet.TaskID {
	prefix, last := "task", 0
	names, _ := f.taskNames() // what cannot be listed cannot be written to either
	for _, name := range names {
		before, number, _ := strings.Cut(f.Format.id(name), "-")
		number, _, _ = strings.Cut(number, ".") // of a task, not of its parts
		if n, err := strconv.Atoi(number); err == nil && n > last {
			prefix, last = before, n
		}
	}
	return fleet.TaskID(fmt.Sprintf("%s-%d", prefix, last+1))
}

// id is the id asked for, or else the title's slug.
func (d Draft) id() (fleet.TaskID, error) {
	if d.ID == "" && strings.TrimSpace(d.Title) == "" {
		return "", usage(errors.New("neither an id nor a title"), "stint task add --help")
	}
	id, err := fleet.ParseTaskID(cmp.Or(string(d.ID), slug(d.Title)))
	switch name := string(id); {
	case err != nil:
	case name[0] == '.':
		err = fmt.Errorf("task id %q: a dot in front would hide the file", id)
	case name[0] == '-', name != strings.TrimSpace(name):
		err = fmt.Errorf("task id %q: a dash in front or a space at an end would be in the way of each command", id)
	case isConflictCopy(name):
		err = fmt.Errorf("task id %q: a program that syncs folders names its conflict copies so", id)
	case len(id)+len(extension) > maxNameBytes:
		err = fmt.Errorf("task id: %d bytes, want at most %d", len(id), maxNameBytes-len(extension))
	}
	if err != nil {
		return "", usage(err, idHint)
	}
	return id, nil
}

// checkText refuses what the YAML encoder cannot always write so that it can be
// read back: lines and tabs.
func (d Draft) checkText() error {
	for _, field := range []struct{ name, text string }{
		{"title", d.Title},
		{"tags", strings.Join(d.Tags, "")},
		{"assigned_to", d.AssignedTo},
		{"next_action", d.NextAction},
		{"success_criterion", d.SuccessCriterion},
		{"requires", strings.Join(d.Requires, "")},
		{"waiting_for", d.WaitingFor},
		{"family", d.Family},
	} {
		if _, err := fleet.ParseText(field.name, field.text); err != nil {
			return usage(err, "say it in one line, and the rest in the body")
		}
	}
	return nil
}

const idHint = "leave the id out to have one made from the title"

// name is the file name to try, of an id that no task of the folders has. Only an id of our own making has a second.
func (d Draft) name(f Folder, id fleet.TaskID, attempt int) (string, error) {
	backlog, next := f.Format.Name == fleet.FormatBacklog, id
	if attempt > 1 {
		if d.ID != "" || backlog {
			return "", usage(fmt.Errorf("task %q: %w", id, fs.ErrExist), idHint)
		}
		next = fleet.TaskID(fmt.Sprintf("%s-%d", id, attempt))
	}
	switch {
	case f.Has(next):
		return d.name(f, id, attempt+1)
	case backlog:
		return string(id) + separator + fileTitle(d.Title, maxNameBytes-len(id)-len(separator)-len(extension)) + extension, nil
	}
	return string(next) + extension, nil
}

// fileTitle is a title as a backlog.md folder has it in the names of files.
func fileTitle(title string, most int) string {
	words := strings.FieldsFunc(title, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>:"/\|?*-`, r)
	})
	return clipped(strings.Join(words, "-"), min(most, maxSlugBytes))
}

// front is the front matter in a format's words.
func (d Draft) front(f Format, id fleet.TaskID) ([]byte, error) {
	var front yaml.Node
	if err := front.Encode(d); err != nil {
		return nil, err
	}
	_, state, err := f.stateEntry(d.State)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(front.Content); i += 2 {
		key, value := front.Content[i], front.Content[i+1]
		field := fleet.TaskField(key.Value)
		if key.Value = f.name(field); key.Value == "" {
			return nil, usage(fmt.Errorf("no field of the folder's files is for %s", field), "say it in the body")
		}
		switch {
		case field == fleet.FieldState:
			value.Tag, value.Value = "", state
		case f.Name == fleet.FormatBacklog && value.ShortTag() == "!!timestamp":
			at := d.Created
			if field == fleet.FieldWait {
				at = d.Wait
			}
			*value = yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Value: at.Format("2006-01-02 15:04")}
		}
	}
	if f.Name == fleet.FormatBacklog {
		var head yaml.Node
		if err := head.Encode(struct{ ID, Title string }{strings.ToUpper(string(id)), strings.TrimSpace(d.Title)}); err != nil {
			return nil, err
		}
		front.Content = append(head.Content, front.Content...)
	}
	return yaml.Marshal(&front)
}

func (d Draft) render(f Format, id fleet.TaskID) ([]byte, error) {
	d.State = cmp.Or(d.State, fleet.StateBacklog)
	d.Created = d.Created.UTC().Truncate(time.Second)
	d.Wait = d.Wait.UTC().Truncate(time.Second)
	front, err := d.front(f, id)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(fence + "\n" + string(front) + fence + "\n")
	switch title := strings.TrimSpace(d.Title); {
	case f.Name == fleet.FormatBacklog:
		b.WriteString("\n## Description\n")
	case title != "":
		b.WriteString("\n# " + title + "\n")
	}
	if d.Body != "" {
		b.WriteString("\n" + strings.TrimRight(d.Body, "\n") + "\n")
	}
	return []byte(b.String()), nil
}

// refused is the problem that the file would have, without a place in it, for
// there is none.
func refused(err error) error {
	if bad, ok := errors.AsType[*fileError](err); ok {
		err = errors.New(bad.Reason)
	}
	return usage(err, "stint task add --help")
}

const (
	maxNameBytes = 255 // the kernel's limit for a file name
	maxSlugBytes = 80  // about a line; leaves room for a number and for a path
)

// slug makes a file stem of a title: its letters, digits and the marks on them,
// in lower case, joined by dashes.
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark)
	})
	return clipped(strings.Join(words, "-"), maxSlugBytes)
}

// clipped is the beginning of a name, of at most so many bytes.
func clipped(s string, most int) string {
	for len(s) > most {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return cmp.Or(strings.Trim(s, "-"), "task")
}
