package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"stint/internal/testkit/must"
)

// TestWrite finds a page for every command and topic, with what its help says.
func TestWrite(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	must.Do(t, write(folder, edition{"stint 1.0", day("1767312000")}))
	for path, want := range map[string][]string{
		"man1/stint.1":               {`.TH "STINT" "1" "2026-01-02" "stint 1.0" "User Commands"`, `\fBstint\-claim\fR(1)`, `\fBstint\-agents\fR(7),`},
		"man1/stint-claim.1":         {".SH \"COMMANDS\"\n"},
		"man1/stint-claim-take.1":    {".B \"stint claim take TASK [flags]\"\n"},
		"man1/stint-claim-release.1": {".B \"stint claim release TASK [flags]\"\n", `\fBstint\-claim\fR(1),`, ".TP\n\\fB5\\fR\n"},
		"man5/stint-config.5":        {".SH \"[category.NAME]\"\n"},
		"man7/stint-agents.7":        {".SH \"THE RESULT FILE\"\n"},
		"man7/stint-tasks.7":         {".TH "},
	} {
		page := string(must.Get(os.ReadFile(filepath.Join(folder, path)))(t))
		for _, want := range want {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not hold %q:\n%s", path, want, page)
			}
		}
	}
	page := string(must.Get(os.ReadFile(filepath.Join(folder, "man1/stint-claim-release.1")))(t))
	if strings.Contains(page, ".TP\n\\fB75\\fR\n") {
		t.Error("stint claim release has a status of other commands")
	}
	if _, err := os.Stat(filepath.Join(folder, "man1/stint-help.1")); err == nil {
		t.Error("there is a page of what only explains the others")
	}
}

// TestManPage formats nothing that the help says: what begins with a dot or holds a
// backslash is text.
func TestManPage(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{
		Use: "stint [--x] 'FILE'…", Short: "Do it",
		Long: "A back\\slash and it's -n.\n.TH is text, and so is:\n\n  .SH indented\n  'two\n\nEnd.", Example: "  stint x\n\n    y",
	}
	c.Flags().StringP("to", "t", "here", "say `WHERE` to")
	got := manPage(c, edition{"stint 1.0", "2026-01-02"})
	for _, want := range []string{
		`.TH "STINT" "1" "2026-01-02" "stint 1.0" "User Commands"`,
		"stint \\- do it\n",
		`.B "stint [\-\-x] \[u0027]FILE\[u0027]\[u2026] [flags]"`,
		"A back\\[u005C]slash and it\\[u0027]s \\-n. .TH is text, and so is:\n.PP\n.RS 4\n.nf\n\\&.SH indented\n\\&\\[u0027]two\n.fi\n.RE\n.PP\nEnd.\n",
		".TP\n\\fB\\-t\\fR, \\fB\\-\\-to\\fR \\fIWHERE\\fR\nsay WHERE to (default here)\n",
		".SH \"EXAMPLES\"\n.RS 4\n.nf\n\\&stint x\n\\&\n\\&  y\n",
		".TP\n\\fB2\\fR\nwrong usage or configuration\n",
		".SH \"SEE ALSO\"\n\\fBjournalctl\\fR(1),\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("page does not hold %q:\n%s", want, got)
		}
	}
	c.AddCommand(&cobra.Command{Use: "sub", Run: func(*cobra.Command, []string) {}})
	if got, want := manPage(c, edition{}), " [flags]\"\n.br\n.B \"stint COMMAND\"\n.SH"; !strings.Contains(got, want) {
		t.Errorf("with commands: page does not hold %q:\n%s", want, got)
	}
	for line := range strings.Lines(got) {
		if len(line) > roffLine+1 && !strings.HasPrefix(line, ".") {
			t.Errorf("line of %d bytes, want at most %d: %s", len(line)-1, roffLine, line)
		}
	}
}

// TestTextLineNeverBeginsWithARequest holds for lines that were broken, too.
func TestTextLineNeverBeginsWithARequest(t *testing.T) {
	t.Parallel()
	var p page
	p.text(strings.Repeat("x", roffLine) + " .so /etc/passwd")
	if got, want := p.String(), strings.Repeat("x", roffLine)+"\n\\&.so /etc/passwd\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
