package task_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/task"
	"stint/internal/testkit/must"
)

// newLessons makes a folder of the files given by path, and the sub-folders these need.
func newLessons(t testing.TB, files map[string]string) task.LessonFolder {
	t.Helper()
	f := task.LessonFolder{Dir: filepath.Join(t.TempDir(), "lessons"), Categories: []fleet.Category{"code", "docs", "social"}}
	must.Do(t, os.Mkdir(f.Dir, 0o755))
	for name, text := range files {
		path := filepath.Join(f.Dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return f
}

func link(t testing.TB, f task.LessonFolder, name, target string) {
	t.Helper()
	must.Do(t, os.Symlink(target, filepath.Join(f.Dir, name)))
}

// listLessons wants no error, and leaves the folder's own path out of what it returns.
func listLessons(t testing.TB, f task.LessonFolder) (lessons []fleet.Lesson, problems []string) {
	t.Helper()
	lessons, bad, err := f.List(t.Context())
	must.Do(t, err)
	for i := range lessons {
		lessons[i].Path = strings.TrimPrefix(lessons[i].Path, f.Dir+"/")
	}
	for _, p := range bad {
		problems = append(problems, strings.ReplaceAll(p.String(), f.Dir+"/", ""))
	}
	return lessons, problems
}

func lessonIDs(lessons []fleet.Lesson) []fleet.LessonID {
	var ids []fleet.LessonID
	for _, l := range lessons {
		ids = append(ids, l.ID)
	}
	return ids
}

const least = "---\n---\ntext\n"

func TestListLessons(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{
		"b.md": "---\nmatch: {categories: [code], tags: [go, cli]}\nstatus: active\n---\n# B\n",
		"tools/a.md": `---
match:
  keywords: ["gh pr view", "pull request"]
  session_categories: [social, code]
category: tools
description: read it all
---

# Read it all

All of it.
`,
		"tools/deep/er/c.md": "---\ncategories: docs\ntags: [go]\n---\ntext\n",
		"d.md":               least,
	})
	got, problems := listLessons(t, f)
	want := []fleet.Lesson{
		{ID: "a", Categories: []fleet.Category{"social", "code"}, Tags: []string{"gh pr view", "pull request"}, Body: "\n# Read it all\n\nAll of it.\n", Path: "tools/a.md"},
		{ID: "b", Categories: []fleet.Category{"code"}, Tags: []string{"go", "cli"}, Body: "# B\n", Path: "b.md"},
		{ID: "c", Categories: []fleet.Category{"docs"}, Tags: []string{"go"}, Body: "text\n", Path: "tools/deep/er/c.md"},
		{ID: "d", Body: "text\n", Path: "d.md"},
	}
	must.Equal(t, "lessons", got, want)
	if len(problems) != 0 {
		t.Errorf("problems %q, want none", problems)
	}
}

func TestLessonMatchForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, front string
		categories  []fleet.Category
		tags        []string
	}{
		{"nothing", "", nil, nil},
		{"nulls", "match:\nstatus:\ntags: ~\ncategories: [~, '']\n", nil, nil},
		{"scalars", "match:\n  categories: code\n  tags: go\n", []fleet.Category{"code"}, []string{"go"}},
		{"at the top", "categories: [code, docs]\ntags: [go]\n", []fleet.Category{"code", "docs"}, []string{"go"}},
		{"match before the top", "match: {categories: [code]}\ncategories: [docs]\ntags: [go]\n", []fleet.Category{"code"}, []string{"go"}},
		{"none in match", "match: {categories: [], tags: []}\ncategories: [docs]\ntags: [go]\n", nil, nil},
		{"both names", "match: {session_categories: [docs], categories: [code]}\n", []fleet.Category{"code", "docs"}, nil},
		{"only keywords", "match: {keywords: [pull request]}\n", nil, []string{"pull request"}},
		{"anchors", "x: &c [code]\ny: &m {categories: *c, tags: &t [a]}\nmatch: *m\n", []fleet.Category{"code"}, []string{"a"}},
		{"within itself", "&m\nmatch: *m\ntags: [a]\n", nil, []string{"a"}},
		{"twice", "tags: [a, a, 1, 1]\n", nil, []string{"a", "1"}},
		{"odd tags", "tags: [a b, 'é\"', C++]\n", nil, []string{"a b", "é\"", "C++"}},
	} {
		got, problems := listLessons(t, newLessons(t, map[string]string{"a.md": "---\n" + test.front + "---\ntext"}))
		want := []fleet.Lesson{{ID: "a", Categories: test.categories, Tags: test.tags, Body: "text", Path: "a.md"}}
		if diff := cmp.Diff(got, want); diff != "" || len(problems) != 0 {
			t.Errorf("%s: problems %q, lessons (-got +want):\n%s", test.name, problems, diff)
		}
	}
}

