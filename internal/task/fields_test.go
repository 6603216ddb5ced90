package task_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

const fullTask = `---
state: active   # begun on Monday
created: 2026-01-02
category: research
priority: high
tags: [docs, "paper", 2026]
assigned_to: bob
next_action: >-
  Read the
  survey.
success_criterion: "a summary, with 'quotes' and $HOME"
requires:
  - other-task
  - https://example.org/issues/1
wait: 2026-06-01T10:00:00+02:00
waiting_for: ann
family: surveys
paths: [docs/survey, '**/*.bib']
related: {unknown: [1, 2]}
---

# Read the *survey*

Body.
`

func TestParseEveryField(t *testing.T) {
	t.Parallel()
	got := must.Get(task.Parse("/w/tasks/read it.md", []byte(fullTask)))(t)
	want := fleet.Task{
		ID:               "read it",
		State:            fleet.StateActive,
		Created:          time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Category:         "research",
		Priority:         fleet.PriorityHigh,
		Tags:             []string{"docs", "paper", "2026"},
		AssignedTo:       "bob",
		NextAction:       "Read the survey.",
		SuccessCriterion: "a summary, with 'quotes' and $HOME",
		Requires:         []string{"other-task", "https://example.org/issues/1"},
		Wait:             time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC),
		WaitingFor:       "ann",
		Family:           "surveys",
		Paths:            []string{"docs/survey", "**/*.bib"},
		Title:            "Read the *survey*",
		Body:             "\n# Read the *survey*\n\nBody.\n",
		Path:             "/w/tasks/read it.md",
	}
	must.Equal(t, "task", got, want, unseen)
}

func TestParseForms(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	instant := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, front string
		want        fleet.Task // what differs from an empty task
	}{
		{"nothing", "", fleet.Task{}},
		{"only comments", "# nothing yet\n\n", fleet.Task{}},
		{"nulls", "state:\ncreated: ~\ntags: null\nwait: NULL\nfamily:\nwaiting_for: ~\npriority:\nrequires: [~, '', a]\n", fleet.Task{Requires: []string{"a"}}},
		{"alias new", "state: new\n", fleet.Task{}},
		{"alias paused", "state: paused\n", fleet.Task{}},
		{"review", "state: ready_for_review\n", fleet.Task{State: fleet.StateReview}},
		{"flow mapping", "{state: done, tags: [a]}\n", fleet.Task{State: fleet.StateDone, Tags: []string{"a"}}},
		{"quoted key", "\"state\": done\n", fleet.Task{State: fleet.StateDone}},
		{"anchors", "family: &f x\nassigned_to: *f\ntags: &t [a, *f]\nrequires: *t\n", fleet.Task{
			Family: "x", AssignedTo: "x", Tags: []string{"a", "x"}, Requires: []string{"a", "x"},
		}},
		{"alias for a name", "x: &k state\n*k : done\n", fleet.Task{State: fleet.StateDone}},
		{"scalars for lists", "tags: a\nrequires: b\n", fleet.Task{Tags: []string{"a"}, Requires: []string{"b"}}},
		{"aliases of fields", "depends: a\ncoordination_family: f\n", fleet.Task{Requires: []string{"a"}, Family: "f"}},
		{"field and alias", "depends: [b, a]\nrequires: [a]\ncoordination_family: g\nfamily: f\n", fleet.Task{Requires: []string{"a", "b"}, Family: "f"}},
		{"scalars for text", "assigned_to: yes\nnext_action: 12\nwaiting_for: 2026-01-02\n", fleet.Task{AssignedTo: "yes", NextAction: "12", WaitingFor: "2026-01-02"}},
		{"date", "wait: 2026-01-02\n", fleet.Task{Wait: day}},
		{"quoted date", "wait: '2026-01-02'\n", fleet.Task{Wait: day}},
		{"no zone", "wait: 2026-01-02T15:04:05\n", fleet.Task{Wait: instant}},
		{"utc", "wait: 2026-01-02T15:04:05Z\n", fleet.Task{Wait: instant}},
		{"offset", "wait: \"2026-01-02T13:04:05-02:00\"\n", fleet.Task{Wait: instant}},
		{"fraction", "wait: 2026-01-02T15:04:05.000000+00:00\n", fleet.Task{Wait: instant}},
		{"space", "wait: 2026-01-02 15:04:05\n", fleet.Task{Wait: instant}},
		{"minutes", "wait: 2026-01-02T15:04\n", fleet.Task{Wait: instant.Add(-5 * time.Second)}},
		{"unknown fields", "x: {a: 1, a: 2}\n? [k]\n: v\nnested: [[[]]]\n", fleet.Task{}},
		{"document end", "state: done\n...\n", fleet.Task{State: fleet.StateDone}},
	} {
		for _, form := range []struct{ name, file string }{
			{"lf", "---\n" + test.front + "---\n"},
			{"crlf and bom", "\ufeff---\r\n" + strings.ReplaceAll(test.front, "\n", "\r\n") + "---\r\n"},
			{"blanks after fences, no last newline", "--- \t\n" + test.front + "--- "},
		} {
			t.Run(test.name+"/"+form.name, func(t *testing.T) {
				t.Parallel()
				got := must.Get(task.Parse("/t/a.md", []byte(form.file)))(t)
				want := test.want
				want.ID, want.Title, want.Path = "a", "a", "/t/a.md"
				if want.State == "" {
					want.State = fleet.StateBacklog
				}
				want.Priority = fleet.PriorityMedium
				must.Equal(t, "task", got, want, unseen)
			})
		}
	}
}

