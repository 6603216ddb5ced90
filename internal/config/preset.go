package config

import (
	"stint/internal/agent/preset"
	"stint/internal/fleet"
)

// Preset is the agent that the keys of a table which names the preset start from. For
// [preset.Any] and for what is no preset it has no command.
func Preset(name string) Agent { return presetOf(name, "") }

func presetOf(name, program string) Agent {
	p := preset.Named(name).Of(program)
	return Agent{
		Preset: p.Name, Box: fleet.BoxWorkspace, Command: p.Command, Prompt: p.Prompt, PassEnvironment: p.Environment,
		Table: p.Table, CLI: p.CLI,
	}
}
