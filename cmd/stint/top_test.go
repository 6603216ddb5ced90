package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"stint/internal/testkit/must"
)

// talker is an agent that prints each line that it is given, until it is stopped.
const talker = `#!/bin/bash
exec 3<>"$STINT_WORKSPACE/gate.$STINT_CATEGORY"
echo "at $STINT_CATEGORY"
echo "$STINT_TASK_ID" >"$STINT_WORKSPACE/at.$STINT_CATEGORY"
while read -r words <&3; do echo "$words"; done
`

// pane is a shell in a tmux of its own, of 80 columns and 24 lines.
type pane struct {
	*site
	socket string
}

func newPane(s *site) *pane {
	s.Helper()
	t := &pane{site: s, socket: s.path("tmux")}
	s.Cleanup(func() { _ = exec.Command("tmux", "-S", t.socket, "kill-server").Run() })
	t.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-c", s.dir, "PS1='ready> ' exec sh")
	t.shows("ready>")
	return t
}

func (t *pane) tmux(args ...string) string {
	t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", t.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "NO_COLOR=", "TMUX=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// types types a line.
func (t *pane) types(text string) {
	t.Helper()
	t.tmux("send-keys", "-l", text)
	t.press("Enter")
}

func (t *pane) press(keys ...string) {
	t.Helper()
	t.tmux(append([]string{"send-keys"}, keys...)...)
}

func (t *pane) screen() string {
	t.Helper()
	return t.tmux("capture-pane", "-p")
}

// until waits until the screen is as it should be.
func (t *pane) until(what string, ok func(screen string) bool) {
	t.Helper()
	var screen string
	eventually(t, func() bool {
		screen = t.screen()
		return ok(screen)
	}, func() string { return what + "\n" + screen })
}

func (t *pane) shows(text string) {
	t.Helper()
	t.until(fmt.Sprintf("%q on the screen", text), func(screen string) bool { return strings.Contains(screen, text) })
}

// asBefore fails the test unless the terminal is in the shell's hands as it was.
func (t *pane) asBefore(modes string) {
	t.Helper()
	if got := t.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); got != "0 1 0\n" {
		t.Errorf("alternate screen, cursor, mouse: %q, want %q", got, "0 1 0\n")
	}
	if got := t.modes(); got != modes {
		t.Errorf("modes of the terminal: %q, want %q", got, modes)
	}
}

// modes returns the terminal's modes of input, in stty's words.
func (t *pane) modes() string {
	t.Helper()
	tty := strings.TrimSpace(t.tmux("display-message", "-p", "#{pane_tty}"))
	out := must.Get(exec.Command("stty", "-F", tty, "-g").Output())(t)
	return string(out)
}

// top starts the live screen, and waits until it shows the fleet.
func (t *pane) top() {
	t.Helper()
	t.types("clear; " + t.binary + " --config " + t.path("stint.toml") + " top; echo status=$?")
	t.shows("1 lanes")
}

// process is that of the live screen.
func (t *pane) process() int {
	t.Helper()
	shell := strings.TrimSpace(t.tmux("display-message", "-p", "#{pane_pid}"))
	children := must.Get(os.ReadFile("/proc/" + shell + "/task/" + shell + "/children"))(t)
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatalf("children of the shell: %q", children)
	}
	return pid
}

