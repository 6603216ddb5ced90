package cli

import (
	"fmt"
	"strings"
	"testing"

	"stint/internal/agent/grade"
	"stint/internal/testkit/must"
)

// TestTopicTellsHowSessionsAreGraded compares its table with the terms there are.
func TestTopicTellsHowSessionsAreGraded(t *testing.T) {
	t.Parallel()
	text := must.Get(topics.ReadFile("topics/agents.md"))(t)
	var rows []string
	for _, term := range grade.Terms() {
		value := fmt.Sprint(term.To)
		if term.From != term.To {
			value = fmt.Sprintf("%v to %v", term.From, term.To)
		}
		rows = append(rows, fmt.Sprintf("    %-11s  %-13s  %s\n", term.Name, value, term.Rule))
	}
	if want := " what it goes by\n" + strings.Join(rows, "") + "\n"; !strings.Contains(string(text), want) {
		t.Errorf("the table is not\n%s", want)
	}
}
