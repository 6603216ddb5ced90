package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"stint/internal/testkit/must"
)

func TestArgumentKinds(t *testing.T) {
	t.Parallel()
	for use, want := range map[string][]string{
		"audit":                                nil,
		"claim TASK":                           {"TASK"},
		"pause [CATEGORY]":                     {"CATEGORY"},
		"verify [TASK --epoch N]":              {"TASK"},
		"run (--run ID | --task ID)":           nil,
		"replay FIRE":                          {"FIRE"},
		"logs RUN|CATEGORY":                    {"RUN", "CATEGORY"},
		"why (TASK | CATEGORY | FIRE) [--now]": {"TASK", "CATEGORY", "FIRE"},
	} {
		must.Equal(t, use, argumentKinds(use), want)
	}
}

// TestOffer leaves out what cannot be shown, and what says something to a shell, and says no more of a name than
// fits beside it.
func TestOffer(t *testing.T) {
	t.Parallel()
	list := []candidate{
		{"fix", "one\nline\x1b[2J " + strings.Repeat("é", aboutRunes)},
		{"fix", "twice"},
		{"other", ""},
		{"fix it", ""},
		{"fix$(a)", ""},
		{"fix`a`", ""},
		{"fix\\a", ""},
		{"fix'", ""},
		{`fix"`, ""},
		{"fix;a", ""},
		{"fix!a", ""},
		{"fix*", ""},
		{"fix{a}", ""},
		{"fix|a", ""},
		{"fix&", ""},
		{"fix<a", ""},
		{"fix#", ""},
		{"fix~", ""},
		{"fix=~", ""},
		{"fix\ttab", ""},
		{"fix\nline", ""},
		{"fix\u202ebidi", ""},
		{"fix\u200bzero", ""},
		{"fix\xff", ""},
		{"fix ", ""},
		{"fix\u00a0", ""},
		{"fixé", ""},
		{"fix-1.2:a@b", ""},
	}
	got, directive := offer(list, "fix")
	want := []cobra.Completion{
		"fix\tone line\ufffd[2J " + strings.Repeat("é", aboutRunes-len("one line?[2J ")-1) + "…", "fixé", "fix-1.2:a@b",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("directive %d, want no files", directive)
	}
	for _, name := range []string{"-rf", "--help", ""} {
		if got, _ := offer([]candidate{{name, ""}}, ""); len(got) > 0 {
			t.Errorf("got %q, want nothing", got)
		}
	}
}

// TestOfferOfTooMany leads on by the next letter, to every name there is.
func TestOfferOfTooMany(t *testing.T) {
	t.Parallel()
	list := []candidate{{"task-", ""}, {"task-é", ""}, {"task-è", ""}}
	for i := range mostNames {
		list = append(list, candidate{fmt.Sprintf("task-%04d", i), ""})
	}
	got, directive := offer(list, "t")
	want := []cobra.Completion{"task-", "task-0", "task-è", "task-é"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if directive&cobra.ShellCompDirectiveNoSpace == 0 {
		t.Errorf("directive %d, want no space", directive)
	}
	if got, _ := offer(list, "task-01"); len(got) != 100 {
		t.Errorf("got %d names that begin with task-01, want 100", len(got))
	}
}