// TestTop sits before the live screen of a fleet with two sessions, one of them in a unit,
// and idle lanes: reads a log as it grows, pauses a category, stops both, finds one of them
// among the runs, and leaves.
func TestTop(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code", "docs")
	extend(t, s.path("stint.toml"), "[category.x]\n[category.y]\n[category.z]\n") // which have no task
	s.write("agent", talker, 0o755)
	byHand := s.byHand("docs")
	s.atWork("docs")
	s.stint("fanout")
	s.atWork("code")
	term := newPane(s)
	modes := term.modes()

	term.top()
	for _, want := range []string{"stint " + s.fleet, "> ●  code  running  work-code", "  ●  docs  running  work-docs", "  ○  3 idle: x, y, z", "2 runs", "3 review", "4 log"} {
		term.shows(want)
	}
	for i := range 20 {
		s.say("code", fmt.Sprintf("word %d", i))
	}
	term.until("eight lines of the log beside all else", func(screen string) bool {
		return strings.Contains(screen, "3 review") && strings.Contains(screen, "  word 12\n  word 13\n  word 14\n  word 15\n  word 16\n  word 17\n  word 18\n  word 19\n")
	})
	term.press("Enter")
	term.shows("task work-code, agent fake, made ")
	s.say("code", "a word while you look")
	term.shows("a word while you look")
	term.press("Escape")
	term.shows("3 review")

	term.press("p")
	term.shows("pause code? y/n")
	term.press("y")
	term.shows("code paused, until it is resumed: by ")
	if got := s.stint("status", "--json"); !strings.Contains(got, `"pauses": [`) || !strings.Contains(got, `"category": "code",`) {
		t.Errorf("status after the pause:\n%s", got)
	}

	term.press("x")
	term.shows(" of code? y/n")
	term.press("y")
	term.shows(" of code ended: cancelled")
	term.shows("=  code  paused")
	term.press("j", "x")
	term.shows(" of docs? y/n")
	term.press("y")
	term.shows("○  docs  idle")
	term.press("/")
	term.types("docs cancelled")
	term.shows(" 1 of 2 ")
	term.press("Enter")
	term.shows("! cancelled")
	term.shows("task work-docs, agent fake, ")
	term.press("Escape")
	term.shows(" 1 of 2 ")
	term.press("Escape")
	term.shows("3 review")
	if got := byHand(); got != 143 {
		t.Errorf("the session by hand ended with %d, want 143", got)
	}
	st := s.status()
	if len(st.Running) != 0 || len(st.Runs) != 2 || st.Runs[0].Outcome != "cancelled" || st.Runs[1].Outcome != "cancelled" {
		t.Errorf("after the stops: running %+v, runs %+v; want two that were cancelled", st.Running, st.Runs)
	}
	if failed := s.failedUnits(); failed != "" {
		t.Errorf("failed units: %s", failed)
	}

	term.tmux("resize-window", "-x", "120", "-y", "40")
	term.until("a screen of 120 columns", func(screen string) bool {
		return strings.Contains(screen, strings.Repeat("━", 110)) && strings.Contains(screen, "  AGENT  ")
	})
	term.press("q")
	term.shows("status=0")
	term.asBefore(modes)
}

// TestTopSignalled gives the terminal back whatever ends the live screen, and wants one
// that can be drawn on.
func TestTopSignalled(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	term := newPane(s)
	modes := term.modes()
	for sig, status := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGHUP: 143} {
		term.top()
		s.signal(term.process(), sig)
		term.shows(fmt.Sprintf("status=%d", status))
		term.asBefore(modes)
	}
	term.top()
	term.press("C-c")
	term.shows("status=0")
	term.asBefore(modes)

	term.types("clear; TERM=dumb " + s.binary + " --config " + s.path("stint.toml") + " top; echo status=$?")
	term.shows("status=2")
	term.shows("hint: stint status")

	term.types("clear; NO_COLOR=1 " + s.binary + " --config " + s.path("stint.toml") + " top")
	term.shows("1 lanes")
	if got := term.tmux("capture-pane", "-p", "-e"); strings.Contains(got, "\x1b[3") {
		t.Errorf("with NO_COLOR there are colours: %q", got)
	}
	term.press("q")
}

// TestTopReview looks at a change through the pager, rejects one and lands another from the live
// screen.
func TestTopReview(t *testing.T) {
	t.Parallel()
	s := newSite(t, "code")
	s.write("stint.toml", fmt.Sprintf(`fleet = %q
state = %q
[agent.sh]
box = "open"
command = ["sh", "-c", "echo $STINT_RUN_ID >$STINT_RUN_ID; git add .; git commit -qm work"]
[category.code]
agents = ["sh"]
self_directed = true
workspace = "clone"
`, s.fleet, s.path("state")), 0o644)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "a"},
		{"config", "user.email", "a@example.org"},
		{"commit", "-q", "--allow-empty", "-m", "begin"},
	} {
		if out, err := exec.Command("git", append([]string{"-C", s.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s.stint("run", "--category", "code")
	s.stint("run", "--category", "code")
	s.write("pager", "#!/bin/sh\ncat\ntest -t 1 && echo paged\nread -r line </dev/tty\n", 0o755)
	term := newPane(s)
	term.types("export GIT_PAGER=" + s.path("pager"))
	modes := term.modes()
	term.top()
	term.press("w")
	term.shows("2 for main")
	term.press("d")
	term.shows("+01")
	term.shows("paged")
	term.press("Enter")
	term.shows("2 for main")
	term.press("L", "y")
	term.shows(" landed on main as ")
	term.shows("1 for main")
	term.press("x")
	term.types("Not so.")
	term.shows("rejected the work of ")
	term.shows("nothing waits for review")
	term.press("q")
	term.shows("status=0")
	term.asBefore(modes)
	if got := s.stint("review", "--all"); !strings.Contains(got, "Not so.") {
		t.Errorf("reviews: %s", got)
	}
}
