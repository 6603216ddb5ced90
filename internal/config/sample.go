package config

import (
	"cmp"
	"strings"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/tomlfile"
)

// SampleOptions are what a first configuration says of its own. The caller
// guarantees that State is absolute, that agents have names and commands, and that
// all of it is UTF-8 without NUL, which is all that TOML can hold.
type SampleOptions struct {
	Fleet  fleet.Name
	State  string
	Agents []SampleAgent // none: claude

	TaskDir    string           // relative to the workspace; empty: the default
	TaskFormat fleet.TaskFormat // empty: stint's
}

// SampleAgent is an agent of a first configuration.
type SampleAgent struct {
	Name    string
	Preset  string // one of [PresetNames]; empty: [DefaultPreset]
	Command []string
	Prompt  fleet.PromptMode // empty: the default
	Path    string           // the PATH to set for it; empty: that which it is given
}

// Sample is a configuration for a newcomer to read from top to bottom: it has every
// key, those with a fitting default as a comment that shows it.
func Sample(o SampleOptions) []byte {
	if len(o.Agents) == 0 {
		o.Agents = []SampleAgent{{Name: "claude", Preset: "claude", Command: Preset("claude").Command}}
	}
	c := &Config{
		Agents: map[string]Agent{}, Categories: map[fleet.Category]Category{}, Pools: map[string]Pool{DefaultPool: {}}, file: &tomlfile.File{},
	}
	for _, agent := range o.Agents {
		a := Preset(agent.Preset)
		tomlfile.Fill(agentKeys(&a))
		a.Preset, a.Command, a.Prompt = Preset(agent.Preset).Preset, agent.Command, cmp.Or(agent.Prompt, a.Prompt)
		if agent.Path != "" {
			a.Environment = map[string]string{"PATH": agent.Path}
		}
		c.Agents[agent.Name] = a
	}
	var code Category
	tomlfile.Fill(c.categoryKeys(&code, Options{}, new(string)))
	c.Categories["code"] = code
	c.Selector.Settings = bandit.Defaults()
	tomlfile.Fill(c.keys(Options{}))
	c.Fleet, c.State = o.Fleet, o.State
	c.Tasks.Dir, c.Tasks.Format = cmp.Or(o.TaskDir, c.Tasks.Dir), cmp.Or(o.TaskFormat, c.Tasks.Format)
	agents := ""
	if len(o.Agents) > 1 {
		agents = "agents = " + tomlfile.Literal(code.Agents) + "\n"
	}
	return append([]byte(head), append(tomlfile.Sample(c.keys(Options{})), strings.ReplaceAll(tail, "@agents\n", agents)...)...)
}

const head = `# What one fleet of agent sessions works on, and how. A line like "# name = value"
# shows a default: take the "# " away to change it. Then: stint config check

`

const tail = `
# Two further categories.
[category.research]
@agents

[category.cleanup]
# Parallel cleanup churns: sessions undo each other's work. Start it by hand.
parallel = false
@agents
`