func TestParseProblems(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		line       int
		want       string // part of the reason
	}{
		{"empty", "", 1, "does not end"},
		{"no front matter", "# Title\n---\n", 1, "no front matter"},
		{"blank first line", "\n---\n---\n", 1, "no front matter"},
		{"text on the fence", "--- a: b\n---\n", 1, "no front matter"},
		{"unterminated", "---\nstate: todo\n", 1, "does not end"},
		{"front matter too large", "---\n" + strings.Repeat("# x\n", 20000) + "---\n", 1, "64 KiB"},
		{"a list", "---\n# c\n- a\n---\n", 3, "lines of `field: value`"},
		{"a word", "---\ntodo\n---\n", 2, "lines of `field: value`"},
		{"colon in value", "---\nstate: todo\nnext_action: a: b\n---\n", 3, "mapping values are not allowed"},
		{"at sign", "---\nstate: todo\ntags: [a, @b]\nwait:\n---\n", 3, "cannot start any token"},
		{"broken quotes", "---\na: b\nb: 'it's'\nc: d\n---\n", 3, "did not find expected key"},
		{"open quote", "---\na: b\nb: \"it\nc: d\n---\n", 3, "unexpected end of stream"},
		{"open list", "---\na: b\nb: [x, y\nc: d\ne: f\n---\n", 3, "expected ',' or ']'"},
		{"list in mapping", "---\na: b\n- c\n---\n", 3, "did not find expected key"},
		{"dedent", "---\na:\n  - b\n c: d\n---\n", 4, "did not find expected key"},
		{"tab", "---\na: b\n\tc: d\n---\n", 3, "tab"},
		{"unknown alias", "---\na: b\nc: *d\n---\n", 3, "unknown anchor"},
		{"bell", "---\na: b\nc: \x07\n---\n", 3, "control characters"},
		{"two documents", "---\na: b\n--- {c: d}\n---\n", 3, "second YAML document"},
		{"text after the document", "---\na: b\n...\nc: d\n---\n", 4, "second YAML document"},
		{"last line", "---\na: b\n}\n---\n", 3, "did not find expected"},
		{"crlf", "\ufeff---\r\na: b\r\nc: @\r\n---\r\n", 3, "cannot start any token"},
		{"duplicate", "---\nstate: todo\nx: 1\n\"state\": done\n---\n", 4, "state is given twice, first on line 2"},
		{"duplicate unknown", "---\nx: 1\nx: 1\n---\n", 3, "x is given twice"},
		{"duplicate by alias", "---\nx: &k state\n*k : todo\nstate: done\n---\n", 4, "state is given twice, first on line 3"},
		{"merge", "---\na: &a {state: done}\n<<: *a\n---\n", 3, "merge keys"},
		{"state", "---\nx: 1\nstate: Todo\n---\n", 3, `state "Todo": want one of`},
		{"state a list", "---\nstate: [todo]\n---\n", 2, "state: want text"},
		{"priority", "---\npriority: 1\n---\n", 2, `priority "1": want`},
		{"category", "---\ncategory: Code Review\n---\n", 2, `category "Code Review": want`},
		{"wait", "---\nwait: tomorrow\n---\n", 2, `wait: date "tomorrow": want 2026-01-02`},
		{"no such day", "---\ncreated: 2026-02-30\n---\n", 2, `created: date "2026-02-30"`},
		{"tags a mapping", "---\ntags: {a: b}\n---\n", 2, "tags: want a list of text"},
		{"tags nested", "---\ntags:\n- a\n- [b]\n---\n", 4, "tags: want a list of text"},
		{"paths", "---\npaths:\n- go.mod\n- /etc\n---\n", 4, "paths: \"/etc\": files are named from the top of the repository"},
		{"binary", "---\nfamily: !!binary aGk=\n---\n", 2, "family: want text"},
		{"escape", "---\nfamily: \"\\e[31m\"\n---\n", 2, "control characters"},
		{"escaped NUL", "---\nrequires: [\"a\\0\"]\n---\n", 2, "control characters"},
		{"after a line separator", "---\n# a\u2028# b\nstate: x\n---\n", 3, "state"},
		{"NUL in the body", "---\n---\n\na\x00b\n", 4, "NUL"},
		{"invalid UTF-8", "---\na: \xff\n---\n", 2, "UTF-8"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", 1, "NUL"},
		{"large", "---\n---\n" + strings.Repeat("x", 1<<20), 0, "1 MiB"},
		{"aliases of aliases", bomb(), 3, "tags: want a list of text"},
		{"an alias of itself", "---\ntags: &t [a, *t]\n---\n", 2, "tags: want a list of text"},
		{"deep", "---\na: " + strings.Repeat("[", 20000) + "\n---\n", 2, "max depth"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := task.Parse("/t/a.md", []byte(test.file))
			if err == nil {
				t.Fatalf("got %+v, want a problem", got)
			}
			place := fmt.Sprintf("/t/a.md:%d: ", test.line)
			if test.line == 0 {
				place = "/t/a.md: "
			}
			if !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s… %s …", err, place, test.want)
			}
		})
	}
}

