package task_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// formatted is the folder of a workspace as a configuration's [tasks] has it read.
func formatted(t testing.TB, workspace, tasks string) task.Folder {
	t.Helper()
	text := "fleet = \"shop\"\nstate = \"/srv/state\"\nworkspace = \"" + workspace + "\"\n[category.code]\n[agent.a]\ncommand = [\"a\"]\n[tasks]\n" + tasks
	c := must.Get(config.Parse(filepath.Join(workspace, "stint.toml"), []byte(text), config.Options{}))(t)
	return task.Folder{
		Dir: c.Tasks.Dir, DefaultCategory: c.Tasks.DefaultCategory,
		Format: task.Format{
			Name: c.Tasks.Format, Fields: c.Tasks.Fields, States: c.Tasks.States, Priorities: c.Tasks.Priorities,
			Foreign: c.Tasks.Foreign, Words: c.Tasks.Words,
		},
	}
}

// workspaceOf is a copy of one of testdata, to be written to.
func workspaceOf(t testing.TB, name string) string {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))))
	return dir
}

// listOf lists the folder: the tasks without times and paths, and the problems with
// paths relative to the workspace.
func listOf(t testing.TB, workspace string, f task.Folder) (tasks []fleet.Task, problems []string) {
	t.Helper()
	tasks, bad, err := f.List(t.Context())
	must.Do(t, err)
	for i := range tasks {
		if tasks[i].Path == "" || tasks[i].Modified.IsZero() {
			t.Errorf("%s: path %q, modified %v", tasks[i].ID, tasks[i].Path, tasks[i].Modified)
		}
		tasks[i].Path, tasks[i].Modified = "", time.Time{}
	}
	for _, p := range bad {
		problems = append(problems, strings.TrimPrefix(p.String(), workspace+"/"))
	}
	return tasks, problems
}

func TestBacklogFolder(t *testing.T) {
	t.Parallel()
	workspace := workspaceOf(t, "backlog.md")
	f := formatted(t, workspace, `format = "backlog.md"`)
	got, problems := listOf(t, workspace, f)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	begun := time.Date(2025, 1, 1, 10, 0, 0, 0, time.UTC)
	want := []fleet.Task{
		{ID: "back-12", Title: `Voucher is lost: after the "address" step`, State: "todo", Priority: "high", AssignedTo: "@ann, @codex", Tags: []string{"backend", "checkout"}, Requires: []string{"back-3", "task-11"}, Created: at(1, 9, 30)},
		{ID: "back-13", Title: "Speed up the cart", State: "active", Created: at(2, 0, 0)},
		{ID: "back-13.01", Title: "Measure the cart", State: "todo", Priority: "low", Family: "BACK-13", Created: at(2, 11, 0)},
		{ID: "back-15", Title: "After the archived", State: "todo", Requires: []string{"back-2"}, Created: at(3, 8, 0)},
		{ID: "back-2", Title: "Not wanted", State: "cancelled", Created: begun},
		{ID: "back-3", Title: "Set up the shop", State: "done", Created: begun},
		{ID: "back-4", Title: "Old news", State: "done", Tags: []string{"docs"}, Created: time.Date(2025, 7, 26, 14, 30, 0, 0, time.UTC)},
		{ID: "task-11", Title: "Choose a name", State: "done", Created: begun},
	}
	for i := range want {
		want[i].Category = "code"
		if want[i].Priority == "" {
			want[i].Priority = "medium"
		}
	}
	must.Equal(t, "tasks", got, want, unseen)
	must.Equal(t, "problems", problems, []string{
		`backlog/tasks/back-14 - Look-at-the-taxes.md:4: status: "In Review" is not known: say under [tasks] what it means, as in states = { "In Review" = "todo" }`,
	})

	f = formatted(t, workspace, "format = \"backlog.md\"\nstates = { \"In Review\" = \"ready_for_review\" }")
	if one, err := f.Get(t.Context(), "back-14"); err != nil || one.State != fleet.StateReview {
		t.Errorf("back-14: %v, %v; want it in review", one.State, err)
	}
	for _, id := range []fleet.TaskID{"back-1", "BACK-12", "draft-1", "config", "back-12 - Voucher-is-lost"} {
		if _, err := f.Get(t.Context(), id); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("%s: %v, want not found", id, err)
		}
	}
	if one, err := f.Get(t.Context(), "task-11"); err != nil || !one.State.Settled() {
		t.Errorf("task-11, put away: %+v, %v", one, err)
	}
}

