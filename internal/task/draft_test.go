package task_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

func TestAddWritesAFileToRead(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	got := must.Get(f.Add(t.Context(), task.Draft{
		Title:    "Fix: the 'parser'",
		Body:     "It drops \"quotes\".\n",
		State:    fleet.StateTodo,
		Created:  time.Date(2026, 1, 2, 16, 4, 5, 9, time.FixedZone("", 3600)),
		Priority: fleet.PriorityHigh,
		Tags:     []string{"docs", "@home"},
		Requires: []string{"a: b"},
		Wait:     time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
	}, false))(t)
	want := fleet.Task{
		ID:       "fix-the-parser",
		State:    fleet.StateTodo,
		Created:  time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC),
		Category: "content",
		Priority: fleet.PriorityHigh,
		Tags:     []string{"docs", "@home"},
		Requires: []string{"a: b"},
		Wait:     time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		Title:    "Fix: the 'parser'",
		Body:     "\n# Fix: the 'parser'\n\nIt drops \"quotes\".\n",
		Path:     filepath.Join(f.Dir, "fix-the-parser.md"),
	}
	must.Equal(t, "task", got, want, cmpopts.IgnoreFields(fleet.Task{}, "Modified", "Seen"))
	wantFile := `---
state: todo
created: 2026-01-02T15:04:05Z
priority: high
tags: [docs, '@home']
requires: ['a: b']
wait: 2026-06-01T00:00:00Z
---

# Fix: the 'parser'

It drops "quotes".
`
	must.Equal(t, "file", readFile(t, got.Path), wantFile)
	if mode := stat(t, f, got.ID).Mode(); mode&0o600 != 0o600 || mode&0o111 != 0 {
		t.Errorf("mode %v, want a readable and writable file", mode)
	}
	must.Equal(t, "files", fileNames(t, f.Dir), []string{"fix-the-parser.md"})
}

func TestAddMakesIDs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		title string
		want  fleet.TaskID
	}{
		{"Fix it", "fix-it"},
		{"  $HOME/../etc & %n  ", "home-etc-n"},
		{"Über-Größe 2", "über-größe-2"},
		{"日本語の課題", "日本語の課題"},
		{"हिन्दी", "हिन्दी"},
		{"e\u0301tude", "e\u0301tude"},
		{"🔥", "task"},
		{"--- .md", "md"},
		{"category: x", "category-x"},
		{strings.Repeat("本 ", 100), fleet.TaskID(strings.Repeat("本-", 19) + "本")},
	} {
		f := newFolder(t, nil)
		for n := 1; n <= 3; n++ {
			want := test.want
			if n > 1 {
				want = fleet.TaskID(fmt.Sprintf("%s-%d", test.want, n))
			}
			got, err := f.Add(t.Context(), task.Draft{Title: test.title}, false)
			if err != nil || got.ID != want {
				t.Errorf("%q: got %q, %v, want %q", test.title, got.ID, err, want)
			}
			if want := strings.TrimSpace(test.title); got.Title != want {
				t.Errorf("title: got %q, want %q", got.Title, want)
			}
		}
	}
}

