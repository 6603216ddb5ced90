package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// TestSettingsOfTaste sets what the operator may set for themselves: none changes what stint reads, refuses or leaves behind.
func TestSettingsOfTaste(t *testing.T) {
	t.Parallel()
	origin, clone := pair(t)
	c := clone.clone()
	c.Root = t.TempDir()
	traces := filepath.Join(t.TempDir(), "traces")
	must.Do(t, os.MkdirAll(traces, 0o700), os.WriteFile(filepath.Join(c.Root, "gitconfig"), []byte(`
[trace2]
	normalTarget = `+traces+`
	perfTarget = `+traces+`
	eventTarget = `+traces+`
[status]
	showUntrackedFiles = no
[log]
	showRoot = false
	follow = true
[i18n]
	logOutputEncoding = UTF-16
[diff]
	relative = true
	orderFile = /none
	ignoreSubmodules = all
[merge]
	verifySignatures = true
	autoStash = true
`), 0o600))
	c.Environment = append(c.Environment, "GIT_CONFIG_GLOBAL="+filepath.Join(c.Root, "gitconfig"))
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
	clone.at(w.Dir).add("new", "work\n")
	must.Get(c.Close(t.Context(), w))(t)

	clone.write("sub/untracked", "x")
	below := c
	below.Dir = Folder(filepath.Join(clone.dir, "sub"))
	if state := must.Get(below.Condition(t.Context()))(t); state.Untracked != 1 {
		t.Errorf("condition %+v, want a file that is not tracked", state)
	}
	clone.git("update-index", "--add", "--cacheinfo", "160000,"+clone.git("rev-parse", "HEAD")+",module")
	clone.git("commit", "--quiet", "-m", "a module")
	root := clone.git("commit-tree", "-m", "root", "HEAD^{tree}")
	clone.git("update-ref", "refs/heads/root", root)
	first, _, err := below.Diff(t.Context(), []string{root}, 1<<20)
	text, _, textErr := below.Diff(t.Context(), []string{"HEAD~1", "HEAD"}, 1<<20)
	since, _, sinceErr := below.Since(t.Context(), clone.git("rev-list", "--max-parents=0", "HEAD"), "HEAD", 1<<20)
	must.Do(t, err, textErr, sinceErr)
	for _, text := range []string{first, text, since} {
		if !strings.Contains(text, "+b\n") || !strings.Contains(text, "+Subproject commit") {
			t.Errorf("not all is shown in %s", text)
		}
	}
	_, all, err := c.Pending(t.Context(), unknown)
	if err != nil || len(all) != 1 {
		t.Errorf("pending: %+v, %v", all, err)
	}
	origin.add("upstream", "x")
	clone.git("reset", "--quiet", "--hard", "HEAD~1")
	clone.write("b", "changed")
	c.Forwards = true
	s := must.Get(c.Fetch(t.Context(), own))(t)
	if clone.git("rev-parse", "HEAD") != origin.git("rev-parse", "HEAD") || clone.git("stash", "list") != "" {
		t.Errorf("fetched %+v, stash %q", s, clone.git("stash", "list"))
	}
	origin.add("b", "theirs")
	if s := must.Get(c.Fetch(t.Context(), own))(t); s.Stuck == nil || clone.read("b") != "changed" || clone.git("stash", "list") != "" {
		t.Errorf("fetched %+v, stash %q", s, clone.git("stash", "list"))
	}
	if left := must.Get(os.ReadDir(traces))(t); len(left) > 0 {
		t.Errorf("git left traces: %v", left)
	}
}

// TestSettingWithoutValue sets what git takes for true since it has no value: it is true in a session's clone too.
func TestSettingWithoutValue(t *testing.T) {
	t.Parallel()
	_, clone := pair(t)
	bare := "[core]\n\tautocrlf\n[user]\n\tuseConfigOnly\n[filter \"x\"]\n\trequired\n\tclean =\n"
	clone.write(".git/config", clone.read(".git/config")+bare)
	c := clone.clone()
	c.Root = t.TempDir()
	w := must.Get(c.Open(t.Context(), own, filepath.Join(c.Root, string(own))))(t)
	for key, want := range map[string]string{
		"core.autocrlf": "true", "user.useConfigOnly": "true", "filter.x.required": "true", "filter.x.clean": "",
	} {
		if got, err := clone.at(w.Dir).try("config", "--get", key); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", key, got, err, want)
		}
	}
}
