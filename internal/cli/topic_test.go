package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/testkit/must"
	"stint/internal/view"
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
	text := must.Get(topics.ReadFile("topics/" + name))(t)
	return string(text)
}

// TestRankingTopic compares the constants in the help topic with the defaults.
func TestRankingTopic(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(topicText(t, "ranking.md")), " ")
	s := rank.Defaults()
	c := must.Get(config.Parse("stint.toml", config.Sample(config.SampleOptions{Fleet: "f", State: "/state"}), config.Options{
		Getenv: func(string) string { return "" },
	}))(t)
	for _, want := range []string{
		fmt.Sprintf("half after %v rounds", s.HalfLife),
		fmt.Sprintf("less than floor (%v) times", s.Floor),
		fmt.Sprintf("more than cap (%v) times", s.Cap),
		fmt.Sprintf("at least respawn (%v)", c.Categories["work"].Respawn),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the topic does not say %q", want)
		}
	}
}

// TestWaitingRule finds the one rule by which a task waits for a person wherever it is described.
func TestWaitingRule(t *testing.T) {
	t.Parallel()
	number := []string{"No", "One", "Two", "Three", "Four"}
	rule := fmt.Sprintf("waits for a person after %s sessions that worked on it and left its state as it was, unless it is active. "+
		"%s failed sessions in a row do the same in any state.", strings.ToLower(number[fleet.SessionsToWait]), number[fleet.FailuresToWait])
	for place, text := range map[string]string{"tasks.md": topicText(t, "tasks.md"), "task retry": newTaskRetry(&app{}).Long} {
		if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "`", "")), " "), rule) {
			t.Errorf("%s does not say that a task %s", place, rule)
		}
	}
}

// TestDocumentsNameWhatExists finds every command line in the help topics and in the
// documents to be one of a command that there is, with flags that it has, and every command to
// stand in one of them.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{Surroundings: Process()}, nil)
	named := map[string]bool{}
	for _, path := range documents(t) {
		text := must.Get(os.ReadFile(path))(t)
		lines := commandLines(string(text))
		for _, line := range lines {
			c, err := commandOf(root, strings.Fields(line))
			if err != nil {
				t.Errorf("%s: stint %s: %v", filepath.Base(path), line, err)
				continue
			}
			named[c.CommandPath()] = true
		}
	}
	eachCommand(root, func(c *cobra.Command) {
		if c.Runnable() && c.IsAvailableCommand() && !c.HasSubCommands() && !named[c.CommandPath()] {
			t.Errorf("neither a topic nor a document names %s", c.CommandPath())
		}
	})
}

// documents are the files that people read beside the help.
func documents(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("topics/*.md")
	if err != nil || len(paths) < 8 {
		t.Fatalf("got %d topics, error %v", len(paths), err)
	}
	return append(paths, "../../README.md", "../../.github/CONTRIBUTING.md", "../../.github/SECURITY.md")
}

// commandLines are the arguments of stint in a text: in quotes, in backticks, and at the
// beginning of a line of code.
func commandLines(text string) (list []string) {
	for _, m := range regexp.MustCompile("(?m)^(?: {4})?stint ([a-z].*)$").FindAllStringSubmatch(text, -1) {
		line, _, _ := strings.Cut(m[1], " # ")
		line, _, _ = strings.Cut(line, " | ")
		list = append(list, line)
	}
	joined := strings.Join(strings.Fields(text), " ")
	for _, m := range regexp.MustCompile("[\"`](?:sudo )?stint ([a-z][^\"`]*)[\"`]").FindAllStringSubmatch(joined, -1) {
		list = append(list, m[1])
	}
	return list
}

// commandOf is the command that a command line means, whose flags all exist.
func commandOf(root *cobra.Command, words []string) (*cobra.Command, error) {
	c, _, err := root.Find(words)
	if err != nil {
		return nil, err
	}
	if words[0] == "help" && len(words) > 1 && !isTopic(c) {
		return nil, fmt.Errorf("no topic %s", words[1])
	}
	c.InitDefaultHelpFlag()
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		long, isLong := strings.CutPrefix(name, "--")
		if isLong && c.Flags().Lookup(long) == nil && c.InheritedFlags().Lookup(long) == nil {
			return nil, fmt.Errorf("no flag %s", name)
		}
		if !isLong && len(name) == 2 && name[0] == '-' && c.Flags().ShorthandLookup(name[1:]) == nil {
			return nil, fmt.Errorf("no flag %s", name)
		}
	}
	return c, nil
}

// cells are the rows of the table in a text that has a title, without its head. Two spaces part
// its columns.
func cells(t *testing.T, text, title string) (rows [][]string) {
	t.Helper()
	_, text, found := strings.Cut(text, "\n    "+title+"  ")
	if !found {
		t.Fatalf("no table %q", title)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	for _, line := range strings.Split(text, "\n")[1:] {
		rows = append(rows, regexp.MustCompile("  +").Split(strings.TrimSpace(line), -1))
	}
	return rows
}

// column is one column of rows.
func column(rows [][]string, i int) (list []string) {
	for _, row := range rows {
		list = append(list, row[i])
	}
	return list
}

// TestTopicTables compares the tables of the topics with what the program has.
func TestTopicTables(t *testing.T) {
	t.Parallel()
	var statuses, outcomes [][]string
	for _, s := range []int{
		statusDone, statusFailed, statusUsage, statusNothing, statusDenied, statusLost, statusPartly, statusBusy, statusInterrupted, statusTerminated,
	} {
		statuses = append(statuses, []string{strconv.Itoa(s), meaning(s)})
	}
	for _, o := range fleet.Outcomes() {
		outcomes = append(outcomes, []string{string(o), strconv.Itoa(outcomeStatus(o, nil))})
	}
	text := topicText(t, "exit-status.md")
	must.Equal(t, "exit-status.md, statuses", cells(t, text, "status"), statuses)
	var got [][]string
	for _, row := range cells(t, text, "outcome") {
		got = append(got, []string{row[0], row[2]})
	}
	must.Equal(t, "exit-status.md, outcomes", got, outcomes)
	for _, f := range view.Lesson() {
		long := strings.FieldsFunc(newLessons(&app{}).Long, notOfAColumn)
		if name := strings.ToUpper(f.Name); name != "" && name != "LESSON" && !slices.Contains(long, name) {
			t.Errorf("the help of lessons does not explain the column %s", name)
		}
	}
	source := must.Get(os.ReadFile("../engine/spec.go"))(t)
	var variables []string
	for _, m := range regexp.MustCompile(`"(STINT_[A-Z_]+)="`).FindAllStringSubmatch(string(source), -1) {
		variables = append(variables, m[1])
	}
	must.Equal(t, "agents.md, variables", column(cells(t, topicText(t, "agents.md"), "variable"), 0), variables)
}

// notOfAColumn reports whether a rune ends the name of a column.
func notOfAColumn(r rune) bool { return strings.ContainsRune(" \n,;", r) }
