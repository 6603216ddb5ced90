package main

import (
	"context"
	"fmt"
	"os"
)

// category is a kind of work in the sample workspace: what its agent does, and so how
// its sessions end.
type category struct {
	name    string
	agent   string // what it does, for people
	outcome string
	grade   string // as shown; empty: any, for it is stint's to give
}

func categories() []category {
	return []category{
		{"code", "is slow, commits, and grades itself", "productive", "0.90"},
		{"docs", "commits, and leaves the grade to stint", "productive", ""},
		{"tests", "commits, and grades itself lower", "productive", "0.60"},
		{"triage", "does nothing", "noop", "-"},
		{"flaky", "fails", "failed", "0.00"},
	}
}

// task is a task of the sample workspace.
type task struct {
	id, category, title string
	more                []string // further flags of "stint task add"
}

// begun is the task that the fleet finds active. All docs and tests wait for it, so
// that the first fire has three categories to start, the last one five to choose from.
const begun = "parse-flags"

func tasks() []task {
	active := []string{"--state", "active"}
	after := func(id string) []string { return []string{"--requires", id} }
	return []task{
		{begun, "code", "Parse the flags", active},
		{"cache-results", "code", "Cache the results", []string{"--priority", "high"}},
		{"drop-globals", "code", "Drop the globals", after("cache-results")},
		{"describe-flags", "docs", "Describe the flags", after(begun)},
		{"show-examples", "docs", "Show examples of the flags", after(begun)},
		{"write-faq", "docs", "Write down what is often asked", after("describe-flags")},
		{"test-flags", "tests", "Test the flags", after(begun)},
		{"test-usage", "tests", "Test wrong usage", after(begun)},
		{"sort-inbox", "triage", "Sort the inbox", nil},
		{"label-issues", "triage", "Label the issues", nil},
		{"fetch-mirror", "flaky", "Fetch the mirror", nil},
		{"sync-upstream", "flaky", "Sync with upstream", nil},
	}
}

// makeWorkspace makes a git repository with the tasks in it.
func (d *demo) makeWorkspace(ctx context.Context) error {
	f := d.folder
	if err := os.WriteFile(f.in("workspace", "README.md"), []byte("# A sample\n\n"), 0o644); err != nil {
		return err
	}
	for _, t := range tasks() {
		args := append([]string{"task", "add", t.title, "--id", t.id, "--category", t.category}, t.more...)
		if _, err := d.stint(ctx, args...); err != nil {
			return fmt.Errorf("add task %s: %w", t.id, err)
		}
	}
	return f.commit(ctx)
}

// commit makes a git repository of the workspace.
func (f folder) commit(ctx context.Context) error {
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=main"},
		{"config", "user.name", "stint demo"},
		{"config", "user.email", "demo@localhost"},
		{"add", "."},
		{"commit", "--quiet", "--message", "a sample workspace"},
	} {
		if _, err := output(ctx, f.gitEnvironment(), append([]string{"git", "-C", f.workspace()}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// gitEnvironment keeps the user's settings and hooks out of the sample repository.
func (f folder) gitEnvironment() []string {
	return append(environment(), "HOME="+string(f), "XDG_CONFIG_HOME="+string(f), "GIT_CONFIG_NOSYSTEM=1")
}
