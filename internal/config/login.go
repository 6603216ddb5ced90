package config

import (
	"maps"
	"slices"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
)

// Passed is the part of an agent's environment that is the operator's: what is handed on
// from an environment, what is set for it, and its environment file. Later entries win.
func (a Agent) Passed(getenv func(string) string) (env []string) {
	for _, name := range a.PassEnvironment {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range a.Environment {
		env = append(env, name+"="+value)
	}
	return append(env, a.secrets...)
}

// Resuming is the command by which the agent goes on with a conversation; nil: it cannot. An agent that speaks a protocol keeps its
// command, and the protocol names the conversation.
func (a Agent) Resuming(conversation string) []string {
	command := a.CLI.Resuming(a.Command, conversation)
	if command != nil && a.Prompt == fleet.PromptACP {
		return a.Command
	}
	return command
}

// Judged is the agent whose environment a check or a grader of its work gets. They may run what a
// session wrote, and so they see none of the operator's variables but those that find programs, and
// nothing of the file that holds a secret.
func (a Agent) Judged() Agent {
	a.PassEnvironment, a.secrets, a.Environment = preset.Named(preset.Any).Environment, nil, maps.Clone(a.Environment)
	maps.DeleteFunc(a.Environment, func(name, value string) bool { return len(secretsIn(name, value)) > 0 })
	return a
}

// Sandboxed says whether the agent's program makes a sandbox of its own.
func (a Agent) Sandboxed() bool { return a.asks(a.CLI.Sandbox.On) }

// asks reports whether the command has a word that asks for a sandbox, or for none.
func (a Agent) asks(word string) bool {
	return word != "" && slices.ContainsFunc(a.Command, func(arg string) bool { return strings.Contains(arg, word) })
}

// Programs are those that a session needs: the agent's own, then what it does not start
// without. They are looked for in the environment that the agent gets.
func (a Agent) Programs() []string {
	if a.Sandboxed() {
		return slices.Concat(a.Command[:1], a.CLI.Sandbox.Programs)
	}
	return a.Command[:1]
}
