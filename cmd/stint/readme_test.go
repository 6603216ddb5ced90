package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"stint/internal/testkit/must"
)

// TestReadmeSession pastes the README's session into a shell, as a newcomer would,
// and finds what it promises: units started, and work that was graded and landed.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, "unused")
	must.Do(t, os.Remove(s.path("stint.toml"))) // or the session's fleet would be a second one below it
	// The session's folder names its fleet; no fleet of the user's may be meant. Its agent works
	// for 20 seconds, to be seen at it, of which one is enough here.
	script := strings.NewReplacer("trial", s.fleet, "seq 20", "seq 1").Replace(readmeBlock(t, "<!-- tested -->\n```sh\n"))
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_STATE_HOME="+s.path("home-state"), "STINT_CONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("session: %v\n%s", err, out)
	}
	for _, want := range []string{
		"created: " + s.path(s.fleet+"/stint.toml"), "would spawn code", "spawned code as stint-" + s.fleet + "-code-",
		"spawned=2 skipped=0", "\n24 hours  ", "+++ b/log-code.log",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("session does not print %q:\n%s", want, out)
		}
	}
	s.dir = s.path(s.fleet)
	// A commit of a line is not good enough for one more to follow.
	st := s.eventually("two graded runs", func(st status) bool { return len(st.Runs) == 2 && len(st.Running) == 0 })
	landed := must.Get(exec.Command("git", "-C", s.dir, "ls-tree", "--name-only", "HEAD").Output())(t) //nolint:gosec // a folder of the test's
	if string(landed) != "log-code.log\nlog-research.log\n" {
		t.Errorf("the target has %q", landed)
	}
	s.stint("claim", "by-hand")
	seen := string(out) + s.stint("status")
	screen := readmeBlock(t, "<!-- screen -->\n```\n")
	for line := range strings.Lines(screen) {
		label, _, _ := strings.Cut(line, " ")
		if label != "$" && label != "\n" && label != "" && !strings.Contains(seen, "\n"+label+" ") {
			t.Errorf("the README's screen has a line %q, and the session none:\n%s", label, seen)
		}
	}
	if line := "\n24 hours  2 runs: 2 productive; mean grade "; !strings.Contains(screen, line) || !strings.Contains(seen, line) {
		t.Errorf("the README's screen and the session do not both have %q:\n%s", line, seen)
	}
	for _, r := range st.Runs {
		if !regexp.MustCompile(`(?m)^` + r.Run + ` landed on (main|master) as [0-9a-f]{12}$`).Match(out) {
			t.Errorf("run %s of %s did not land:\n%s", r.Run, r.Category, out)
		}
		if r.Outcome != "productive" || r.Grade == nil {
			t.Errorf("run of %s: %s", r.Category, r.Outcome)
		}
	}
}

// readmeBlock is the README's block of code that begins so.
func readmeBlock(t *testing.T, begin string) string {
	t.Helper()
	readme := must.Get(os.ReadFile("../../README.md"))(t)
	_, rest, found := strings.Cut(string(readme), begin)
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("README.md has no block %q", begin)
	}
	return block
}
