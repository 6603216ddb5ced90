package workspace

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// marked is the edit that puts "done" for "todo" in a file.
func marked(path string) fleet.FileEdit {
	edit := func(_ string, data []byte) ([]byte, error) {
		return bytes.Replace(data, []byte("todo"), []byte("done"), 1), nil
	}
	return fleet.FileEdit{Path: path, Subject: "task a: done", Edit: edit, Write: func(path string) (bool, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		after, _ := edit(path, data)
		return !bytes.Equal(data, after), os.WriteFile(path, after, 0o600)
	}}
}

func (g gitter) places(root string) Places {
	c := g.clone()
	c.Root = root
	return Places{Clone: c, Log: slog.New(slog.DiscardHandler)}
}

// TestRecord changes a file in every state that git may know it in. Changes that others made or
// staged are not committed, and committed files are clean.
func TestRecord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare func(g gitter)
		status  string // of all files, after it
		commits bool
	}{
		"clean": {func(gitter) {}, "", true},
		"beside others' changes": {func(g gitter) {
			g.write("b", "changed")
			g.write("c", "staged")
			g.git("add", "c")
		}, " M b\nA  c\n", true},
		"changed by somebody": {func(g gitter) { g.write("a.md", "todo\nmore\n") }, " M a.md\n", false},
		"staged by somebody":  {func(g gitter) { g.write("a.md", "todo\nmore\n"); g.git("add", "a.md") }, "MM a.md\n", false},
		"written, and killed": {func(g gitter) { g.write("a.md", "done\n") }, "", true},
		"untracked":           {func(g gitter) { g.git("rm", "-q", "--cached", "a.md"); g.git("commit", "-qm", "drop") }, "?? a.md\n", false},
		"refused by a hook": {func(g gitter) {
			g.hook("pre-commit", "exit 1")
			g.hook("commit-msg", "exit 1")
			g.hook("post-commit", "touch ran")
		}, "", true},
		"no name, and to be signed": {func(g gitter) {
			g.git("config", "user.email", "")
			g.git("config", "commit.gpgSign", "true")
			g.git("config", "gpg.program", "false")
		}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, g := pair(t)
			g.add("a.md", "todo\n")
			g.add("b", "b\n")
			tt.prepare(g)
			before := g.git("rev-parse", "HEAD")
			for range 2 { // once more changes nothing
				branch, err := g.places(t.TempDir()).Record(t.Context(), own, marked(filepath.Join(g.dir, "a.md")))
				if branch != "" || err != nil {
					t.Fatalf("got %q, %v", branch, err)
				}
			}
			if text := g.read("a.md"); !strings.HasPrefix(text, "done\n") {
				t.Errorf("the file is %q", text)
			}
			if status := g.untrimmed("status", "--porcelain"); status != tt.status {
				t.Errorf("status %q, want %q", status, tt.status)
			}
			made := g.git("log", "--format=%an %s", "--name-only", before+"..HEAD")
			want := ""
			if tt.commits {
				want = "stint task a: done\n\na.md"
			}
			if made != want {
				t.Errorf("committed %q, want %q", made, want)
			}
			if name := g.git("log", "-1", "--walk-reflogs", "--format=%gs"); tt.commits && strings.HasPrefix(name, reflogMark) {
				t.Errorf("the log of HEAD says %q, as of a session's commit", name)
			}
		})
	}
}

// TestRecordWaits leaves a file alone while somebody is in the middle of something.
func TestRecordWaits(t *testing.T) {
	t.Parallel()
	for what, begin := range map[string]func(g gitter){
		"merge":     func(g gitter) { g.write(".git/MERGE_HEAD", g.git("rev-parse", "HEAD")+"\n") },
		"bisection": func(g gitter) { g.git("bisect", "start"); g.git("bisect", "bad") },
	} {
		_, g := pair(t)
		g.add("a.md", "todo\n")
		begin(g)
		_, err := g.places(t.TempDir()).Record(t.Context(), own, marked(filepath.Join(g.dir, "a.md")))
		if err == nil || !strings.Contains(err.Error(), what+" is under way") {
			t.Errorf("got %v, want that a %s is under way", err, what)
		}
		if text := g.read("a.md"); text != "todo\n" {
			t.Errorf("the file is %q", text)
		}
	}
}

// TestRecordOnABranch puts the change on the branch of a run that has commits, so that
// the merge brings it; without any the branch is nobody's to merge.
func TestRecordOnABranch(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"with commits": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, g := pair(t)
			g.add("a.md", "todo\n")
			root := t.TempDir()
			w := must.Get(g.clone().Open(t.Context(), own, filepath.Join(root, string(own)), FromHead))(t)
			if commits {
				g.at(w.Dir).add("work", "work")
			}
			if _, _, err := g.clone().bringHome(t.Context(), w.Dir, w.Branch); err != nil {
				t.Fatal(err)
			}
			branch, err := g.places(root).Record(t.Context(), own, marked(filepath.Join(g.dir, "a.md")))
			if err != nil || (branch == w.Branch) != commits {
				t.Fatalf("got %q, %v", branch, err)
			}
			if text := g.read("a.md"); (text == "todo\n") != commits {
				t.Errorf("the workspace's file is %q", text)
			}
			if status := g.git("status", "--porcelain"); status != "" {
				t.Errorf("status %q, which stands in a merge's way", status)
			}
			if commits {
				g.git("merge", "-q", "-m", "merge", w.Branch)
			}
			if text := g.read("a.md"); text != "done\n" {
				t.Errorf("merged, the file is %q", text)
			}
			if s, err := g.clone().Close(t.Context(), w); err != nil || s.Reason() != "" {
				t.Errorf("merged, the clone is kept: %+v, %v", s, err)
			}
		})
	}
}

