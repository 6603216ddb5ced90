package review

import (
	"strings"
	"testing"
)

// TestQuestions finds the open questions at the end of what agents print.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, printed, want string }{
		{"none", "Done.\nAre there open questions? No.\n", ""},
		{"an empty section", "Open questions:\n\n## Notes\nx\n", ""},
		{"a paragraph", "Done.\n\n**Open questions**\n\nIs it right\nas it is?\n\nBye.\n", "Is it right|as it is?"},
		{"a list", "## Open questions\n- One?\n\n- Two?\n  More of it.\n\n1) Three?\n\nBye.\n- No.\n", "- One?|- Two?|  More of it.|1) Three?"},
		{"up to a heading", "open question:\nOne?\n# Next\nTwo?\n", "One?"},
		{"the last section", "Open questions\nOne?\n\nOpen questions\r\nTwo?\r\n", "Two?"},
		{"too many", "Open questions\n" + strings.Repeat("?\n", 30), strings.Repeat("?|", 19) + "?"},
	} {
		if got := strings.Join(Questions(test.printed), "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
