package engine

import (
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
)

// maxPrompt bounds what is read of a category's prompt file.
const maxPrompt = 1 << 20

// promptData is what a prompt is made of, and what a template sees.
type promptData struct {
	Category fleet.Category
	Task     *fleet.Task    // nil: a session that finds its own work
	Attempts []fleet.Run    // earlier sessions at the task, newest first
	Lessons  []fleet.Lesson // that the session is given
	Beside   []neighbour    // other sessions at work, oldest first
	Dir      string         // where it works
	Branch   string         // its own, in a worktree of its own; empty: it shares Dir with others
	Now      time.Time
	Deadline time.Time // when it is stopped
	Result   string    // the file in which it reports

	// The standard text, in the order of the standard prompt. A template that leaves one out
	// says it by itself.
	Situation  string // how the session works: unattended, until when, where, beside whom
	Assignment string // the task with its earlier attempts, or the category; the lessons
	Report     string // what done means, and how to say what came of it

	Fence string // between two lines of it, a text cannot be taken for a part of the prompt

	instructed bool // the category has a prompt file
}

// neighbour is another session that is at work now.
type neighbour struct {
	fleet.Run
	Apart bool // in a worktree of its own
}

// prompt is what the agent is asked. A category's prompt file with "{{" in it is a
// template of package text/template for the whole; any other is put before the standard
// text.
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
	bare, err := compose(c.Prompt, text, d)
	if err != nil {
		return "", err
	}
	d.Fence = fence(bare)
	return compose(c.Prompt, text, d)
}

// CheckPrompt says why a category's prompt file cannot be used, if it has one: it is not there,
// or is no template.
func CheckPrompt(path string) error {
	text, err := readPrompt(path)
	if err != nil || !strings.Contains(text, "{{") {
		return err
	}
	if _, err = template.New(path).Parse(text); err != nil {
		err = fmt.Errorf("prompt template: %w", err)
	}
	return err
}

// compose makes the prompt with the fence that it is given.
func compose(path, instructions string, d promptData) (string, error) {
	d.Situation, d.Assignment, d.Report = situation(d), assignmentText(d), howToReport(d)
	if strings.Contains(instructions, "{{") {
		return fromTemplate(path, instructions, d)
	}
	parts := []string{d.Situation, d.Assignment, d.Report}
	if instructions != "" {
		parts = append([]string{strings.TrimRight(instructions, "\n")}, parts...)
	}
	return strings.Join(parts, "\n\n") + "\n", nil
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

// fromTemplate fills in a prompt template.
func fromTemplate(path, text string, d promptData) (string, error) {
	t, err := template.New(path).Option("missingkey=error").Parse(text)
	if err != nil {
		return "", fmt.Errorf("prompt template: %w", err)
	}
	var b strings.Builder
	if err := t.Execute(&b, d); err != nil {
		return "", fmt.Errorf("prompt template: %w", err)
	}
	return b.String(), nil
}
