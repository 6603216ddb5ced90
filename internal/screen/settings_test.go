package screen_test

import (
	"fmt"
	"slices"
	"testing"

	"stint/internal/screen"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	list := []screen.Setting{
		{Origin: "stint.toml:3", Text: `fleet = "bob"`},
		{Origin: "default", Default: true, Text: `workspace = "/home/bob/a folder with a long name, in which there is more than one line of text"`},
		{Origin: "stint.toml:118", Text: `agent.claude.command = ["claude", "-p", "--output-format", "stream-json", "--settings", "{\"sandbox\":{\"enabled\":true,\"failIfUnavailable\":true,\"allowUnsandboxedCommands\":false}}", "--add-dir", "{run_dir}"]`},
		{Origin: "default", Default: true, Text: "category.code.prompt = \"\x1b[2J\""},
	}
	for _, width := range []int{120, 80} {
		lines := screen.Settings(list, screen.Style{Width: width})
		fits(t, lines, width)
		golden(t, fmt.Sprintf("settings-%d.txt", width), lines)
	}
	piped := screen.Settings(list, screen.Style{})
	if got, want := len(piped), len(list); got != want {
		t.Errorf("in a pipe: got %d lines, want one for each of %d values", got, want)
	}
	if coloured := screen.Settings(list, screen.Style{Width: 80, Colour: true}); !slices.Contains(coloured, "stint.toml:3    fleet = \"bob\"") {
		t.Errorf("what the file says is not plain:\n%q", coloured)
	}
}
