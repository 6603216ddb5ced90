package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/engine"
)

// TestArgv fills in what stint knows by name, once, and leaves the rest to the agent.
func TestArgv(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nself_directed = true\n")
	agent := b.Config.Agents["fake"]
	agent.Command = []string{
		"{run_id}", "--add-dir", "{git_dir}", "{git_common_dir}", "--cd={workspace}/src:{workspace}", "{run_id}",
		`{"workspace": "{other}"}`, "$HOME {Run_ID} {}", "{{run_id}}",
	}
	b.Config.Agents["fake"] = agent
	p, err := b.Preview(t.Context(), engine.RunOptions{Category: "code"})
	if err != nil {
		t.Fatal(err)
	}
	dir, id := b.Config.Workspace, string(p.Run.ID)
	want := []string{
		"{run_id}", "--add-dir", dir + "/own.git", dir + "/common.git", "--cd=" + dir + "/src:" + dir, id,
		`{"workspace": "{other}"}`, "$HOME {Run_ID} {}", "{" + id + "}",
	}
	if diff := cmp.Diff(p.Spec.Argv, want); diff != "" {
		t.Errorf("argv (-got +want):\n%s", diff)
	}
	if agent.Command[2] != "{git_dir}" {
		t.Error("the configuration was written to")
	}
}

// TestArgvHasPathsAsTheyAre fills in a folder whose name looks like a placeholder.
func TestArgvHasPathsAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nself_directed = true\n")
	agent := b.Config.Agents["fake"]
	agent.Command = []string{"fake", "{workspace}"}
	b.Config.Agents["fake"] = agent
	b.Config.Workspace = "/srv/{run_id} $(x)"
	p, err := b.Preview(t.Context(), engine.RunOptions{Category: "code"})
	if err != nil || p.Spec.Argv[1] != b.Config.Workspace || len(p.Spec.Argv) != 2 {
		t.Errorf("got %q, %v", p.Spec.Argv, err)
	}
}
