package engine

import (
	"fmt"
	"os"
	"strings"

	"stint/internal/config"
	"stint/internal/fleet"
)

// maxPrompt bounds what is read of a category's prompt file.
const maxPrompt = 1 << 20

// prompt is what the agent is asked: the category's instructions, the task, the
// lessons it is given, and how to report.
func prompt(c config.Category, category fleet.Category, task *fleet.Task, lessons []fleet.Lesson) (string, error) {
	var b strings.Builder
	if c.Prompt != "" {
		info, err := os.Stat(c.Prompt)
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxPrompt) {
			err = fmt.Errorf("%s: want a file of at most %d bytes", c.Prompt, maxPrompt)
		}
		if err != nil {
			return "", fmt.Errorf("read prompt of category %s: %w", category, err)
		}
		data, err := os.ReadFile(c.Prompt)
		if err != nil {
			return "", fmt.Errorf("read prompt of category %s: %w", category, err)
		}
		b.WriteString(strings.TrimRight(string(data), "\n") + "\n\n")
	}
	if task == nil {
		fmt.Fprintf(&b, "Do a session of work of the category %q, on what you find most worth doing.\n", category)
	} else {
		writeTask(&b, task)
	}
	writeLessons(&b, lessons)
	b.WriteString(howToReport)
	return b.String(), nil
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
