package doctor

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"stint/internal/screen"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	must.Do(t, err)
	must.Equal(t, path, got, string(want))
}

// TestFindings lays out one finding of each kind, one of them with words that are hostile.
func TestFindings(t *testing.T) {
	t.Parallel()
	list := []Finding{
		{Check: "config", State: OK, What: "/home/op/work/stint.toml"},
		{
			Check: "bus", State: Problem,
			What: "reach the user's service manager at unix:path=/run/user/1000/bus: dial unix /run/user/1000/bus: connect: no such file or directory",
			Why:  "the service manager starts fires and workers; without it only stint fanout --exec starts them",
			Fix:  "sudo loginctl enable-linger 1000",
		},
		{Check: "state_folder", State: Warning, What: "others can read it", Why: "prompts and logs are in it", Fix: "chmod 700 /home/op/.local/state/stint/bob"},
		{Check: "login", State: Unknown, What: "claude: its preset does not tell where its login is"},
		{Check: "tasks", State: Warning, What: "tasks/\x1b[31mx\u202e.md\n:1: no front matter", Why: "no session works on what cannot be read"},
	}
	for _, width := range []int{80, 120} {
		lines := Lines(list, screen.Style{Width: width})
		golden(t, fmt.Sprintf("findings-%d.txt", width), lines)
		for _, line := range lines {
			if got := ansi.StringWidth(line); got > width {
				t.Errorf("%d columns, want at most %d: %q", got, width, line)
			}
		}
	}
	golden(t, "findings-coloured.txt", Lines(list, screen.Style{Width: 80, Colour: true}))
	for _, line := range Lines(list, screen.Style{Width: 20}) {
		if strings.Contains(line, "fix") && !strings.Contains(line, "loginctl enable-linger 1000") && !strings.Contains(line, "chmod 700 /home") {
			t.Errorf("a command is broken: %q", line)
		}
	}
}

// TestFindingsInOrder has one line for each finding that is in order.
func TestFindingsInOrder(t *testing.T) {
	t.Parallel()
	got := strings.Join(Lines([]Finding{
		{Check: "config", State: OK, What: "a"}, {Check: "bus", State: OK, What: "b"},
	}, screen.Style{}), "\n")
	if want := "✓  config  a\n✓  bus     b\n2 ok, 0 warnings, 0 problems, 0 unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