func TestListLessonsInForce(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{
		"a/old.md":   "---\nstatus: deprecated\n---\n",
		"big.md":     "---\nstatus: archived\n---\n" + strings.Repeat("x", 1<<19),
		"b/old.md":   "---\nstatus: active\n---\ntext\n",
		"caps.md":    "---\nstatus: Active\n---\ntext\n",
		"unknown.md": "---\nstatus: automated\ncategories: [nope]\n---\ntext\n",
	})
	got, problems := listLessons(t, f)
	if diff := cmp.Diff(lessonIDs(got), []fleet.LessonID{"old"}); diff != "" || len(problems) != 0 {
		t.Errorf("problems %q, ids (-got +want):\n%s", problems, diff)
	}
}

func TestListLessonsIgnores(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{
		"README.md": "# About\n", "tools/README.md": "# Tools\n", "note.txt": "x", ".hidden.md": "x", "x.MD": "x", "md": "x",
		".git/a.md": least, "folder.md/note.txt": "x",
	})
	got, problems := listLessons(t, f)
	if len(got) != 0 || len(problems) != 0 {
		t.Errorf("got %v, problems %q, want nothing", got, problems)
	}
}

func TestListReportsWhatIsNoLesson(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{
		"good.md":         least,
		"README.md":       "---\nstatus: [x]\n---\n",
		"a\nb.md":         least,
		"alias-bomb.md":   bomb() + "text\n",
		"big.md":          "---\n---\n" + strings.Repeat("x", 10<<20),
		"binary.md":       "---\n\x7fELF\x00\n---\n",
		"caf\xe9.md":      least,
		"category.md":     "---\nmatch:\n  categories:\n  - code\n  - Code\n---\ntext\n",
		"control.md":      "---\ntags:\n- a\n- \"\\e[31m\"\n---\ntext\n",
		"deep.md":         "---\na: " + strings.Repeat("[", 20000) + "\n---\ntext\n",
		"empty.md":        "---\n---\n\n \n",
		"front.md":        "---\n" + strings.Repeat("# x\n", 20000) + "---\ntext\n",
		"latin1.md":       "---\n---\ncaf\xe9\n",
		"long.md":         "---\n---\n" + strings.Repeat("0123456789abcde\n", 1024) + "more\n",
		"match.md":        "---\nstatus: active\nmatch: go\n---\ntext\n",
		"merge.md":        "---\nmatch:\n  <<: {tags: [a]}\n---\ntext\n",
		"open.md":         "---\ntags: [a]\n",
		"plain.md":        "# Title\n",
		"tools/good.md":   least,
		"tools/nested.md": "---\nmatch:\n  tags: [[a]]\n---\ntext\n",
		"twice.md":        "---\nmatch:\n  tags: [a]\n  tags: [b]\n---\ntext\n",
		"yaml.md":         "---\ntags: [a\nstatus: active\n---\ntext\n",
	})
	must.Do(t, syscall.Mkfifo(filepath.Join(f.Dir, "fifo.md"), 0o644))
	link(t, f, "gone.md", "nowhere")
	link(t, f, "linked.md", "good.md")
	link(t, f, "loop.md", "loop.md")
	link(t, f, "null.md", os.DevNull)
	link(t, f, "tools/round", "../../lessons")
	link(t, f, "tools/round.md", "..")
	link(t, f, "tools/text", "../note.txt")
	got, problems := listLessons(t, f)
	must.Equal(t, "ids", lessonIDs(got), []fleet.LessonID{"good", "linked"})
	want := []string{
		`README.md:2: status: want text`,
		`"a\nb.md": lesson id "a\nb": control characters are not allowed: rename the file`,
		`alias-bomb.md:3: tags: want a list of text`,
		`big.md: larger than 1 MiB: keep the lesson short and link to the rest`,
		`binary.md:2: a NUL byte: a lesson is plain text`,
		`"caf\xe9.md": lesson id "caf\xe9": not valid UTF-8: rename the file`,
		`category.md:5: category "Code": want 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -`,
		`control.md:4: tags "\x1b[31m": control characters are not allowed`,
		`deep.md:2: exceeded max depth of 10000: fix the YAML, most often by quoting the value`,
		`empty.md:3: no text: write the lesson below the front matter, or set status: draft`,
		`fifo.md: not a regular file: move it out of the folder`,
		`front.md:1: more than 64 KiB of front matter: end it with ---, or move text below it`,
		`gone.md: the link leads nowhere: fix it or remove it`,
		`latin1.md:3: not valid UTF-8: save the file as UTF-8`,
		`long.md:1027: more than 16 KiB of text up to here: keep the lesson short and link to the rest`,
		`loop.md: unreadable: too many levels of symbolic links: fix it or move it out of the folder`,
		`match.md:3: match: want lines of ` + "`field: value`",
		`merge.md:3: merge keys are not read: write the fields out`,
		`null.md: not a regular file: move it out of the folder`,
		`open.md:1: the front matter does not end: add a line with ---`,
		`plain.md:1: no front matter: the first line must be ---`,
		fmt.Sprintf(`tools/good.md: a second lesson "good", the first is %q: rename one`, "good.md"),
		`tools/nested.md:3: match.tags: want a list of text`,
		`tools/round: a link to a folder is not followed: link its files, or move them here`,
		`tools/round.md: a link to a folder is not followed: link its files, or move them here`,
		`twice.md:4: tags is given twice, first on line 3: remove one`,
		`yaml.md:2: did not find expected ',' or ']': fix the YAML, most often by quoting the value`,
	}
	must.Equal(t, "problems", problems, want)
}