// bomb expands to 9⁹ elements for who expands it.
func bomb() string {
	var b strings.Builder
	b.WriteString("---\na0: &a0 [x, x, x, x, x, x, x, x, x]\na1: &a1 [*a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0, *a0]\ntags: *a1\n")
	for i := 2; i < 9; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return b.String() + "---\n"
}

func TestParseIgnoresWhatUnknownFieldsExpandTo(t *testing.T) {
	t.Parallel()
	got := must.Get(task.Parse("/t/a.md", []byte(strings.Replace(bomb(), "tags: *a1", "tags: *a0", 1))))(t)
	must.Equal(t, "tags", got.Tags, []string{"x"})
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ body, want string }{
		{"", "a"},
		{"text\n", "a"},
		{"text\n\n## Second level\n# First\n", "Second level"},
		{"#no space\n#\n# \n####### seven\n# C# and #tags #\n", "C# and #tags #"},
		{"```sh\n# a comment\n~~~\n# b\n```\n# Heading\r\n", "Heading"},
		{"    # code\n\t# code\n   #\tHeading  \n", "Heading"},
		{"# red \x1b[31m\ttext\n", "red \ufffd[31m text"},
		{"# 日本語 🔥", "日本語 🔥"},
	} {
		got, err := task.Parse("/t/a.md", []byte("---\n---\n"+test.body))
		if err != nil || got.Title != test.want {
			t.Errorf("%q: got %q, %v, want %q", test.body, got.Title, err, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(fullTask))
	f.Add([]byte(bomb()))
	f.Add([]byte("\ufeff---\r\nstate: 'done'\r\n? [k]\r\n: |+\r\n  x\r\n\r\n---\r\n# T"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := task.Parse("/t/a.md", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "/t/a.md:") {
				t.Errorf("problem without a place: %v", err)
			}
			return
		}
		if !strings.HasSuffix(string(data), got.Body) {
			t.Errorf("body %q is not the end of %q", got.Body, data)
		}
		if state, err := fleet.ParseTaskState(string(got.State)); err != nil || state != got.State {
			t.Errorf("state %q of %q", got.State, data)
		}
		if strings.ContainsAny(got.Title+got.Family+got.WaitingFor, "\x00\x1b\r") {
			t.Errorf("control characters in %q", got.Title+got.Family+got.WaitingFor)
		}
	})
}
