package screen_test

import (
	"fmt"
	"strings"
	"testing"

	"stint/internal/doctor"
	"stint/internal/screen"
)

// TestFindings lays out one finding of each kind, one of them with words that are hostile.
func TestFindings(t *testing.T) {
	t.Parallel()
	list := []doctor.Finding{
		{Check: "config", State: doctor.OK, What: "/home/op/work/stint.toml"},
		{
			Check: "bus", State: doctor.Problem,
			What: "reach the user's service manager at unix:path=/run/user/1000/bus: dial unix /run/user/1000/bus: connect: no such file or directory",
			Why:  "the service manager starts the fires and the workers; without it only stint fanout --exec does",
			Fix:  "sudo loginctl enable-linger 1000",
		},
		{Check: "state_folder", State: doctor.Warning, What: "others can read it", Why: "prompts and logs are in it", Fix: "chmod 700 /home/op/.local/state/stint/bob"},
		{Check: "login", State: doctor.Unknown, What: "claude: nothing is known of its login, as it has no preset"},
		{Check: "tasks", State: doctor.Warning, What: "tasks/\x1b[31mx\u202e.md\n:1: no front matter", Why: "no session works on what cannot be read"},
	}
	for _, width := range []int{80, 120} {
		lines := screen.Findings(list, screen.Style{Width: width})
		fits(t, lines, width)
		golden(t, fmt.Sprintf("findings-%d.txt", width), lines)
	}
	golden(t, "findings-coloured.txt", screen.Findings(list, screen.Style{Width: 80, Colour: true}))
	for _, line := range screen.Findings(list, screen.Style{Width: 20}) {
		if strings.Contains(line, "fix") && !strings.Contains(line, "loginctl enable-linger 1000") && !strings.Contains(line, "chmod 700 /home") {
			t.Errorf("a command is broken: %q", line)
		}
	}
}

// TestFindingsInOrder has one line for each finding that is in order.
func TestFindingsInOrder(t *testing.T) {
	t.Parallel()
	got := strings.Join(screen.Findings([]doctor.Finding{
		{Check: "config", State: doctor.OK, What: "a"}, {Check: "bus", State: doctor.OK, What: "b"},
	}, screen.Style{}), "\n")
	if want := "✓  config  a\n✓  bus     b\n2 ok, 0 warnings, 0 problems, 0 unknown"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