func TestListKeepsALessonOfUnknownCategories(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{
		"a.md": "---\nmatch:\n  categories:\n  - code\n  - doc\n  - monitoring\n---\ntext\n",
		"b.md": "---\ncategories: [monitoring]\n---\ntext\n",
		"c.md": "---\ncategories: [docs, doc, core, code]\n---\ntext\n",
	})
	got, problems := listLessons(t, f)
	want := []string{
		`a.md:5: there is no category "doc": did you mean docs?`,
	}
	must.Equal(t, "problems", problems, want)
	if diff := cmp.Diff(lessonIDs(got), []fleet.LessonID{"a", "b", "c"}); diff != "" {
		t.Fatalf("ids (-got +want):\n%s", diff)
	}
	if !got[0].Matches("code", nil) || got[1].Matches("code", nil) {
		t.Error("want the category that there is to match, and no other")
	}
}

func TestLessonsOfOddFolders(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{"a.md": least})
	link(t, f, "../linked", "lessons")
	link(t, f, "../loop", "loop")
	for _, test := range []struct {
		dir      string
		ids      []fleet.LessonID
		problems []string
	}{
		{"lessons", []fleet.LessonID{"a"}, nil},
		{"linked", []fleet.LessonID{"a"}, nil},
		{"absent", nil, nil},
		{"lessons/a.md", nil, []string{"lessons/a.md: unreadable: not a directory: set dir under [lessons] in stint.toml"}},
		{"loop", nil, []string{"loop: unreadable: too many levels of symbolic links: set dir under [lessons] in stint.toml"}},
	} {
		root := filepath.Dir(f.Dir)
		lessons, bad, err := task.LessonFolder{Dir: filepath.Join(root, test.dir)}.List(t.Context())
		var problems []string
		for _, p := range bad {
			problems = append(problems, strings.TrimPrefix(p.String(), root+"/"))
		}
		if diff := cmp.Diff(lessonIDs(lessons), test.ids); diff != "" || err != nil {
			t.Errorf("%s: %v, ids (-got +want):\n%s", test.dir, err, diff)
		}
		if diff := cmp.Diff(problems, test.problems); diff != "" {
			t.Errorf("%s: problems (-got +want):\n%s", test.dir, diff)
		}
	}
}

// asNobody has the rest of the test look at files as root may not: who may read
// everything would find nothing that cannot be read. It is the thread's doing, which the
// test keeps for itself.
func asNobody(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, parent := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		must.Do(t, os.Chmod(parent, 0o711))
	}
	const nobody = 65534
	runtime.LockOSThread()
	must.Get(unix.SetfsuidRetUid(nobody))(t)
	t.Cleanup(func() {
		_, _ = unix.SetfsuidRetUid(0)
		runtime.UnlockOSThread()
	})
}

func TestLessonsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{"a.md": least, "b.md": least, "tools/c.md": least})
	for _, name := range []string{"a.md", "tools"} {
		path := filepath.Join(f.Dir, name)
		must.Do(t, os.Chmod(path, 0))
		t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
	}
	must.Do(t, os.Chmod(filepath.Join(f.Dir, "b.md"), 0o644))
	asNobody(t, f.Dir)
	got, problems := listLessons(t, f)
	must.Equal(t, "ids", lessonIDs(got), []fleet.LessonID{"b"})
	want := []string{
		"a.md: unreadable: permission denied: fix it or move it out of the folder",
		"tools: unreadable: permission denied: fix it or move it out of the folder",
	}
	must.Equal(t, "problems", problems, want)
}

func TestListLessonsCancelled(t *testing.T) {
	t.Parallel()
	f := newLessons(t, map[string]string{"a.md": least})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func FuzzListLessons(f *testing.F) {
	f.Add([]byte("---\nmatch: {categories: [code], tags: [go]}\n---\ntext\n"))
	f.Add([]byte("\ufeff---\r\n&m\r\nmatch: *m\r\nstatus: 'active'\r\n---\r\ntext"))
	f.Add([]byte(bomb() + "text\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := newLessons(t, map[string]string{"a.md": string(data)})
		lessons, problems := listLessons(t, folder)
		if len(lessons) > 1 || len(lessons) == 0 && len(problems) > 1 {
			t.Fatalf("%d lessons, problems %q", len(lessons), problems)
		}
		for _, l := range lessons {
			if !strings.HasSuffix(string(data), l.Body) || strings.TrimSpace(l.Body) == "" || len(l.Body) > 16<<10 {
				t.Errorf("body %q of %q", l.Body, data)
			}
			for _, c := range l.Categories {
				if _, err := fleet.ParseCategory(string(c)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
