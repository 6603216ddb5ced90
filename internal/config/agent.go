package config

import (
	"fmt"
	"strings"

	"stint/internal/fleet"
	"stint/internal/tomlfile"
	"stint/internal/transcript"
)

// agents start from what their preset says, whatever the file has in other keys.
func (c *Config) agents() tomlfile.Each[Agent] {
	return tomlfile.Each[Agent]{
		Name:   tomlfile.PlainName("an agent's name", "[agent.claude]"),
		Start:  func(t *tomlfile.Table) Agent { return Preset(t.Word("preset")) },
		Keys:   func(_ string, a *Agent) []tomlfile.Key { return agentKeys(a) },
		Varies: true,
	}
}

func agentKeys(a *Agent) []tomlfile.Key {
	p := Preset(a.Preset)
	var required []tomlfile.Option
	if p.Command == nil {
		required = append(required, tomlfile.Required(`write preset = "claude", or the command of your own: command = ["my-agent"]`))
	}
	return []tomlfile.Key{
		tomlfile.Of("preset", &a.Preset, DefaultPreset, tomlfile.OneOf(PresetNames()...),
			`Where the other settings start from: what is known of "claude", "codex" or "gptme", or of any program, "command".`),
		tomlfile.Of("box", &a.Box, p.Box, tomlfile.OneOf(fleet.BoxWorkspace, fleet.BoxStrict, fleet.BoxOpen),
			`What it may reach: "workspace" writes where it works and reads the system and its tools, "strict" reads only
			what is listed, "open" is no box.`),
		tomlfile.Of("own_sandbox", &a.OwnSandbox, false, tomlfile.Truth(),
			`true: within the box the agent keeps a sandbox of its own. That takes user namespaces.`),
		tomlfile.Of("read", &a.Read, nil, tomlfile.List(0, tomlfile.Absolute("/srv/data")),
			`Files and folders that it may read as well, absolute.`),
		tomlfile.Of("write", &a.Write, nil, tomlfile.List(0, tomlfile.Absolute("/srv/data")),
			`Files and folders that it may write as well, such as the cache of a tool.`),
		tomlfile.Of("network", &a.Network, nil, network(),
			`The TCP ports that it may connect to: "any", "none", or a list of them.`),
		tomlfile.Derived("command", &a.Command, func() []string { return a.presetCommand() }, tomlfile.Command(1),
			`The program and its arguments. Left out, those of the preset.`, required...),
		tomlfile.Of("prompt", &a.Prompt, p.Prompt, tomlfile.OneOf(fleet.PromptStdin, fleet.PromptArgument, fleet.PromptFile),
			`How it gets its prompt: on "stdin", as its last "argument", or in a "file".`),
		tomlfile.Of("environment", &a.Environment, nil, tomlfile.Words[string](nil, tomlfile.Entries[string]{
			Rule: tomlfile.Text(), Check: func(name, _ string) error { return checkVariable(name) }, Hide: SecretName,
			Names: func() tomlfile.Schema { return tomlfile.Schema{"pattern": variablePattern} },
		}), `Variables to set for it, such as { LOG_LEVEL = "debug" }.`),
		tomlfile.Of("environment_file", &a.EnvironmentFile, "", tomlfile.Word[string](checkSecretFile),
			`A file of NAME=value lines that only you may read: its secrets, which no other agent is given. A path,
			or "credential:NAME" for one that the unit loads.`),
		environment(&a.PassEnvironment, p.PassEnvironment),
		tomlfile.Of("slots", &a.Slots, 0, tomlfile.Whole(0, tomlfile.NoLimit),
			`How many of its sessions run at once at most; 0 is no limit of its own.`),
		tomlfile.Group("budget", `What its sessions may use in a day, UTC; 0 is no limit.`, budgetKeys(&a.Budget)),
		tomlfile.Of("silence", &a.Silence, p.Silence, tomlfile.Pause(),
			`How long it may print nothing before it is stopped; "0s" is for ever.`),
		tomlfile.Of("trust", &a.Trust, p.Trust, tomlfile.Truth(),
			`true: the grade that the agent gives itself counts in full where no grader is asked: for work that leaves no trace in git.`),
		tomlfile.Of("transcript", &a.Transcript, p.Transcript, tomlfile.OneOf(transcript.Formats()...),
			`The format of its output, from which tokens and errors are read: that of "claude", "codex" or "gptme", or any "text".`),
		tomlfile.Of("quota", &a.Quota, p.Quota, tomlfile.List(0, pattern()),
			`Regular expressions for what it prints when its allowance is used up. A group (?P<reset>…) is when
			that is over, (?P<after>…) how long it lasts.`),
		tomlfile.Of("throttle", &a.Throttle, p.Throttle, tomlfile.List(0, pattern()),
			`Regular expressions for what it prints when it is only slowed down, with the same groups.`),
		tomlfile.Derived("reports_cost", &a.ReportsCost, func() bool { return reportsCost(a.Transcript) }, tomlfile.Truth(),
			`true: its output, or its result file, says what a session cost.`),
		tomlfile.Of("session_log", &a.SessionLog, p.SessionLog, tomlfile.Text(),
			`Where it keeps a log of its own; {session} is the session's name there.`),
	}
}

