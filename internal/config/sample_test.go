package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/config"
	"stint/internal/fleet"
)

// TestSampleLeavesChoices takes each comment with a setting for what it shows: a file that loads, without a warning.
func TestSampleLeavesChoices(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]config.SampleOptions{
		"claude": {}, "categories": {Categories: []fleet.Category{"code", "docs"}},
		"several": {Agents: []config.SampleAgent{{Name: "claude", Command: []string{"claude", "-p"}}, {Name: "codex", Command: []string{"codex", "exec"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Fleet, o.State = "bob", "/var/bob"
			text := string(config.Sample(o))
			if n := strings.Count(text, "\n"); n > 25 {
				t.Errorf("got %d lines, want at most 25", n)
			}
			for _, text := range []string{text, shown.ReplaceAllString(text, "$1")} {
				if got := load(t, text).Warnings(); len(got) != 0 {
					t.Errorf("warnings: got %v, want none, of\n%s", got, text)
				}
			}
		})
	}
}

// shown is a choice that a sample shows as a comment.
var shown = regexp.MustCompile(`(?m)^# (\w+ = .*)$`)

func TestSampleAsWritten(t *testing.T) {
	t.Parallel()
	golden(t, "sample.toml", string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/var/bob"})))
}

func TestSampleTakesAnyString(t *testing.T) {
	t.Parallel()
	words := rapid.StringN(1, 20, -1).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) })
	rapid.Check(t, func(rt *rapid.T) {
		state := "/" + words.Draw(rt, "state")
		agents := []config.SampleAgent{{
			Name:    "a",
			Command: rapid.SliceOfN(words, 1, 4).Draw(rt, "command"),
		}}
		c := load(t, string(config.Sample(config.SampleOptions{Fleet: "bob", State: state, Agents: agents})))
		if got, want := c.State, filepath.Clean(state); got != want {
			rt.Fatalf("state: got %q, want %q", got, want)
		}
		if diff := cmp.Diff(c.Agents["a"].Command, agents[0].Command); diff != "" {
			rt.Fatalf("command (-got +want):\n%s", diff)
		}
	})
}
