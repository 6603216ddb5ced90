package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// forger is an agent whose lines would be taken for the system's worst news.
const forger = `#!/bin/sh
printf '<0>forged\n\n<1>\r<2>forged\n  <3>forged\n'
printf '<4>forged' >&2
echo '<0>forged, and no JSON' >"$STINT_RESULT"
`

// asJournal runs stint with a file for a journal: $JOURNAL_STREAM names standard error, as under
// the service manager.
const asJournal = `exec 2>"$1"; shift; JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec "$@"`

// TestUnitInJournal runs a session in a unit of the service manager. Every line that it
// writes has the priority that is its own, whatever the agent prints: a warning of a task
// that cannot be read, the agent's lines as information, and the failure as an error.
func TestUnitInJournal(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	s.write("agent", forger, 0o755)
	s.write("tasks/bad.md", "---\nstate: \"\\n<0>forged\"\n---\n", 0o644)
	cmd := exec.Command("systemd-run", "--user", "--wait", "--quiet", "--collect", "--unit", "stint-"+s.fleet+"-journal",
		"--setenv=PATH="+os.Getenv("PATH"), "--setenv=HOME="+s.dir, "--working-directory="+s.dir,
		"sh", "-c", asJournal, "sh", s.path("journal"), s.binary, "--config", s.path("stint.toml"), "run", "--category", "code")
	out, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(s.path("journal"))
	if readErr != nil {
		t.Fatalf("the unit wrote nothing (%v): %v\n%s", readErr, err, out)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		priority, rest, ok := strings.Cut(line, ">")
		counts[priority]++
		switch {
		case !ok:
			t.Errorf("line %q has no priority", line)
		case strings.Contains(rest, "time=") || strings.Contains(rest, "level="):
			t.Errorf("line %q says what the journal knows", line)
		case strings.Contains(rest, "forged") && strings.HasPrefix(rest, "| ") && priority != "<6":
			t.Errorf("line %q of the agent has priority %s, want <6>", line, priority)
		}
	}
	if counts["<4"] == 0 || counts["<3"] == 0 || counts["<6"] < 5 || counts["<0"]+counts["<1"]+counts["<2"] > 0 {
		t.Errorf("lines by priority: %v, want a warning, an error, and the agent's as info\n%s", counts, text)
	}
}