// TestForeignFoldersAreNoWork holds that without a format no task of others is offered.
func TestForeignFoldersAreNoWork(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"backlog.md": "backlog/tasks", "obsidian": "Tasks"} {
		workspace := workspaceOf(t, name)
		tasks, problems := listOf(t, workspace, formatted(t, workspace, fmt.Sprintf("dir = %q", dir)))
		for _, one := range tasks {
			if one.ID != "No box" {
				t.Errorf("%s: %q is offered as %s", name, one.ID, one.State)
			}
		}
		fix := `:4: status, and no state: say whose format it is: tasks.format = "backlog.md", or fields = { state = "status" } and states under [tasks]`
		if name == "obsidian" {
			fix = `:2: done, and no state: say under [tasks] whose format it is, as in fields = { state = "done" } and states = { true = "done", false = "todo" }`
		}
		if len(problems) < 3 {
			t.Errorf("%s: problems %v, want one for each file", name, problems)
		}
		for _, p := range problems {
			if _, rest, _ := strings.Cut(p, ".md:"); !strings.HasSuffix(fix, rest) {
				t.Errorf("%s: got  %s\nwant …%s", name, p, fix)
			}
		}
	}
	// Nor the other way round.
	got, problems := task.Format{Fields: map[fleet.TaskField]string{"state": "status"}, Foreign: true}.Parse("/w/a.md", []byte("---\nstate: todo\n---\n"))
	if problems == nil || !strings.Contains(problems.Error(), "/w/a.md:2: state, and no status: ") {
		t.Errorf("got %v, %v; want a problem", got.State, problems)
	}
}

func TestGptmeFolder(t *testing.T) {
	t.Parallel()
	workspace := workspaceOf(t, "gptme")
	f := formatted(t, workspace, `format = "gptme"`)
	got, problems := listOf(t, workspace, f)
	want := []fleet.Task{
		{
			ID: "ci-speed", Title: "Speed up CI", State: "todo", Priority: "low", AssignedTo: "bob@host:DISPLAY=:1", Tags: []string{"infra", "ci", "frontier"},
			Requires: []string{"old-runner"}, NextAction: "Draft the workflow file", SuccessCriterion: "CI green on master for 3 consecutive pushes",
		},
		{ID: "forgotten", Title: "Forgotten", State: "cancelled", Priority: "medium"},
		{
			ID: "merge-voucher", Title: "Merge the voucher", State: "active", Priority: "high", AssignedTo: "bob",
			WaitingFor: "type: pr_merged, ref: example/shop#123, type: comment, ref: example/shop#9, pattern: LGTM",
		},
		{ID: "nobody", Title: "Nobody waits", State: "backlog", Priority: "medium", Requires: []string{"ci-speed"}},
		{ID: "old-runner", Title: "Old runner", State: "done", Priority: "medium"},
		{ID: "plan", Title: "A plan that is not released", State: "someday", Priority: "medium"},
	}
	for i := range want {
		want[i].Category = "code"
	}
	must.Equal(t, "tasks", got, want, cmpopts.IgnoreFields(fleet.Task{}, "Created"), unseen)
	if problems != nil {
		t.Errorf("problems %v", problems)
	}
}

const obsidian = `dir = "Tasks"
fields = { state = "done", requires = "depends", wait = "" }
states = { true = "done", false = "todo" }`

