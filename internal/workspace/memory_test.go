package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestPendingRemembered finds the same with what it remembers as without, whatever happens meanwhile.
func TestPendingRemembered(t *testing.T) {
	t.Parallel()
	g := repository(t)
	g.record("start", "f", text(nil), "g", text(nil), "h", text(nil))
	branch := func(i int) string { return fmt.Sprintf("stint/bob/01jd8wz4v0k3m7q%d", i) }
	made := map[fleet.RunID][]string{}
	work := func(i int, files ...string) {
		g.git("checkout", "--quiet", "-B", branch(i), "main")
		run := fleet.RunID(filepath.Base(branch(i)))
		made[run] = []string{g.record("one", files...), g.record("two", "own"+string(run), "x\n")}
		g.git("checkout", "--quiet", "main")
	}
	work(0, "f", text(map[int]string{3: "zero"}))
	work(1, "f", text(map[int]string{3: "one"}))
	work(2, "g", text(map[int]string{3: "two"}))
	work(3, "h", text(map[int]string{3: "three"}))
	work(4, "f", text(map[int]string{12: "four"}))
	g.git("branch", "--quiet", branch(5)) // nothing was committed on it
	var target string
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"first", func() {}},
		{"nothing", func() {}},
		{"a conflict", func() { g.record("other", "f", text(map[int]string{3: "other"})) }},
		{"no conflict any more", func() { g.record("back", "f", text(nil)) }},
		{"a new branch", func() { work(6, "g", text(map[int]string{17: "six"})) }},
		{"another tip", func() {
			g.git("checkout", "--quiet", branch(2))
			g.record("more", "more", "x\n")
			g.git("checkout", "--quiet", "main")
		}},
		{"a merge", func() { g.git("merge", "--quiet", "--no-ff", "--no-edit", branch(0)) }},
		{"a squash", func() { g.git("merge", "--quiet", "--squash", branch(3)); g.commit("all of it") }},
		{"a revert", func() { g.git("revert", "--no-edit", "-m", "1", "HEAD~1") }},
		{"a pick of one", func() { g.git("cherry-pick", "-x", branch(6)+"~1") }},
		{"a pick with changes, in words alone", func() {
			g.record("as\n\n(cherry picked from commit "+g.git("rev-parse", branch(4)+"~1")+")\n(cherry picked from commit "+g.git("rev-parse", branch(4))+")", "z", "x\n")
		}},
		{"a branch that is gone", func() { g.git("branch", "--quiet", "-D", branch(1)) }},
		{"another target", func() { target = branch(6) }},
		{"and back", func() { target = "" }},
		{"a conflict again", func() { work(7, "k", "x\n"); g.record("other", "k", "y\n") }},
		{"a target written anew", func() { g.git("reset", "--quiet", "--hard", "HEAD~1"); g.record("anew", "z", "z\n") }},
		{"and with less", func() { g.git("reset", "--quiet", "--hard", "HEAD~4"); g.record("anew", "g", "x\n") }},
		{"commits on record", func() { made["01jd8wz4v0k3m7q5"] = []string{g.git("rev-parse", branch(5))} }},
	} {
		step.do()
		look := func(c Clone) []review.Branch {
			c.Target = target
			_, all, err := c.Pending(t.Context(), func([]fleet.RunID) (map[fleet.RunID][]string, error) { return made, nil })
			must.Do(t, err)
			return plain.Each(all, func(b review.Branch) review.Branch { // in a file nothing and nothing in it are the same
				b.Files, b.Commits, b.Conflicts = slices.Concat(b.Files), slices.Concat(b.Commits), slices.Concat(b.Conflicts)
				return b
			})
		}
		remembers := g.clone()
		remembers.Root = filepath.Join(g.state, "clones")
		must.Equal(t, step.name, look(remembers), look(g.clone()))
	}
}