func TestAddWithID(t *testing.T) {
	t.Parallel()
	for _, id := range []fleet.TaskID{"a b", `it's "so"`, "$HOME", "%n", "étude 🔥", "README", "a.md", fleet.TaskID(strings.Repeat("x", 252))} {
		f := newFolder(t, nil)
		got, err := f.Add(t.Context(), task.Draft{ID: id}, false)
		want := fleet.Task{
			ID: id, State: fleet.StateBacklog, Category: "code", Priority: fleet.PriorityMedium,
			Title: string(id), Path: filepath.Join(f.Dir, string(id)+".md"),
		}
		if err != nil {
			t.Errorf("%q: %v", id, err)
		}
		must.Equal(t, "task", got, want, cmpopts.IgnoreFields(fleet.Task{}, "Modified", "Seen"))
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		draft task.Draft
		want  string // part of the error
	}{
		{"nothing", task.Draft{}, "neither an id nor a title"},
		{"blank title", task.Draft{Title: " "}, "neither an id nor a title"},
		{"title of two lines", task.Draft{Title: "a\nb"}, "control characters"},
		{"id of two lines", task.Draft{ID: "a\nb"}, "control characters"},
		{"id with a slash", task.Draft{ID: "../a"}, "slash"},
		{"hidden id", task.Draft{ID: ".a"}, "dot"},
		{"reserved id", task.Draft{ID: "category:x"}, "reserved"},
		{"long id", task.Draft{ID: fleet.TaskID(strings.Repeat("x", 253))}, "253 bytes, want at most 252"},
		{"id that looks like a flag", task.Draft{ID: "-a"}, "dash"},
		{"id with a space in front", task.Draft{ID: " a"}, "space"},
		{"id of a conflict copy", task.Draft{ID: "a.sync-conflict-1"}, "conflict copies"},
		{"id of a title of a conflict copy", task.Draft{ID: "a (bob's conflicted copy)"}, "conflict copies"},
		{"id taken below", task.Draft{ID: "below"}, `task "below": file already exists`},
		{"taken id", task.Draft{ID: "taken", Title: "T"}, `task "taken": file already exists`},
		{"category", task.Draft{ID: "a", Category: "No"}, `wrong usage: category: category "No"`},
		{"state", task.Draft{ID: "a", State: "no"}, `state "no"`},
		{"priority", task.Draft{ID: "a", Priority: "no"}, `priority "no"`},
		{"binary tag", task.Draft{ID: "a", Tags: []string{"\xff"}}, "UTF-8"},
		{"escape in a tag", task.Draft{ID: "a", Tags: []string{"\x1b"}}, "control characters"},
		{"action of two lines", task.Draft{ID: "a", NextAction: "x\ny"}, "next_action"},
		{"tab in a family", task.Draft{ID: "a", Family: "x\ty"}, "family"},
		{"binary body", task.Draft{ID: "a", Body: "\xff"}, "UTF-8"},
		{"NUL in the body", task.Draft{ID: "a", Body: "\x00"}, "NUL"},
		{"large body", task.Draft{ID: "a", Body: strings.Repeat("x", 1<<20)}, "1 MiB"},
		{"far date", task.Draft{ID: "a", Wait: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, "wait"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t, map[string]string{"taken.md": "not even a task"})
			must.Do(t, os.Mkdir(filepath.Join(f.Dir, "sub"), 0o755))
			writeFile(t, filepath.Join(f.Dir, "sub/below.md"), "---\nstate: todo\n---\n")
			for _, dryRun := range []bool{true, false} {
				_, err := f.Add(t.Context(), test.draft, dryRun)
				if !errors.Is(err, fleet.ErrUsage) || !strings.Contains(err.Error(), test.want) || fleet.Hint(err) == "" {
					t.Errorf("got %v, hint %q, want %s", err, fleet.Hint(err), test.want)
				}
			}
			must.Equal(t, "files", fileNames(t, f.Dir), []string{"sub", "taken.md"})
			if got, want := readFile(t, filepath.Join(f.Dir, "taken.md")), "not even a task"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestAddMakesTheFolder makes a folder that is missing, in a workspace that is there, and not in a dry run.
func TestAddMakesTheFolder(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	for _, f := range []task.Folder{{Dir: filepath.Join(top, "a/tasks"), Top: top}, {Dir: filepath.Join(top, "b/tasks")}} {
		if got, err := f.Add(t.Context(), task.Draft{ID: "x"}, true); err != nil || got.ID != "x" {
			t.Errorf("dry run: %v, %v", got, err)
		}
		if _, err := os.Lstat(filepath.Dir(f.Dir)); err == nil {
			t.Error("a dry run made the folder")
		}
		must.Get(f.Add(t.Context(), task.Draft{ID: "x"}, false))(t)
		must.Equal(t, "files", fileNames(t, f.Dir), []string{"x.md"})
	}
	gone := filepath.Join(top, "gone")
	f := task.Folder{Dir: filepath.Join(gone, "tasks"), Top: gone}
	if _, err := f.Add(t.Context(), task.Draft{ID: "x"}, false); !errors.Is(err, fleet.ErrNotFound) || !strings.Contains(fleet.Hint(err), "mkdir -p") {
		t.Errorf("without a workspace: %v, hint %q", err, fleet.Hint(err))
	}
}

func TestAddAtOnce(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	const writers = 16
	var got [writers]fleet.TaskID
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			added, err := f.Add(t.Context(), task.Draft{Title: "same", Body: fmt.Sprint(i)}, false)
			if err != nil || added.Body != fmt.Sprintf("\n# same\n\n%d\n", i) {
				t.Errorf("Add = %+v, %v", added, err)
			}
			got[i] = added.ID
		})
	}
	group.Wait()
	slices.Sort(got[:])
	if distinct := slices.Compact(got[:]); len(distinct) != writers {
		t.Errorf("got %d ids %q, want %d", len(distinct), distinct, writers)
	}
	if names := fileNames(t, f.Dir); len(names) != writers {
		t.Errorf("got files %q, want %d", names, writers)
	}
}

// text generates what a person may pass for a field, YAML's own characters
// above all.
func text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[-:#&*!|>'"%@\x60{}\[\], ~<=?a\\.]{1,12}`),
		rapid.SampledFrom([]string{"null", "yes", "2026-01-02", "1e3", "<<", "---", "...", "a: b", " x ", "é\u2028🔥", "\ufeff"}),
		rapid.StringN(1, 12, -1).Filter(func(s string) bool {
			return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) })
		}),
	)
}

func TestAddedTaskReadsBack(t *testing.T) {
	t.Parallel()
	f := newFolder(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(text(), 1, 3, rapid.ID[string])
		draft := task.Draft{
			Title:            "t",
			State:            rapid.SampledFrom(fleet.TaskStates()).Draw(t, "state"),
			Tags:             list.Draw(t, "tags"),
			Requires:         list.Draw(t, "requires"),
			AssignedTo:       text().Draw(t, "assigned_to"),
			NextAction:       text().Draw(t, "next_action"),
			SuccessCriterion: text().Draw(t, "success_criterion"),
			WaitingFor:       text().Draw(t, "waiting_for"),
			Family:           text().Draw(t, "family"),
		}
		got := must.Get(f.Add(t.Context(), draft, false))(t)
		want := fleet.Task{
			ID: got.ID, State: draft.State, Category: "code", Priority: fleet.PriorityMedium, Tags: draft.Tags, AssignedTo: draft.AssignedTo,
			NextAction: draft.NextAction, SuccessCriterion: draft.SuccessCriterion, Requires: draft.Requires, WaitingFor: draft.WaitingFor,
			Family: draft.Family, Title: "t", Body: "\n# t\n", Path: got.Path,
		}
		if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(fleet.Task{}, "Modified", "Seen")); diff != "" {
			t.Fatalf("task (-got +want):\n%s", diff)
		}
	})
}
