package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// gates says something other than the default of every gate and of the notices.
const gates = least + `[category.code.wip]
command = ["gh", "pr", "list", "$HOME"]
limit = 2
[notice]
command = ["tell", "me"]
events = ["quota", "failed"]
[commands]
timeout = "3s"
pass_environment = ["PATH", "GH_TOKEN"]
`

func TestGates(t *testing.T) {
	t.Parallel()
	c := load(t, gates)
	wip := config.WIP{
		Command: []string{"gh", "pr", "list", "$HOME"}, Limit: 2,
	}
	must.Equal(t, "work in progress", c.Categories["code"].WIP, wip)
	notice := config.Notice{
		Command: []string{"tell", "me"},
		Events:  []fleet.Event{fleet.EventQuota, fleet.EventFailed},
	}
	must.Equal(t, "notice", c.Notice, notice)
	must.Equal(t, "commands", c.Command, config.Command{Timeout: 3 * time.Second, PassEnvironment: []string{"PATH", "GH_TOKEN"}})
}

// noNotice and noWIP are the values of a file that does not mention them.
func noNotice() config.Notice {
	return config.Notice{
		Events: fleet.Events(),
	}
}

func noWIP() config.WIP {
	return config.WIP{Limit: 5}
}

func TestGatesDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, least)
	must.Equal(t, "work in progress", c.Categories["code"].WIP, noWIP())
	must.Equal(t, "notice", c.Notice, noNotice())
}

func TestGatesAreTheWholeConfig(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"all": gates,
		"off": least + "[notice]\nevents = []\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := load(t, text)
			got := load(t, strings.ReplaceAll(asFile(want), want.Workspace, "/work"))
			ignored := cmpopts.IgnoreFields(config.Config{}, "Path", "Workspace", "Tasks.Dir", "Lessons.Dir")
			must.Equal(t, "read back", got, want, plain, ignored, cmpopts.EquateEmpty())
		})
	}
}

func TestLoadRefusesGates(t *testing.T) {
	t.Parallel()
	refuses(t, []unfit{
		{"wip limit", least + "[category.code.wip]\nlimit = 0", "7:1: category.code.wip.limit: want a whole number from 1 to 9999, not 0", "write limit = 1"},
		{"wip key", least + "[category.code.wip]\nlimits = 1", "7:1: category.code.wip.limits: unknown key", "did you mean limit?"},
		{"event", least + "[notice]\nevents = [\"fail\"]", `7:11: notice.events[0]: there is no event "fail"`, "did you mean failed?"},
		{"event twice", least + "[notice]\nevents = [\"quota\", \"quota\"]", `7:20: notice.events[1]: "quota" is listed twice`, "remove one"},
		{"notice program", least + "[notice]\ncommand = [\"\"]", "7:12: notice.command[0]: want a program, not an empty string", `write a program and its arguments, such as ["my-program", "--flag"]`},
	})
}

func TestGateWarnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		gates:                                   "",
		least + "[notice]\nevents = [\"held\"]": "notice.events: without a command no notice is sent",
		least + "wip.limit = 3":                 "category.code.wip.limit: without a command nothing counts the results that wait, and there is no limit",
	} {
		got := ""
		for _, p := range load(t, text).Warnings() {
			got += p.Text
		}
		if got != want {
			t.Errorf("%s\ngot %q, want %q", text, got, want)
		}
	}
}