// The words of the key network.
const networkAny, networkNone = "any", "none"

// network is anything, nothing, or the ports of a list.
func network() tomlfile.Rule[*[]int] {
	port := tomlfile.Whole(1, 65535)
	return tomlfile.Rule[*[]int]{
		Parse: func(value any) (*[]int, error) {
			list, is := value.([]any)
			switch {
			case value == networkAny:
				return nil, nil
			case value == networkNone:
				return &[]int{}, nil
			case !is || len(list) == 0:
				return nil, tomlfile.Wanted(`"any", "none" or a list of TCP ports`, value)
			}
			var ports []int
			for _, item := range list {
				n, err := port.Parse(item)
				if err != nil {
					return nil, err
				}
				ports = append(ports, n)
			}
			return &ports, nil
		},
		Suggest: func(any, *[]int) any { return networkNone },
		Write: func(ports *[]int) any {
			switch {
			case ports == nil:
				return networkAny
			case len(*ports) == 0:
				return networkNone
			}
			list := make([]any, len(*ports))
			for i, n := range *ports {
				list[i] = int64(n)
			}
			return list
		},
		Schema: func() tomlfile.Schema {
			return tomlfile.Schema{"anyOf": []tomlfile.Schema{
				{"type": "string", "enum": []string{networkAny, networkNone}},
				{"type": "array", "minItems": 1, "items": port.Schema()},
			}}
		},
	}
}

// reportsCost reports whether an output of the format says what the session cost.
func reportsCost(f transcript.Format) bool { return f == transcript.Claude || f == transcript.Gptme }

func pattern() tomlfile.Rule[string] {
	return tomlfile.Word[string](func(word string) error {
		_, err := transcript.ParseLimits([]string{word}, nil)
		return fleet.WithHint(err, "want a regular expression as in https://pkg.go.dev/regexp/syntax")
	})
}

// variablePattern is for editors. A program would take longer to compile it, at every
// start, than to read the whole file.
const variablePattern = "^[A-Za-z_][A-Za-z0-9_]*$"

// checkVariable refuses what is no name in an environment, and what stint sets
// itself, so that a session can trust it.
func checkVariable(name string) error {
	const digits, letters = "0123456789", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	switch {
	case name == "" || strings.Trim(name, digits+letters) != "" || strings.ContainsAny(name[:1], digits):
		return fleet.WithHint(fmt.Errorf("%s is no name of a variable", tomlfile.Describe(name)),
			"want letters, digits and _, not starting with a digit")
	case strings.HasPrefix(name, "STINT_"):
		return fleet.WithHint(fmt.Errorf("%s: names that start with STINT_ are reserved", tomlfile.Describe(name)),
			"rename or remove it")
	}
	return nil
}
