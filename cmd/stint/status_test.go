package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/cli"
	"stint/internal/systemd"
)

// TestExitStatusTable holds every command's help and the README to one table of exit
// statuses.
func TestExitStatusTable(t *testing.T) {
	t.Parallel()
	want := statusTable(t, helpOf(t))
	paths := commandPaths(t, nil)
	if len(want) < 10 || len(paths) < 20 {
		t.Fatalf("read only %d statuses and %d commands", len(want), len(paths))
	}
	for _, path := range paths {
		if diff := cmp.Diff(statusTable(t, helpOf(t, path...)), want); diff != "" {
			t.Errorf("stint %s --help (-got +want):\n%s", strings.Join(path, " "), diff)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(statusTable(t, string(readme)), want); diff != "" {
		t.Errorf("README.md (-got +want):\n%s", diff)
	}
}

// TestUnitExitStatuses holds what units count as success to that table: quiet ends
// are no failures, and failures are none of them.
func TestUnitExitStatuses(t *testing.T) {
	t.Parallel()
	table := map[int]string{}
	for _, row := range statusTable(t, helpOf(t)) {
		status, err := strconv.Atoi(row.Status)
		if err != nil {
			t.Fatal(err)
		}
		table[status] = row.Meaning
	}
	quiet := regexp.MustCompile(`^(nothing to do|denied|lane busy|terminated)\b`)
	var want []int32
	for status, meaning := range table {
		if quiet.MatchString(meaning) {
			want = append(want, int32(status))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(systemd.SuccessExitStatuses(), want); diff != "" {
		t.Errorf("worker (-got +want):\n%s", diff)
	}
	service, err := os.ReadFile("../../systemd/stint@.service")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^SuccessExitStatus=(.*)$`).FindStringSubmatch(string(service))
	if len(got) != 2 || got[1] != "3" || !strings.HasPrefix(table[3], "nothing to do") {
		t.Errorf("stint@.service: SuccessExitStatus %q, want the status of nothing to do alone", got)
	}
}

// statusRow is a line of the table, its continuations joined.
type statusRow struct{ Status, Meaning string }

var (
	statusStart    = regexp.MustCompile(`^\s*\|?\s*(\d+)\s*[|\s]\s*(.*?)\s*\|?$`)
	statusHeadline = regexp.MustCompile(`(?mi)^[# ]*exit status(es)?:?\n`)
)

// statusTable reads the rows below the headline, be they aligned by spaces or the rows
// of a Markdown table.
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
		case strings.HasPrefix(line, "  "):
			rows[len(rows)-1].Meaning += " " + strings.TrimSpace(line)
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

// output is what a command line prints that needs nothing around it.
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
