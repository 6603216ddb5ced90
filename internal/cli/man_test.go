package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPage formats nothing that the help says: what begins with a dot or holds a
// backslash is text.
func TestManPage(t *testing.T) {
	t.Parallel()
	c := &cobra.Command{
		Use: "stint [--x] 'FILE'…", Short: "Do it",
		Long: "A back\\slash and it's -n.\n.TH is text, and so is:\n\n  .SH indented\n  'two\n\nEnd.", Example: "  stint x\n\n    y",
	}
	c.Flags().StringP("to", "t", "here", "say `WHERE` to")
	got := manPage(c, "2026-01-02")
	for _, want := range []string{
		`.TH "STINT" "1" "2026-01-02" "stint `,
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
	if got, want := manPage(c, ""), " [flags]\"\n.br\n.B \"stint COMMAND\"\n.SH"; !strings.Contains(got, want) {
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