func TestObsidianFolder(t *testing.T) {
	t.Parallel()
	workspace := workspaceOf(t, "obsidian")
	f := formatted(t, workspace, obsidian)
	got, problems := listOf(t, workspace, f)
	want := []fleet.Task{
		{ID: "Choose a name", Title: "Choose a name", State: "done", Requires: []string{"Prices"}},
		{ID: "Fix the cart", Title: "Fix the cart", State: "todo", Tags: []string{"shop"}, Requires: []string{"Choose a name", "Prices"}},
		{ID: "No box", Title: "No box", State: "backlog", Tags: []string{"shop"}},
		{ID: "Prices", Title: "Prices", State: "backlog", Requires: []string{"Choose a name"}},
	}
	for i := range want {
		want[i].Category, want[i].Priority = "code", "medium"
	}
	must.Equal(t, "tasks", got, want, unseen)
	if problems != nil {
		t.Errorf("problems %v", problems)
	}
}

// TestSetStateWritesTheFoldersWord holds that a state is written in the folder's words,
// and nothing else is changed.
func TestSetStateWritesTheFoldersWord(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		workspace, tasks string
		id               fleet.TaskID
		file             string
		state            fleet.TaskState
		old, want        string // a line before and after; want is part of the error where old is empty
	}{
		{"backlog.md", `format = "backlog.md"`, "back-12", "backlog/tasks/back-12 - Voucher-is-lost.md", "done", "status: To Do\n", "status: Done\n"},
		{"backlog.md", `format = "backlog.md"`, "back-15", "backlog/tasks/back-15 - After-the-archived.md", "active", "status: to do\n", "status: In Progress\n"},
		{"backlog.md", "format = \"backlog.md\"\nstates = { \"In Review\" = \"ready_for_review\" }", "back-13", "backlog/tasks/back-13 - Speed-up-the-cart.md", "ready_for_review", "status: In Progress\n", "status: In Review\n"},
		{"backlog.md", "format = \"backlog.md\"\nstates = { Shipped = \"done\" }", "back-13", "backlog/tasks/back-13 - Speed-up-the-cart.md", "done", "status: In Progress\n", "status: Shipped\n"},
		{"backlog.md", `format = "backlog.md"`, "back-13", "", "ready_for_review", "", "no word of status stands for it"},
		{"gptme", `format = "gptme"`, "ci-speed", "tasks/ci-speed.md", "ready_for_review", "state: todo\n", "state: ready_for_review\n"},
		{"gptme", `format = "gptme"`, "ci-speed", "tasks/ci-speed.md", "someday", "state: todo\n", "state: someday\n"},
		{"obsidian", obsidian, "Fix the cart", "Tasks/Fix the cart.md", "done", "done: false\n", "done: true\n"},
		{"obsidian", obsidian, "Prices", "Tasks/Prices.md", "done", "done:\n", "done: true\n"},
		{"obsidian", obsidian, "No box", "Tasks/No box.md", "done", "tags: [shop]\n", "tags: [shop]\ndone: true\n"},
		{"obsidian", obsidian, "Prices", "", "active", "", "no word of done stands for it"},
	} {
		workspace := workspaceOf(t, test.workspace)
		f := formatted(t, workspace, test.tasks)
		if test.old == "" {
			changed, err := f.SetState(t.Context(), test.id, test.state)
			if changed || err == nil || !strings.Contains(err.Error(), test.want) || fleet.Hint(err) == "" {
				t.Errorf("%s to %s: %v, %v; want an error with %q and advice", test.id, test.state, changed, err, test.want)
			}
			continue
		}
		path := filepath.Join(workspace, test.file)
		before := readFile(t, path)
		if changed, err := f.SetState(t.Context(), test.id, test.state); !changed || err != nil {
			t.Errorf("%s to %s: %v, %v", test.id, test.state, changed, err)
		}
		if got, want := readFile(t, path), strings.Replace(before, test.old, test.want, 1); got != want || want == before {
			t.Errorf("%s to %s: got\n%s\nwant\n%s", test.id, test.state, got, want)
		}
		if one, err := f.Get(t.Context(), test.id); err != nil || one.State != test.state {
			t.Errorf("%s: read back as %s, %v; want %s", test.id, one.State, err, test.state)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tasks string
		want  string // the words of TaskStates, in their order; "-": none
	}{
		{``, "active todo backlog waiting ready_for_review someday done cancelled expired"},
		{`format = "gptme"`, "active todo backlog waiting ready_for_review someday done cancelled expired"},
		{`format = "backlog.md"`, "In Progress,To Do,-,-,-,-,Done,-,-"},
		{"format = \"backlog.md\"\nstates = { Zu = \"done\", Aus = \"done\", done = \"done\", \"To Do\" = \"backlog\" }", "In Progress,-,To Do,-,-,-,done,-,-"},
		{`states = { Doing = "active" }`, "Doing,todo,backlog,waiting,ready_for_review,someday,done,cancelled,expired"},
		{"fields = { state = \"done\" }\nstates = { true = \"done\", false = \"todo\" }", "-,false,-,-,-,-,true,-,-"},
		{`fields = { state = "status" }`, "active todo backlog waiting ready_for_review someday done cancelled expired"},
	} {
		f := formatted(t, t.TempDir(), test.tasks)
		var got []string
		for _, s := range fleet.TaskStates() {
			word, ok := f.Format.Word(s)
			if !ok {
				word = "-"
			} else if one, err := f.Format.Parse("/w/a.md", fmt.Appendf(nil, "---\n%s: %s\n---\n", fieldOf(f.Format), word)); err != nil || one.State != s {
				t.Errorf("%s: %q for %s is read as %s, %v", test.tasks, word, s, one.State, err)
			}
			got = append(got, word)
		}
		want := strings.FieldsFunc(test.want, func(r rune) bool { return r == ',' || r == ' ' && !strings.Contains(test.want, ",") })
		must.Equal(t, test.tasks, got, want)
	}
}

