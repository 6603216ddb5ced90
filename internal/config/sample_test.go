package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// shown is a default that a sample shows as a comment.
var shown = regexp.MustCompile(`(?m)^# (\w+ = .*|\[.*\])$`)

func TestSampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	for name, agents := range map[string][]config.SampleAgent{
		"claude": nil,
		"several": {
			{Name: "claude", Command: []string{"claude", "-p"}},
			{Name: "codex", Command: []string{"codex", "exec"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/var/bob", Agents: agents}))
			bare := load(t, text)
			// To a hundredth: an equal share of three has no short decimal.
			nearly := cmp.Options{plain, cmpopts.IgnoreFields(config.Config{}, "Path", "Workspace", "Tasks.Dir", "Lessons.Dir"), cmpopts.EquateApprox(0, 0.01)}
			everything := load(t, shown.ReplaceAllString(text, "$1"))
			if diff := cmp.Diff(everything, bare, nearly); diff != "" {
				t.Errorf("what the comments say (-got), what is so (+want):\n%s", diff)
			}
			if got, want := everything.Workspace, filepath.Dir(everything.Path); got != want {
				t.Errorf("workspace: got %s, want %s", got, want)
			}
			if got, want := everything.Tasks.Dir, filepath.Join(everything.Workspace, "tasks"); got != want {
				t.Errorf("tasks: got %s, want %s", got, want)
			}
			if got, want := everything.Lessons.Dir, filepath.Join(everything.Workspace, "lessons"); got != want {
				t.Errorf("lessons: got %s, want %s", got, want)
			}
			if got := bare.Warnings(); len(got) != 0 {
				t.Errorf("warnings: got %v, want none", got)
			}
		})
	}
}

func TestSampleAsWritten(t *testing.T) {
	t.Parallel()
	golden(t, "sample.toml", string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/var/bob"})))
}

func TestSampleHasEveryKey(t *testing.T) {
	t.Parallel()
	text := string(config.Sample(config.SampleOptions{Fleet: "bob", State: "/var/bob"}))
	c := load(t, shown.ReplaceAllString(text, "$1"))
	for _, v := range c.Values() {
		if strings.HasPrefix(v.Key, "category.research.") || strings.HasPrefix(v.Key, "category.cleanup.") {
			continue
		}
		if v.Origin == "default" {
			t.Errorf("%s is not in the sample", v.Key)
		}
	}
	must.Equal(t, "categories", c.CategoryNames(), []fleet.Category{"cleanup", "code", "research"})
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
