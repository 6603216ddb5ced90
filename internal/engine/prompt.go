package engine

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
)

// maxPrompt bounds what is read of a category's prompt file.
const maxPrompt = 1 << 20

// promptData is what a prompt is made of.
type promptData struct {
	Category fleet.Category
	Task     *fleet.Task                  // nil: a session that finds its own work
	Attempts []fleet.Run                  // earlier sessions at the task, newest first
	Reviews  map[fleet.RunID]fleet.Review // what became of their work
	Lessons  []fleet.Lesson               // that the session is given
	Said     string                       // of the work on the branch, to be answered; empty: nothing
	Beside   []neighbour                  // other sessions at work, oldest first
	Left     fleet.Leftover               // that an earlier one has left
	Dir      string                       // where it works
	Branch   string                       // its own, in a clone of its own; empty: it shares Dir with others
	Now      time.Time
	Deadline time.Time // when it is stopped
	Result   string    // the file in which it reports

	fence      string // between two lines of it, a text cannot be taken for a part of the prompt
	instructed bool   // the category has a prompt file
}

// neighbour is another session that is at work now.
type neighbour struct {
	fleet.Run
	Apart bool // in a clone of its own
}

// prompt is what the agent is asked: a category's prompt file with the placeholders in it
// filled in, or, where it has none, the file before the standard text.
//
// Tasks, lessons and what earlier sessions said were written by others, so a line of
// backticks before and after them says where they begin and end. To be longer than any
// backticks in them it is chosen for a prompt without it.
func prompt(c config.Category, d promptData) (string, error) {
	text, err := readPrompt(c.Prompt)
	if err != nil {
		err = fmt.Errorf("read prompt of category %s: %w: %w", d.Category, err, fleet.ErrUsage)
		return "", fleet.WithHint(err, "write the file, or correct its path: stint config check")
	}
	d.instructed = text != ""
	bare, err := compose(text, d)
	if err != nil {
		return "", fmt.Errorf("prompt %s: %w", c.Prompt, err)
	}
	d.fence = fence(bare)
	return compose(text, d)
}

// CheckPrompt says why a category's prompt file cannot be used, if it has one: it is not there,
// or has a placeholder that does not exist.
func CheckPrompt(path string) error {
	text, err := readPrompt(path)
	if err != nil {
		return err
	}
	if _, err = compose(text, promptData{Task: &fleet.Task{}}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// compose makes the prompt with the fence that it is given.
func compose(instructions string, d promptData) (string, error) {
	values := placeholders(d)
	whole, filled, err := fill(instructions, values)
	if err != nil || filled {
		return whole, err
	}
	parts := []string{values["situation"], values["assignment"], values["report"]}
	if instructions != "" {
		parts = append([]string{strings.TrimRight(instructions, "\n")}, parts...)
	}
	return strings.Join(parts, "\n\n") + "\n", nil
}

// placeholders are the words that a prompt file may have between {{ and }}, with the text that
// each stands for. A text of other people comes within its fence.
func placeholders(d promptData) map[string]string {
	part := func(write func(*strings.Builder)) string {
		var b strings.Builder
		write(&b)
		return strings.Trim(b.String(), "\n")
	}
	values := map[string]string{
		"situation":  situation(d),
		"beside":     part(func(b *strings.Builder) { writeBeside(b, d) }),
		"assignment": assignmentText(d),
		"attempts":   part(func(b *strings.Builder) { writeAttempts(b, d) }),
		"lessons":    part(func(b *strings.Builder) { writeLessons(b, d.Lessons, d.fence) }),
		"feedback":   part(func(b *strings.Builder) { writeSaid(b, d) }),
		"report":     howToReport(d),
		"category":   string(d.Category),
		"task":       "",
		"task_id":    "",
		"workspace":  d.Dir,
		"branch":     d.Branch,
		"now":        utc(d.Now),
		"deadline":   utc(d.Deadline),
		"result":     d.Result,
	}
	if d.Task != nil {
		values["task"] = part(func(b *strings.Builder) { writeTask(b, d.Task, d.fence) })
		values["task_id"] = string(d.Task.ID)
	}
	return values
}

// fill replaces each {{word}} in a text and reports whether there was one. A word that has no
// value is an error; anything else between braces is the text's own, and what was filled in
// is not looked at again.
func fill(text string, values map[string]string) (whole string, filled bool, err error) {
	const letters = "abcdefghijklmnopqrstuvwxyz_"
	var b strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), filled, nil
		}
		inside, next, closed := strings.Cut(after, "}}")
		word := strings.TrimSpace(inside)
		if !closed || word == "" || strings.Trim(word, letters) != "" {
			b.WriteString("{{")
			rest = after
			continue
		}
		value, known := values[word]
		if !known {
			line := 1 + strings.Count(text[:len(text)-len(after)], "\n")
			err := fmt.Errorf("line %d: {{%s}} is no placeholder: %w", line, word, fleet.ErrUsage)
			return "", false, fleet.WithHint(err, meantPlaceholder(word, slices.Sorted(maps.Keys(values))))
		}
		b.WriteString(value)
		rest, filled = next, true
	}
}

// meantPlaceholder is the hint about a word that is none.
func meantPlaceholder(word string, known []string) string {
	hint := "the placeholders are " + strings.Join(known, ", ")
	if near := fleet.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean {{%s}}? %s", near, hint)
	}
	return hint
}

// fence is a run of backticks that is longer than any in the text.
func fence(text string) string {
	longest, run := 2, 0 // three are what Markdown has
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// readPrompt reads a category's prompt file, if it has one.
func readPrompt(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxPrompt {
		return "", fmt.Errorf("%s: want a file of at most %d bytes", path, maxPrompt)
	}
	data, err := os.ReadFile(path)
	return string(data), err
}