// TestWordOfTwoMeanings reads a word in the same way each time that stands in the table twice, in other letters.
func TestWordOfTwoMeanings(t *testing.T) {
	t.Parallel()
	f := formatted(t, t.TempDir(), `states = { OPEN = "todo", oPen = "done", opeN = "waiting" }`)
	for range 200 {
		one, err := f.Format.Parse("/w/a.md", []byte("---\nstate: Open\n---\n"))
		if err != nil || one.State != fleet.StateTodo {
			t.Fatalf("got %s, %v, want the meaning of OPEN", one.State, err)
		}
	}
}

func fieldOf(f task.Format) string {
	if name := f.Fields[fleet.FieldState]; name != "" {
		return name
	}
	return "state"
}

func TestAddWritesTheFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		workspace, tasks, file, want string
	}{
		{"backlog.md", `format = "backlog.md"`, "backlog/tasks/back-16 - Check-the-VAT,-A-B.md", `---
id: BACK-16
title: 'Check: the VAT, A/B'
status: To Do
created_date: '2026-03-04 09:30'
priority: high
labels: [docs]
dependencies: [back-12]
---

## Description

Look.
`},
		{"gptme", `format = "gptme"`, "tasks/check-the-vat-a-b.md", `---
state: todo
created: 2026-03-04T09:30:00Z
priority: high
tags: [docs]
requires: [back-12]
---

# Check: the VAT, A/B

Look.
`},
		{"obsidian", obsidian, "Tasks/check-the-vat-a-b.md", `---
done: false
created: 2026-03-04T09:30:00Z
priority: high
tags: [docs]
depends: [back-12]
---

# Check: the VAT, A/B

Look.
`},
	} {
		workspace := workspaceOf(t, test.workspace)
		f := formatted(t, workspace, test.tasks)
		d := task.Draft{
			Title: "Check: the VAT, A/B", Body: "Look.\n", State: "todo", Priority: "high", Tags: []string{"docs"}, Requires: []string{"back-12"},
			Created: time.Date(2026, 3, 4, 9, 30, 0, 0, time.UTC),
		}
		preview, err := f.Add(t.Context(), d, true)
		if err != nil {
			t.Errorf("%s: preview: %v", test.workspace, err)
		}
		added, err := f.Add(t.Context(), d, false)
		if err != nil {
			t.Errorf("%s: %v", test.workspace, err)
			continue
		}
		if diff := cmp.Diff(added, preview, cmpopts.IgnoreFields(fleet.Task{}, "Modified"), unseen); diff != "" {
			t.Errorf("%s: added, previewed (-added +previewed):\n%s", test.workspace, diff)
		}
		must.Equal(t, test.workspace, readFile(t, filepath.Join(workspace, test.file)), test.want)
	}
	f := formatted(t, workspaceOf(t, "backlog.md"), `format = "backlog.md"`)
	for _, d := range []task.Draft{
		{ID: "BACK-12", Title: "Taken"}, {ID: "task-11", Title: "Taken, and put away"}, {ID: "task-7 - x", Title: "x", State: "todo"}, {Title: "x", NextAction: "no field for it"}, {Title: "x", State: "waiting"},
	} {
		if got, err := f.Add(t.Context(), d, false); !errors.Is(err, fleet.ErrUsage) {
			t.Errorf("%+v: added %s, %v; want a refusal", d, got.ID, err)
		}
	}
	if one, err := f.Add(t.Context(), task.Draft{ID: "Idea-7", Title: strings.Repeat("é/", 200), State: "todo"}, false); err != nil || one.ID != "idea-7" {
		t.Errorf("got %q, %v; want idea-7", one.ID, err)
	}
}