// TestRecordBesideAnAgent has an agent leave its clone in ways in which the change has no
// place there. Nothing of it stands in the way of a merge of the branch.
func TestRecordBesideAnAgent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		work   func(g gitter)
		branch bool // that the state is said to come with
		merged string
	}{
		"file moved":   {func(g gitter) { g.git("mv", "a.md", "b.md"); g.git("commit", "-qm", "move") }, true, ""},
		"file removed": {func(g gitter) { g.git("rm", "-q", "a.md"); g.git("commit", "-qm", "remove") }, true, ""},
		"a link for the file": {func(g gitter) {
			outside := filepath.Join(t.TempDir(), "outside.md")
			if err := os.WriteFile(outside, []byte("todo\n"), 0o600); err != nil {
				t.Error(err)
			}
			t.Cleanup(func() {
				if text, err := os.ReadFile(outside); err != nil || string(text) != "todo\n" {
					t.Errorf("through the link %q was written, %v", text, err)
				}
			})
			g.git("rm", "-q", "a.md")
			if err := os.Symlink(outside, filepath.Join(g.dir, "a.md")); err != nil {
				t.Error(err)
			}
			g.git("add", ".")
			g.git("commit", "-qm", "link")
		}, true, "todo\n"},
		"HEAD detached": {func(g gitter) { g.add("work", "work"); g.git("checkout", "-q", "--detach") }, true, "done\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, g := pair(t)
			g.add("a.md", "todo\n")
			root := t.TempDir()
			w := must.Get(g.clone().Open(t.Context(), own, filepath.Join(root, string(own)), FromHead))(t)
			tt.work(g.at(w.Dir))
			if _, _, err := g.clone().bringHome(t.Context(), w.Dir, w.Branch); err != nil {
				t.Fatal(err)
			}
			branch, err := g.places(root).Record(t.Context(), own, marked(filepath.Join(g.dir, "a.md")))
			if err != nil || (branch == w.Branch) != tt.branch {
				t.Fatalf("got %q, %v", branch, err)
			}
			g.git("merge", "-q", "-m", "merge", w.Branch)
			text, err := os.ReadFile(filepath.Join(g.dir, "a.md"))
			if string(text) != tt.merged || (err == nil) != (tt.merged != "") {
				t.Errorf("merged, the file is %q, %v", text, err)
			}
		})
	}
}

// TestRecordInAnotherRepository has the tasks in a repository of their own, and a file of the
// same name in the session's clone, which is none of a task's.
func TestRecordInAnotherRepository(t *testing.T) {
	t.Parallel()
	_, code := pair(t)
	_, notes := pair(t)
	code.add("a.md", "todo\n")
	notes.add("a.md", "todo\n")
	root, path := t.TempDir(), filepath.Join(notes.dir, "a.md")
	w := must.Get(code.clone().Open(t.Context(), own, filepath.Join(root, string(own)), FromHead))(t)
	code.at(w.Dir).add("work", "work")
	if there, err := code.places(root).Own(t.Context(), own, path); there != "" || err != nil {
		t.Errorf("got the copy %q, %v", there, err)
	}
	branch, err := code.places(root).Record(t.Context(), own, marked(path))
	if branch != "" || err != nil {
		t.Fatalf("got %q, %v", branch, err)
	}
	if text := notes.read("a.md"); text != "done\n" {
		t.Errorf("the file is %q", text)
	}
	if text := code.at(w.Dir).read("a.md"); text != "todo\n" {
		t.Errorf("the clone's is %q", text)
	}
}

func TestRecordOutsideARepository(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.md")
	must.Do(t, os.WriteFile(path, []byte("todo\n"), 0o600))
	must.Get((gitter{dir: filepath.Dir(path)}).places(t.TempDir()).Record(t.Context(), own, marked(path)))(t)
	if text, err := os.ReadFile(path); err != nil || string(text) != "done\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
}

// TestCopyIn gives a clone a file that nobody has committed; a folder that leads elsewhere is not followed.
func TestCopyIn(t *testing.T) {
	t.Parallel()
	_, g := pair(t)
	p := g.places(resolved(t.TempDir()))
	dir := filepath.Join(p.Root, string(own))
	must.Get(p.Open(t.Context(), own, dir, FromHead))(t)
	must.Do(t, errors.Join(os.Mkdir(filepath.Join(g.dir, "tasks"), 0o700), os.Mkdir(filepath.Join(g.dir, "more"), 0o700)))
	g.write("tasks/a [1].md", "todo\n")
	got := must.Get(p.Own(t.Context(), own, filepath.Join(g.dir, "tasks/a [1].md")))(t)
	if got != filepath.Join(dir, "tasks/a [1].md") || g.at(dir).read("tasks/a [1].md") != "todo\n" {
		t.Errorf("got %q", got)
	}
	if status := g.at(dir).git("status", "--porcelain"); status != "" {
		t.Errorf("git of the session sees %q", status)
	}
	outside := t.TempDir()
	must.Do(t, os.Symlink(outside, filepath.Join(dir, "more")))
	g.write("more/b.md", "todo\n")
	if got, err := p.Own(t.Context(), own, filepath.Join(g.dir, "more/b.md")); err == nil || exists(filepath.Join(outside, "b.md")) {
		t.Errorf("got %q, want a refusal", got)
	}
}
