package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
	"stint/internal/engine"
	"stint/internal/fleet"
)

const toReport = `
When you are done, you may write JSON to the file named by $STINT_RESULT, for example
{"outcome": "productive", "grade": 0.8, "reason": "tests pass", "task_state": "done"}
outcome: productive, noop, nothing (no change was needed), failed or quota; grade: 0 to 1.
`

func TestPrompt(t *testing.T) {
	t.Parallel()
	instructions := filepath.Join(t.TempDir(), "code.md")
	if err := os.WriteFile(instructions, []byte("Write tests first.\n\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := &fleet.Task{ID: "fix it", State: fleet.StateTodo, Path: "/w/tasks/fix it.md", Body: "\n# Fix it\n\n", NextAction: "Look."}
	lessons := []fleet.Lesson{
		{ID: "measure", Body: "\n# Measure first\r\n\nThen cut.\n\n"},
		{ID: `so "it" goes`, Body: "No heading."},
	}
	const taught = `
Lessons that earlier sessions of this kind learned:

<lesson id="measure">
` + "# Measure first\r" + `

Then cut.
</lesson>

<lesson id="so \"it\" goes">
No heading.
</lesson>
`
	for _, test := range []struct {
		name    string
		file    string
		task    *fleet.Task
		lessons []fleet.Lesson
		want    string
	}{
		{"least", "", nil, nil, "Do a session of work of the category \"code\", on what you find most worth doing.\n" + toReport},
		{"lessons", "", nil, lessons, "Do a session of work of the category \"code\", on what you find most worth doing.\n" + taught + toReport},
		{
			"everything", instructions, task, lessons,
			"Write tests first.\n\nWork on the task \"fix it\" (todo), kept in /w/tasks/fix it.md.\n\n# Fix it\n\nNext action: Look.\n" + taught + toReport,
		},
		{
			"no lessons", instructions, task, nil,
			"Write tests first.\n\nWork on the task \"fix it\" (todo), kept in /w/tasks/fix it.md.\n\n# Fix it\n\nNext action: Look.\n" + toReport,
		},
	} {
		got, err := engine.Prompt(config.Category{Prompt: test.file}, engine.PromptData{Category: "code", Task: test.task, Lessons: test.lessons})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(test.want, "\n")); diff != "" {
			t.Errorf("%s (-got +want):\n%s", test.name, diff)
		}
	}
}

// TestPromptTemplate has a template make the whole prompt.
func TestPromptTemplate(t *testing.T) {
	t.Parallel()
	data := engine.PromptData{
		Category: "code", Task: &fleet.Task{ID: "a", Title: "Fix {{it}}"},
		Lessons: []fleet.Lesson{{ID: "l", Body: "Measure."}},
		Attempts: []fleet.Run{{
			EndedAt: time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC), Verdict: fleet.Verdict{Outcome: fleet.Failed, Reason: "no network"},
		}},
	}
	for _, test := range []struct{ name, file, want, err string }{
		{
			"a template", "{{.Category}}: {{.Task.Title}}{{range .Lessons}} [{{.Body}}]{{end}}{{range .Attempts}} {{.Verdict.Reason}}{{end}}",
			"code: Fix {{it}} [Measure.] no network", "",
		},
		{"how to report", "{{.Report}}", strings.TrimSpace(toReport), ""},
		{"does not parse", "{{.Category", "", "unclosed action"},
		{"asks for what there is not", "{{.Colour}}", "", "can't evaluate field Colour"},
		{
			"no template", "Do { it }.",
			"Do { it }.\n\nWork on the task \"a\" ().\n\nEarlier sessions at this task:\n\n" +
				"- 2026-06-26T12:00:00Z, failed: no network\n\nLessons that earlier sessions of this kind learned:\n\n" +
				"<lesson id=\"l\">\nMeasure.\n</lesson>\n" + toReport, "",
		},
	} {
		file := filepath.Join(t.TempDir(), "prompt")
		if err := os.WriteFile(file, []byte(test.file), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := engine.Prompt(config.Category{Prompt: file}, data)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: got error %v, want %q of %s", test.name, err, test.err, file)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, got, err, test.want)
		}
	}
}
