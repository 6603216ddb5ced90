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

const (
	// maxPrompt bounds what is read of a category's prompt file.
	maxPrompt = 1 << 20
	// mostAttempts are told of in a prompt: what failed longer ago says little.
	mostAttempts = 5
)

// promptData is what a prompt is made of, and what a template sees.
type promptData struct {
	Category fleet.Category
	Task     *fleet.Task    // nil: a session that finds its own work
	Lessons  []fleet.Lesson // that the session is given
	Attempts []fleet.Run    // earlier sessions at the task, newest first
	Report   string         // how to report; a template that leaves it out tells the agent by itself
}

// prompt is what the agent is asked. A category's prompt file with "{{" in it is a
// template of package text/template for the whole; any other is put before the task, the
// lessons and how to report.
func prompt(c config.Category, d promptData) (string, error) {
	d.Report = strings.TrimSpace(howToReport)
	text, err := readPrompt(c.Prompt)
	if err != nil {
		return "", fmt.Errorf("read prompt of category %s: %w", d.Category, err)
	}
	if strings.Contains(text, "{{") {
		return fromTemplate(c.Prompt, text, d)
	}
	var b strings.Builder
	if text != "" {
		b.WriteString(strings.TrimRight(text, "\n") + "\n\n")
	}
	if d.Task == nil {
		fmt.Fprintf(&b, "Do a session of work of the category %q, on what you find most worth doing.\n", d.Category)
	} else {
		writeTask(&b, d.Task)
	}
	writeAttempts(&b, d.Attempts)
	writeLessons(&b, d.Lessons)
	b.WriteString(howToReport)
	return b.String(), nil
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

// writeAttempts tells what earlier sessions at the task came to.
func writeAttempts(b *strings.Builder, attempts []fleet.Run) {
	if len(attempts) == 0 {
		return
	}
	b.WriteString("\nEarlier sessions at this task:\n\n")
	for _, r := range attempts {
		fmt.Fprintf(b, "- %s, %s: %s\n", r.EndedAt.UTC().Format(time.RFC3339), r.Verdict.Outcome, r.Verdict.Reason)
	}
}

func writeTask(b *strings.Builder, t *fleet.Task) {
	fmt.Fprintf(b, "Work on the task %q (%s)", t.ID, t.State)
	if t.Path != "" {
		fmt.Fprintf(b, ", kept in %s", t.Path)
	}
	b.WriteString(".\n")
	if body := strings.TrimSpace(t.Body); body != "" {
		fmt.Fprintf(b, "\n%s\n", body)
	}
	for _, line := range []struct{ name, text string }{
		{"Next action", t.NextAction},
		{"Done when", t.SuccessCriterion},
		{"Assigned to", t.AssignedTo},
	} {
		if line.text != "" {
			fmt.Fprintf(b, "\n%s: %s\n", line.name, line.text)
		}
	}
}

// writeLessons puts each lesson between tags, as a lesson is Markdown with headings of
// its own. Without lessons it writes nothing.
func writeLessons(b *strings.Builder, lessons []fleet.Lesson) {
	if len(lessons) == 0 {
		return
	}
	b.WriteString("\nLessons that earlier sessions of this kind learned:\n")
	for _, l := range lessons {
		fmt.Fprintf(b, "\n<lesson id=%q>\n%s\n</lesson>\n", l.ID, strings.TrimSpace(l.Body))
	}
}

// howToReport ends every prompt.
const howToReport = `
When you are done, you may write JSON to the file named by $STINT_RESULT, for example
{"outcome": "productive", "grade": 0.8, "reason": "tests pass", "task_state": "done"}
outcome: productive, noop, nothing (no change was needed), failed or quota; grade: 0 to 1.
`
