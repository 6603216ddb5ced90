package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stint/internal/cli"
	"stint/internal/systemd"
	"stint/internal/testkit/must"
)

// TestExitStatuses compares the statuses that each command's help lists with those that the
// scripts observe: none is missing, and none of the special ones is there for nothing.
func TestExitStatuses(t *testing.T) {
	t.Parallel()
	all := map[string]string{}
	for _, row := range statusTable(t, output(t, "help", "exit-status")) {
		all[row.Status] = row.Meaning
	}
	listed := map[string][]string{}
	hidden := [][]string{{"claim", "renew"}, {"claim", "take"}, {"reap"}, {"result"}}
	paths := slices.Concat(commandPaths(t, nil), hidden, commandPaths(t, []string{"host"}), commandPaths(t, []string{"store"}))
	for _, path := range paths {
		name := strings.Join(path, " ")
		for _, row := range statusTable(t, helpOf(t, path...)) {
			listed[name] = append(listed[name], row.Status)
			if row.Meaning != all[row.Status] {
				t.Errorf("stint %s --help: %s is %q, and %q in the topic", name, row.Status, row.Meaning, all[row.Status])
			}
		}
	}
	if len(all) < 10 || len(listed) < 40 {
		t.Fatalf("read only %d statuses and %d commands", len(all), len(listed))
	}
	observed := observedStatuses(t, listed)
	// It waits a minute for its turn.
	observed[exit{"fanout", "75"}] = "no script"
	for e, script := range observed {
		if !slices.Contains(listed[e.command], e.status) {
			t.Errorf("%s: stint %s exits with %s, which its help does not list", script, e.command, e.status)
		}
	}
	general := []string{"0", "1", "2", "130", "143"}
	for name, statuses := range listed {
		for _, status := range statuses {
			// "stint claim" is short for "stint claim take".
			known := observed[exit{name, status}] + observed[exit{strings.TrimSuffix(name, " take"), status}]
			if known == "" && !slices.Contains(general, status) {
				t.Errorf("stint %s --help lists %s, which no script observes", name, status)
			}
		}
	}
}

// exit is a command and a status of it.
type exit struct{ command, status string }

// observedStatuses are the statuses with which the scripts saw each command exit, and one of
// the scripts.
func observedStatuses(t *testing.T, commands map[string][]string) map[exit]string {
	t.Helper()
	scripts := must.Get(filepath.Glob("../../testdata/script/*.txtar"))(t)
	expected := regexp.MustCompile(`(?m)^exits (\d+) (?:sh -c '(?:echo \w+ \| script -qec ")?)?(?:crash)?stint ([a-z][^'\n]*)`)
	observed := map[exit]string{}
	for _, path := range scripts {
		text := must.Get(os.ReadFile(path))(t)
		for _, m := range expected.FindAllStringSubmatch(string(text), -1) {
			if strings.ContainsAny(m[2], "|;&") {
				continue // The status is that of another command, or of several.
			}
			words := strings.Fields(m[2])
			name := words[0]
			if _, ok := commands[name]; !ok {
				continue // It is one of those that no command is.
			}
			if len(words) > 1 && commands[name+" "+words[1]] != nil {
				name += " " + words[1]
			}
			observed[exit{name, m[1]}] = filepath.Base(path)
		}
	}
	if len(observed) < 60 {
		t.Fatalf("read only %d statuses in the scripts", len(observed))
	}
	return observed
}

// TestUnitExitStatuses holds what units count as success to that table: quiet ends
// are no failures, and failures are none of them.
func TestUnitExitStatuses(t *testing.T) {
	t.Parallel()
	table := map[int]string{}
	for _, row := range statusTable(t, output(t, "help", "exit-status")) {
		status := must.Get(strconv.Atoi(row.Status))(t)
		table[status] = row.Meaning
	}
	quiet := regexp.MustCompile(`^(nothing to do|denied|busy|terminated)\b`)
	var want []int32
	for status, meaning := range table {
		if quiet.MatchString(meaning) {
			want = append(want, int32(status))
		}
	}
	slices.Sort(want)
	must.Equal(t, "worker", systemd.SuccessExitStatuses(), want)
	service := must.Get(os.ReadFile("../../systemd/stint@.service"))(t)
	got := regexp.MustCompile(`(?m)^SuccessExitStatus=(.*)$`).FindStringSubmatch(string(service))
	if len(got) != 2 || got[1] != "3" || !strings.HasPrefix(table[3], "nothing to do") {
		t.Errorf("stint@.service: SuccessExitStatus %q, want the status of nothing to do alone", got)
	}
}

// statusRow is a line of the table, its continuations joined.
type statusRow struct{ Status, Meaning string }

var (
	statusStart    = regexp.MustCompile(`^\s*(\d+)\s+(.*?)$`)
	statusHeadline = regexp.MustCompile(`(?m)^(Exit status:| +status +meaning)\n`)
)

// statusTable reads the rows below the headline, which are aligned by spaces in a command's
// help and in the topic.
func statusTable(t *testing.T, text string) (rows []statusRow) {
	t.Helper()
	at := statusHeadline.FindStringIndex(text)
	if at == nil {
		t.Errorf("no exit statuses in:\n%s", text)
		return nil
	}
	for line := range strings.Lines(text[at[1]:]) {
		line = strings.TrimRight(line, "\n")
		row := statusStart.FindStringSubmatch(line)
		switch {
		case row != nil:
			rows = append(rows, statusRow{row[1], row[2]})
		case len(rows) == 0:
			continue // These lines lead up to the first row.
		default:
			return rows
		}
	}
	return rows
}

// helpOf is the help of the command at path.
func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	return output(t, append(path, "--help")...)
}

// commandPaths are the commands below path, as the shells' completion knows them.
func commandPaths(t *testing.T, path []string) (paths [][]string) {
	t.Helper()
	list := output(t, slices.Concat([]string{"__complete"}, path, []string{""})...)
	for line := range strings.Lines(list) {
		name, _, described := strings.Cut(line, "\t")
		if !described || strings.HasPrefix(name, "-") || name == "help" || name == "completion" {
			continue // A flag that is asked for; the last two are the library's.
		}
		sub := slices.Concat(path, []string{name})
		paths = append(paths, sub)
		paths = append(paths, commandPaths(t, sub)...)
	}
	return paths
}

// output returns the output of a command line that needs nothing around it.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, trouble bytes.Buffer
	s := cli.Process()
	s.Stdout, s.Stderr = &out, &trouble
	status := cli.Main(args, s)
	if status != 0 {
		t.Fatalf("stint %v: status %d: %s", args, status, &trouble)
	}
	return out.String()
}
