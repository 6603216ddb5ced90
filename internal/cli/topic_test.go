package cli

import (
	"fmt"
	"strings"
	"testing"

	"stint/internal/bandit"
	"stint/internal/config"
)

// TestTopicsFit holds the help topics to what a terminal and the pages show: a head that
// names the topic, and lines that fit.
func TestTopicsFit(t *testing.T) {
	t.Parallel()
	files, err := topics.ReadDir("topics")
	if err != nil || len(files) < 3 {
		t.Fatalf("got %d topics, error %v", len(files), err)
	}
	for _, f := range files {
		text := topicText(t, f.Name())
		if name := strings.TrimSuffix(f.Name(), ".md"); !strings.HasPrefix(text, "# "+name+": ") {
			t.Errorf("%s does not begin with %q", f.Name(), "# "+name+": ")
		}
		for line := range strings.Lines(text) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > 96 {
				t.Errorf("%s: a line of more than 96 characters: %s", f.Name(), line)
			}
		}
	}
}

func topicText(t *testing.T, name string) string {
	t.Helper()
	text, err := topics.ReadFile("topics/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRankingTopic compares the constants in the help topic with the defaults.
func TestRankingTopic(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(topicText(t, "ranking.md")), " ")
	s := bandit.Defaults()
	c, err := config.Parse("stint.toml", config.Sample(config.SampleOptions{Fleet: "f", State: "/state"}), config.Options{
		Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("half_life rounds (%v)", s.HalfLife),
		fmt.Sprintf("less than floor (%v) times", s.Floor),
		fmt.Sprintf("more than cap (%v) times", s.Cap),
		fmt.Sprintf("A debt of v sessions (%v)", s.V),
		fmt.Sprintf("at least respawn (%v)", c.Categories["code"].Respawn),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the topic does not say %q", want)
		}
	}
}
