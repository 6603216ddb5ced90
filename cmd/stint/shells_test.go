package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// shellSetup lets a line be looked at as bash has taken it apart.
const shellSetup = `source <(stint completion bash)
args() { printf '<%s>' "$@"; echo =end; }
echo =ready
`

// TestBashCompletion presses the tab key in a real bash on a terminal. A name that says
// something to the shell comes onto the command line quoted, also where it is only the
// part that several have in common; nothing on the line is run.
func TestBashCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"fix-login", "fix it all", "fix it now", "$(touch ran1)a", "$(touch ran1)b", "`touch ran2`", "it's", `say "hi"`, "a:b:c",
		"semi;touch ran3", `back\slash`, "~root", "x!y", "tab\there", "line\ntouch ran4", "bidi\u202ename", "größe",
	} {
		write(t, filepath.Join(dir, "tasks", name+".md"), "---\nstate: todo\n---\n# $(touch ran5) `touch ran6`\n", 0o600)
	}
	write(t, filepath.Join(dir, "stint.toml"), fmt.Sprintf("fleet = \"shells\"\nstate = %q\n[agent.fake]\ncommand = [\"true\"]\n[category.code]\n", filepath.Join(dir, "state")), 0o600)
	write(t, filepath.Join(dir, "rc"), shellSetup, 0o600)
	bash := startBash(t, dir)
	for _, tt := range []struct{ typed, want string }{
		{`stint claim fix-`, `<stint><claim><fix-login>`},
		{`stint claim fix\ it\ n`, `<stint><claim><fix it now>`},
		{`stint claim 'fix it n`, `<stint><claim><fix it now>`},
		{`stint claim "fix it n`, `<stint><claim><fix it now>`},
		{`stint claim fix\ `, `<stint><claim><fix it >`},
		{`stint claim \$`, `<stint><claim><$(touch ran1)>`},
		{"stint claim \\`", "<stint><claim><`touch ran2`>"},
		{`stint claim it`, `<stint><claim><it's>`},
		{`stint claim say`, `<stint><claim><say "hi">`},
		{`stint claim a:b`, `<stint><claim><a:b:c>`},
		{`stint claim se`, `<stint><claim><semi;touch ran3>`},
		{`stint claim b`, `<stint><claim><back\slash>`},
		{`stint claim \~`, `<stint><claim><~root>`},
		{`stint claim x`, `<stint><claim><x!y>`},
		{`stint claim gr`, `<stint><claim><größe>`},
		{`stint claim li`, `<stint><claim><list>`}, // the command alone
		{`stint claim tab`, `<stint><claim><tab>`},
		{`stint run --category=c`, `<stint><run><--category=code>`},
		{`stint run --agent f`, `<stint><run><--agent><fake>`},
		{`stint --config stint.t`, `<stint><--config><stint.toml>`},
		{`stint pau`, `<stint><pause>`},
		{`stint pause '$(touch ran7)' "$(touch` + " ran8)\" `touch ran9`", ""},
	} {
		if got := bash.complete(tt.typed, tt.want == ""); got != tt.want {
			t.Errorf("%s and tab: got %s, want %s", tt.typed, got, tt.want)
		}
	}
	if ran, _ := filepath.Glob(filepath.Join(dir, "ran*")); len(ran) > 0 {
		t.Errorf("completion ran commands: %q", ran)
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); !os.IsNotExist(err) {
		t.Errorf("completion wrote the state folder (%v), want nothing written", err)
	}
}

// terminal is a shell on a terminal.
type terminal struct {
	*testing.T
	keys   io.Writer
	screen *bufio.Scanner
}

func startBash(t *testing.T, dir string) *terminal {
	t.Helper()
	// A shell that says nothing more is ended, and the test with it. It starts the program
	// some thirty times, on a machine that has much else to do.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, "script", "--quiet", "--return", "--command", "bash --noprofile --rcfile rc -i", "/dev/null")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "STINT_CONFIG=", "TERM=dumb", "LC_ALL=C.UTF-8", "INPUTRC=/dev/null", "HISTFILE=", "PS1=$ ")
	cmd.WaitDelay = 5 * time.Second
	keys := must.Get(cmd.StdinPipe())(t)
	screen := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // killed
	})
	b := &terminal{t, keys, bufio.NewScanner(screen)}
	b.until("=ready")
	return b
}

// complete types a line, presses the tab key and returns what words the line has then, or
// throws the line away.
func (b *terminal) complete(line string, away bool) string {
	b.Helper()
	keys := line + "\t\x01args \n" // at the beginning of the line
	if away {
		keys = line + "\t\x15\x0b" + "args\n" // nothing is left before and after the cursor
	}
	if _, err := io.WriteString(b.keys, keys); err != nil {
		b.Fatal(err)
	}
	words := b.until("=end")
	if away {
		return ""
	}
	return words
}

// until returns what stands before the mark in the line that ends with it.
func (b *terminal) until(mark string) string {
	b.Helper()
	var seen []string
	for b.screen.Scan() {
		line := strings.TrimRight(b.screen.Text(), "\r")
		if before, ok := strings.CutSuffix(line, mark); ok {
			return before
		}
		seen = append(seen, line)
	}
	b.Fatalf("no %s on the screen:\n%s", mark, strings.Join(seen, "\n"))
	return ""
}

// write writes a file, and makes the folders above it.
func write(tb testing.TB, path, text string, mode os.FileMode) {
	tb.Helper()
	must.Do(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(tb, os.WriteFile(path, []byte(text), mode))
}

// extend adds to a file.
func extend(tb testing.TB, path, text string) {
	tb.Helper()
	before := must.Get(os.ReadFile(path))(tb)
	write(tb, path, string(before)+text, 0o600)
}
