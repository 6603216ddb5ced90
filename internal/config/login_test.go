package config_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
)

func TestPassed(t *testing.T) {
	t.Parallel()
	a := config.Agent{PassEnvironment: []string{"PATH", "UNSET", "KEY"}, Environment: map[string]string{"KEY": "own"}}
	got := a.Passed(func(name string) string {
		return map[string]string{"PATH": "/bin", "KEY": "other", "SECRET": "x"}[name]
	})
	if diff := cmp.Diff(got, []string{"PATH=/bin", "KEY=other", "KEY=own"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestJudged(t *testing.T) {
	t.Parallel()
	own := map[string]string{"MODEL": "plain", "API_KEY": "sk-0123456789", "DATABASE": "postgres://me:0123456789@host/it"}
	a := config.Agent{PassEnvironment: []string{"PATH", "GH_TOKEN", "ANYTHING"}, Environment: own}
	got := a.Judged().Passed(environment("PATH", "/bin", "HOME", "/home/me", "GH_TOKEN", "ghp_0123456789", "ANYTHING", "else"))
	slices.Sort(got)
	if want := []string{"HOME=/home/me", "MODEL=plain", "PATH=/bin"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(own) != 3 {
		t.Errorf("the agent itself has lost some of it: %v", own)
	}
}
