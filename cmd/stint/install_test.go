package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// TestInstall installs this program, its manual pages and completions where they are
// looked for, below a folder whose name needs quotes, and takes all of it away again.
func TestInstall(t *testing.T) {
	t.Parallel()
	binary := program(t)
	root := filepath.Join(t.TempDir(), "a $root")
	run := func(target string) {
		t.Helper()
		cmd := exec.Command("make", "-C", "../..", target, "STINT="+binary, "DESTDIR="+strings.ReplaceAll(root, "$", "$$"), "PREFIX=/opt/stint")
		// A make above this one must not hand its own targets down.
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "MFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
	}
	run("install")
	installed := filesBelow(t, filepath.Join(root, "opt/stint"))
	for _, want := range []string{
		"bin/stint", "share/man/man1/stint.1", "share/man/man1/stint-claim-take.1", "share/man/man7/stint-agents.7", "share/bash-completion/completions/stint",
		"share/zsh/site-functions/_stint", "share/fish/vendor_completions.d/stint.fish",
	} {
		if !slices.Contains(installed, want) {
			t.Errorf("%s was not installed, but %q", want, installed)
		}
	}
	for path, shell := range map[string]string{
		"share/bash-completion/completions/stint": "bash", "share/zsh/site-functions/_stint": "zsh",
		"share/fish/vendor_completions.d/stint.fish": "fish",
	} {
		want := must.Get(exec.Command(filepath.Join(root, "opt/stint/bin/stint"), "completion", shell).Output())(t)
		if got, err := os.ReadFile(filepath.Join(root, "opt/stint", path)); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what stint completion %s prints (%v)", path, shell, err)
		}
	}
	run("uninstall")
	if left := filesBelow(t, root); len(left) > 0 {
		t.Errorf("uninstall left %q", left)
	}
}

func filesBelow(t *testing.T, root string) (files []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path) // it is below it
			files = append(files, name)
		}
		return err
	}))
	return files
}
