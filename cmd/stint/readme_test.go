package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadmeSession pastes the README's session into a shell, as a newcomer would,
// and finds what it promises: units started, and work that was graded.
func TestReadmeSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, "unused")
	// The session's folder names its fleet; no fleet of the user's may be meant. Its agent works
	// for 20 seconds, to be seen at it, of which one is enough here.
	script := strings.NewReplacer("trial", s.fleet, "seq 20", "seq 1").Replace(readmeSession(t))
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.dir, "XDG_STATE_HOME="+s.path("home-state"), "STINT_CONFIG=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("session: %v\n%s", err, out)
	}
	for _, want := range []string{
		"created: " + s.path(s.fleet+"/stint.toml"), "added keep-a-log (research)", "would spawn code", "spawned code as stint-" + s.fleet + "-code-",
		"spawned=2 skipped=1", "\n24 hours  ",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("session does not print %q:\n%s", want, out)
		}
	}
	s.dir = s.path(s.fleet)
	// A commit of a line is not good enough for one more to follow.
	st := s.eventually("two graded runs", func(st status) bool { return len(st.Runs) == 2 && len(st.Running) == 0 })
	for _, r := range st.Runs {
		if r.Outcome != "productive" || r.Grade == nil {
			t.Errorf("run of %s: %s", r.Category, r.Outcome)
		}
	}
}

// readmeSession is the README's block that is marked as tested.
func readmeSession(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "<!-- tested -->\n```sh\n")
	session, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatal("README.md has no block marked as tested")
	}
	return session
}

// TestReadmeCommands finds every command of the program in the README, and no
// other.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(readme)) {
		if name, ok := strings.CutPrefix(line, "| `stint "); ok {
			documented[strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '`' })[0]] = true
		}
	}
	out, err := exec.Command("stint", "__complete", "").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, isCommand := strings.Cut(line, "\t")
		if isCommand && name != "help" && name != "completion" && !documented[name] {
			t.Errorf("README.md does not list stint %s", name)
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("README.md lists commands that do not exist: %v", documented)
	}
}