// TestOneIDOfTwoFiles holds that the second file of an id is left out, aloud.
func TestOneIDOfTwoFiles(t *testing.T) {
	t.Parallel()
	workspace := workspaceOf(t, "backlog.md")
	writeFile(t, filepath.Join(workspace, "backlog/tasks/BACK-12 - Another.md"), "---\nstatus: Done\n---\n")
	writeFile(t, filepath.Join(workspace, "backlog/completed/back-13 - Again.md"), "---\nstatus: Done\n---\n")
	f := formatted(t, workspace, `format = "backlog.md"`)
	tasks, problems := listOf(t, workspace, f)
	want := `backlog/tasks/back-12 - Voucher-is-lost.md: the id "back-12" is that of BACK-12 - Another.md already: rename one`
	if len(problems) != 2 || problems[1] != want {
		t.Errorf("problems %q, want %q last", problems, want)
	}
	for _, one := range tasks {
		got, err := f.Get(t.Context(), one.ID)
		if err != nil || got.State != one.State || one.ID == "back-13" && got.State != fleet.StateActive {
			t.Errorf("%s: listed as %s, read as %s, %v", one.ID, one.State, got.State, err)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files  map[string]string
		dir    string
		format fleet.TaskFormat
	}{
		"nothing":          {nil, "", ""},
		"backlog":          {map[string]string{"backlog/tasks/a.md": ""}, "backlog/tasks", "backlog.md"},
		"backlog, empty":   {map[string]string{"backlog/config.yml": ""}, "backlog/tasks", "backlog.md"},
		"a hidden backlog": {map[string]string{".backlog/tasks/a.md": ""}, ".backlog/tasks", "backlog.md"},
		"another backlog":  {map[string]string{"backlog/notes.md": ""}, "", ""},
		"gptme":            {map[string]string{"gptme.toml": "", "tasks/a.md": "x"}, "tasks", "gptme"},
		"stint's":          {map[string]string{"tasks/a.md": "---\nstate: todo\n---\n"}, "", ""},
	} {
		dir := t.TempDir()
		for path, text := range test.files {
			must.Do(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
			writeFile(t, filepath.Join(dir, path), text)
		}
		if got, format := task.Find(dir); got != test.dir || format != test.format {
			t.Errorf("%s: %q, %q; want %q, %q", name, got, format, test.dir, test.format)
		}
	}
}

// FuzzFormat holds that no file, in no format, is workable whose state nobody knows, and
// that a state which is set is read back, with every other byte kept.
func FuzzFormat(f *testing.F) {
	for _, dir := range []string{"backlog.md", "gptme", "obsidian"} {
		must.Do(f, fs.WalkDir(os.DirFS("testdata"), dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".md") && !d.IsDir() {
				f.Add([]byte(readFile(f, filepath.Join("testdata", path))))
			}
			return err
		}))
	}
	f.Add([]byte("---\nwaiting_for: &a [*a, *a]\nassignee: {a: [b, {c: d}]}\n---\n"))
	f.Add([]byte("---\nrequires: &a [[*a]]\ndepends: [[[x]]]\nstatus: [Done]\n---\n"))
	var formats []task.Format
	for _, tasks := range []string{``, `format = "gptme"`, `format = "backlog.md"`, obsidian} {
		formats = append(formats, formatted(f, f.TempDir(), tasks).Format)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range formats {
			got, err := format.Parse("/t/a.md", data)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "/t/a.md:") {
					t.Errorf("problem without a place: %v", err)
				}
				continue
			}
			if state, err := fleet.ParseTaskState(string(got.State)); err != nil || state != got.State {
				t.Errorf("state %q of %q", got.State, data)
			}
			if strings.ContainsAny(got.Title+got.Family+got.WaitingFor+got.AssignedTo, "\x00\x1b\r") {
				t.Errorf("control characters in %q", got.Title+got.Family+got.WaitingFor+got.AssignedTo)
			}
			edited, err := task.WithStateIn(format, "/t/a.md", data, fleet.StateDone)
			if err != nil {
				continue
			}
			again, err := format.Parse("/t/a.md", edited)
			again.State, again.Seen = got.State, got.Seen
			if diff := cmp.Diff(again, got); err != nil || diff != "" {
				t.Errorf("%q: more than the state has changed: %v\n%s", data, err, diff)
			}
		}
	})
}