// noting is a folder with a git that notes what it is asked to do. Since says how often each command was begun since it was last called,
// and how many lines those read that list what they are asked about.
func noting(t *testing.T) (dir string, since func() (begun map[string]int, read int)) {
	t.Helper()
	dir = t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\nfor a do case $a in -*|*=*) ;; *) echo \"begun $a\" >>%[1]s; break;; esac; done\n"+
		"case $* in *--stdin*) tee -a %[1]s | %[2]s \"$@\";; *) exec %[2]s \"$@\";; esac\n", log, must.Get(exec.LookPath("git"))(t))
	must.Do(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	return dir, func() (map[string]int, int) {
		t.Helper()
		text := must.Get(os.ReadFile(log))(t)
		must.Do(t, os.Truncate(log, 0))
		begun, read := map[string]int{}, 0
		for line := range strings.Lines(string(text)) {
			if name, is := strings.CutPrefix(strings.TrimSpace(line), "begun "); is {
				begun[name]++
			} else {
				read++
			}
		}
		return begun, read
	}
}

// TestPendingAsksOnce asks git once about a branch and a target: a look at many branches of which nothing has changed costs no more
// than one at a few, and after a step of the target only those are looked at whose files it changed.
func TestPendingAsksOnce(t *testing.T) {
	g := repository(t)
	base := g.record("start", "f", text(nil), "g", text(nil))
	var s strings.Builder
	const many = 120
	for i := range many {
		fmt.Fprintf(&s, "commit refs/heads/stint/bob/01jd8wz4v0%06d\ncommitter a <a@b> %d +0000\ndata 1\nx\nfrom %s\nM 644 inline %s\ndata 2\n%d\n\n",
			i, 1_700_000_000+i, base, []string{"f", "g", "h"}[i%3], i%9)
	}
	must.Get(g.feed(s.String(), "fast-import", "--quiet"))(t)
	g.record("other", "f", text(map[int]string{3: "other"}), "g", text(map[int]string{3: "other"}))
	c := g.clone()
	c.Root = filepath.Join(g.state, "clones")
	dir, since := noting(t)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	look := func() (begun map[string]int, read int) {
		_, all, err := c.Pending(t.Context(), unknown)
		if err != nil || len(all) != many {
			t.Fatalf("got %d branches, %v", len(all), err)
		}
		return since()
	}
	if _, read := look(); read < 2*many {
		t.Errorf("at first git read %d lines, want at least %d", read, 2*many)
	}
	begun, read := look()
	for _, name := range []string{"rev-list", "diff-tree", "patch-id", "merge-tree", "log", "merge-base"} {
		if begun[name] > 0 {
			t.Errorf("git %s was begun", name)
		}
	}
	if read > 0 {
		t.Errorf("git read %d lines about what is known", read)
	}
	if _, err := c.Prune(t.Context(), Limits{}, func(run fleet.RunID) bool { t.Errorf("asked for %s, which waits", run); return true }); err != nil {
		t.Error(err)
	}
	if begun, _ := since(); begun["cherry"]+begun["rev-list"] > 0 {
		t.Errorf("to find what may go, git was asked for %v", begun)
	}
	g.record("step", "h", "h\n")
	since()
	if _, read = look(); read < many/3 || read > 2*many {
		t.Errorf("after a step git read %d lines, want those of %d branches", read, many/3)
	}
	g.record("another", "elsewhere", "x\n")
	since()
	if _, read = look(); read > 0 {
		t.Errorf("after a step elsewhere git read %d lines", read)
	}
	must.Do(t, os.WriteFile(c.memory(), []byte("broken"), 0o600))
	if _, read := look(); read < 2*many {
		t.Errorf("with a broken file git read %d lines, want at least %d", read, 2*many)
	}
	must.Do(t, os.RemoveAll(filepath.Dir(c.memory())))
	if _, read := look(); read < 2*many {
		t.Errorf("without a folder git read %d lines, want at least %d", read, 2*many)
	}
}
