package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

const sources = least + `
[tasks.source.beads]
command = ["bd", "ready", "--json"]
start = ["bd", "update", "{id}", "--status", "in_progress"]
done = ["bd", "close", "{id}"]
[tasks.source.gh]
command = ["gh", "issue", "list"]
category = "code"
fields = { id = "number", tags = "labels.name", wait = "" }
states = { OPEN = "new", closed = "cancelled" }
priorities = { P0 = "urgent" }
`

func TestTaskSources(t *testing.T) {
	t.Parallel()
	tasks := load(t, sources).Tasks
	beads, gh := tasks.Sources["beads"], tasks.Sources["gh"]
	calls := map[fleet.TaskCall][]string{
		fleet.CallStart: {"bd", "update", "{id}", "--status", "in_progress"}, fleet.CallDone: {"bd", "close", "{id}"},
		fleet.CallRelease: nil,
	}
	if diff := cmp.Diff(beads.Calls(), calls); diff != "" || len(gh.Calls()[fleet.CallStart]) > 0 {
		t.Errorf("calls (-got +want):\n%s, gh's: %v", diff, gh.Calls())
	}
	if beads.Category != "" || beads.Fields["body"] != "description" {
		t.Errorf("beads: got %+v, want the defaults", beads)
	}
	if gh.Category != "code" {
		t.Errorf("gh: got %q, want what the file says", gh.Category)
	}
	got := []string{gh.Fields["id"], gh.Fields["tags"], gh.Fields["wait"], gh.Fields["title"]}
	must.Equal(t, "id, tags, wait, title", got, []string{"number", "labels.name", "", "title"})
	states := []fleet.TaskState{gh.States["OPEN"], gh.States["closed"], gh.States["in_progress"], beads.States["closed"]}
	must.Equal(t, "states", states, []fleet.TaskState{"backlog", "cancelled", "active", "done"})
	if gh.Priorities["P0"] != fleet.PriorityUrgent || gh.Priorities["1"] != fleet.PriorityHigh {
		t.Errorf("priorities: got %v", gh.Priorities)
	}
}

func TestValuesOfTaskSourcesReadBack(t *testing.T) {
	t.Parallel()
	readsBack(t, sources)
}

func TestTaskSourceFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no command":       {"[tasks.source.a]", "tasks.source.a.command: missing"},
		"empty command":    {"[tasks.source.a]\ncommand = []", "want at least one"},
		"no program":       {"[tasks.source.a]\ncommand = ['']", "want a program"},
		"name":             {"[tasks.source.'a b']\ncommand = ['a']", "a source's name"},
		"unknown key":      {"[tasks.source.a]\ncommand = ['a']\nfield = {}", "did you mean fields?"},
		"unknown field":    {"[tasks.source.a]\ncommand = ['a']\nfields = { label = 'x' }", "fields.label: unknown field"},
		"field path":       {"[tasks.source.a]\ncommand = ['a']\nfields = { id = 'a..b' }", "an empty name in a path"},
		"unknown state":    {"[tasks.source.a]\ncommand = ['a']\nstates = { open = 'opened' }", `state "opened"`},
		"empty state":      {"[tasks.source.a]\ncommand = ['a']\nstates = { open = '' }", "not an empty string"},
		"unknown priority": {"[tasks.source.a]\ncommand = ['a']\npriorities = { 1 = 'soon' }", `priority "soon"`},
		"unknown category": {"[tasks.source.a]\ncommand = ['a']\ncategory = 'nonsense'", "there is no category"},
		"variable":         {"[commands]\npass_environment = ['STINT_X']", "are reserved"},
		"call":             {"[tasks.source.x]\ncommand = ['x']\ndone = ['']", "want a program"},
		"no table":         {"[tasks]\nsource = 'bd'", "want a table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(write(t, least+test.text+"\n"), config.Options{})
			if err == nil || !strings.Contains(err.Error()+fleet.Hint(err), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestTaskFormat(t *testing.T) {
	t.Parallel()
	own := load(t, least+`
[tasks]
format = "backlog.md"
fields = { family = "milestone", wait = "start" }
states = { Done = "cancelled", Shipped = "done" }
priorities = { ASAP = "urgent" }
`)
	tasks := own.Tasks
	if got := []string{string(tasks.Format), filepath.Base(filepath.Dir(tasks.Dir)), tasks.Fields["state"], tasks.Fields["family"], tasks.Fields["wait"]}; !slices.Equal(got, []string{"backlog.md", "backlog", "status", "milestone", "start"}) {
		t.Errorf("format, folder and fields: %q", got)
	}
	must.Equal(t, "states", tasks.States, map[string]fleet.TaskState{"To Do": "todo", "In Progress": "active", "Done": "cancelled", "Shipped": "done"})
	must.Equal(t, "words", tasks.Words, map[fleet.TaskState]string{"todo": "To Do", "active": "In Progress", "cancelled": "Done", "done": "Shipped"})
	if tasks.Priorities["ASAP"] != fleet.PriorityUrgent || tasks.Priorities["high"] != fleet.PriorityHigh {
		t.Errorf("priorities: %v", tasks.Priorities)
	}
	must.Do(t, os.WriteFile(own.Path, []byte(asFile(own)), 0o600))
	again, err := config.Load(own.Path, config.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, asFile(own))
	}
	must.Equal(t, "read back", again, own, plain)
}