// TestExamplesReadWhatTrackersPrint holds that the examples for gh in the help read the output of
// gh 2.23 (scripts/test-trackers -record): a closed issue is no work.
func TestExamplesReadWhatTrackersPrint(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../cli/topics/tasks.md"} {
		_, rest, found := strings.Cut(readFile(t, path), "[tasks.source.github]\n")
		example, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n    ", "\n"), "\n\n")
		example, _, _ = strings.Cut(example, "```")
		if !found {
			t.Fatalf("%s has no example", path)
		}
		c, err := config.Parse("/w/stint.toml", []byte("fleet = \"shop\"\nstate = \"/srv/state\"\n[category.code]\n[agent.a]\ncommand = [\"a\"]\n[tasks.source.github]\n"+example), config.Options{})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		source := c.Tasks.Sources["github"]
		listing := task.Listing{Name: "github", Fields: source.Fields, States: source.States, Priorities: source.Priorities}
		recorded := readFile(t, "testdata/gh_issue_list_all.json")
		at := time.Date(2026, 9, 30, 12, 1, 2, 0, time.UTC)
		want := []fleet.Task{
			{ID: "github-153", Title: "Issue 153", State: "done"},
			{ID: "github-152", Title: "Issue 152", State: "todo"},
		}
		for i := range want {
			want[i].Priority, want[i].Tags, want[i].AssignedTo = "medium", []string{"bug"}, "ann"
			want[i].Created, want[i].Modified = at, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
			want[i].Body = "https://github.com/example/shop/issues/" + strings.TrimPrefix(string(want[i].ID), "github-") + "\n\nIt is <broken>."
		}
		if diff := cmp.Diff(parse(t, listing, recorded), want, unseen); diff != "" {
			t.Errorf("%s: tasks (-got +want):\n%s", path, diff)
		}
		// Without the field, or the words, no issue is offered.
		for name, l := range map[string]task.Listing{
			"another field": {Name: "github", Fields: map[fleet.TaskField]string{"id": "number", "state": "status"}, States: source.States},
			"no words":      {Name: "github", Fields: source.Fields},
		} {
			tasks, problems := l.Parse([]byte(recorded))
			if len(tasks) > 0 || len(problems) != 2 || !strings.Contains(problems[0].Reason, "[tasks.source.github]") {
				t.Errorf("%s: %d tasks, problems %v; want each issue left out, with advice", name, len(tasks), problems)
			}
		}
		if !slices.Contains(source.Command, "--limit") {
			t.Errorf("%s: gh lists 30 issues without --limit: %q", path, source.Command)
		}
	}
}
