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

// prompt is what the agent is asked: the category's instructions, the task, and
// how to report.
func prompt(c config.Category, category fleet.Category, task *fleet.Task) (string, error) {
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
	b.WriteString(howToReport)
	return b.String(), nil
}

func writeTask(b *strings.Builder, t *fleet.Task) {
	fmt.Fprintf(b, "Work on the task %q (%s), kept in %s.\n", t.ID, t.State, t.Path)
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

// howToReport ends every prompt.
const howToReport = `
When you are done, you may write JSON to the file named by $STINT_RESULT, for example
{"outcome": "productive", "grade": 0.8, "reason": "tests pass", "task_state": "done"}
outcome: productive, noop, nothing (no change was needed), failed or quota; grade: 0 to 1.
`
