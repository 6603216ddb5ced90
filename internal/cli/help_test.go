package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpFits holds of the help of each command and topic: on a terminal of 80 columns no sentence is broken within a
// word. Code, tables and headings may be wider, and so may a word that is an address.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(&app{}, nil), func(c *cobra.Command) {
		var out bytes.Buffer
		c.SetOut(&out)
		(&app{}).printHelp(c, nil)
		text, _, _ := strings.Cut(out.String(), "\nExamples:\n")
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			code := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "#")
			if !code && utf8.RuneCountInString(line) > 80 && strings.Contains(strings.TrimPrefix(line, "- "), " ") {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	})
}

// TestWrapped breaks paragraphs and items alone.
func TestWrapped(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20)
	broken := strings.Repeat("word ", 15) + "word\nword word word word\n"
	text := "# Heading " + long + "\n\n" + long + "\n  code " + long + "\n| " + long + "\nshort\nlines\n\n- first\n  item\n- " + long + "\n\nEnd."
	want := "# Heading " + long + "\n\n" + broken + "  code " + long + "\n| " + long + "\nshort lines\n\n- first item\n- " +
		strings.Repeat("word ", 14) + "word\n  word word word word word\n\nEnd."
	if diff := cmp.Diff(want, wrapped(text)); diff != "" {
		t.Error(diff)
	}
}

// TestPlaceholders has one form for the values of flags in help, errors and manual pages: NAME, and no type of Go's.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	eachCommand(newRoot(&app{}, nil), func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); strings.ContainsFunc(name, unicode.IsLower) {
				t.Errorf("%s --%s: its value is called %q", c.CommandPath(), f.Name, name)
			}
		})
	})
}

func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, visit)
	}
}
