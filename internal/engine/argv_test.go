package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestArgv fills in what stint knows by name, once, and leaves the rest to the agent.
func TestArgv(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nself_directed = true\n")
	agent := b.Config.Agents["fake"]
	agent.Command = []string{
		"{run}", "--add-dir", "{git_dir}", "{git_common_dir}", "--cd={workspace}/src:{workspace}", "{run}",
		`{"workspace": "{other}"}`, "$HOME {Run} {}", "{{run}}",
	}
	b.Config.Agents["fake"] = agent
	p := must.Get(b.Preview(t.Context(), engine.RunOptions{Category: "code"}))(t)
	dir, id := b.Config.Workspace, string(p.Run.ID)
	want := []string{
		"{run}", "--add-dir", dir + "/own.git", dir + "/common.git", "--cd=" + dir + "/src:" + dir, id,
		`{"workspace": "{other}"}`, "$HOME {Run} {}", "{" + id + "}",
	}
	must.Equal(t, "argv", p.Spec.Argv, want)
	if agent.Command[2] != "{git_dir}" {
		t.Error("the configuration was written to")
	}
}

// TestArgvCache gives the folder for caches to the agents that ask for it, unless the
// operator has set another.
func TestArgvCache(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		argument, set string
		want          []string
	}{
		{"{workspace}", "", nil},
		{"--add-dir={cache_dir}", "", []string{"XDG_CACHE_HOME=STATE/cache"}},
		{"{cache_dir}", "/elsewhere", []string{"XDG_CACHE_HOME=STATE/cache", "XDG_CACHE_HOME=/elsewhere"}}, // the last counts
	} {
		b := newBench(t, "[category.code]\nself_directed = true\n")
		agent := b.Config.Agents["fake"]
		agent.Command = []string{"fake", test.argument}
		if test.set != "" {
			agent.Environment = map[string]string{"XDG_CACHE_HOME": test.set}
		}
		b.Config.Agents["fake"] = agent
		p := must.Get(b.Preview(t.Context(), engine.RunOptions{Category: "code"}))(t)
		var got []string
		for _, e := range p.Spec.Environment {
			if strings.HasPrefix(e, "XDG_CACHE_HOME=") {
				got = append(got, strings.Replace(e, b.Config.State, "STATE", 1))
			}
		}
		if diff := cmp.Diff(got, test.want); diff != "" {
			t.Errorf("%s: (-got +want):\n%s", test.argument, diff)
		}
		if argument := strings.ReplaceAll(test.argument, "{cache_dir}", b.Config.State+"/cache"); test.argument != "{workspace}" && p.Spec.Argv[1] != argument {
			t.Errorf("argument: got %s, want %s", p.Spec.Argv[1], argument)
		}
	}
}

// TestArgvHasPathsAsTheyAre fills in a folder whose name looks like a placeholder.
func TestArgvHasPathsAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nself_directed = true\n")
	agent := b.Config.Agents["fake"]
	agent.Command = []string{"fake", "{workspace}"}
	b.Config.Agents["fake"] = agent
	b.Config.Workspace = "/srv/{run} $(x)"
	p, err := b.Preview(t.Context(), engine.RunOptions{Category: "code"})
	if err != nil || p.Spec.Argv[1] != b.Config.Workspace || len(p.Spec.Argv) != 2 {
		t.Errorf("got %q, %v", p.Spec.Argv, err)
	}
}

// TestTelemetry names the run to OpenTelemetry, also where nobody uses it. What judges a session is told nothing of it.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ passed, set, want string }{
		{"OTHER=x", "", "stint.run=RUN"},
		{"OTEL_RESOURCE_ATTRIBUTES=team=a", "", "team=a,stint.run=RUN"},
		{"OTEL_RESOURCE_ATTRIBUTES=team=a", "team=b", "team=b,stint.run=RUN"},
	} {
		b := newBench(t, "[category.code]\nself_directed = true\n")
		b.Environ = []string{test.passed, "OTEL_EXPORTER_OTLP_HEADERS=secret", "TRACEPARENT=00-1"}
		if agent := b.Config.Agents["fake"]; test.set != "" {
			agent.Environment = map[string]string{"OTEL_RESOURCE_ATTRIBUTES": test.set}
			b.Config.Agents["fake"] = agent
		}
		p := must.Get(b.Preview(t.Context(), engine.RunOptions{Category: "code"}))(t)
		got := func(name string) string { return fleet.Variable(p.Spec.Environment, name) }
		must.Equal(t, "attributes", strings.ReplaceAll(got("OTEL_RESOURCE_ATTRIBUTES"), string(p.Run.ID), "RUN"), test.want)
		must.Equal(t, "passed", got("OTEL_EXPORTER_OTLP_HEADERS")+got("TRACEPARENT")+got("OTHER"), "secret00-1")
		must.Equal(t, "for a judge", fleet.Variable(p.Spec.Judging, "OTEL_EXPORTER_OTLP_HEADERS")+fleet.Variable(p.Spec.Judging, "TRACEPARENT"), "")
	}
}
