package config

import (
	"errors"
	"fmt"
	"strings"

	"stint/internal/fleet"
)

func (r *reader) agents(file *table, d Agent) map[string]Agent {
	agents := map[string]Agent{}
	for name, t := range file.child("agent").children() {
		if !isPlainName(name) {
			r.report(t.key,
				errors.New("an agent's name is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -"),
				"rename it, as in [agent.claude]")
		}
		agents[name] = r.agent(t, d)
	}
	if len(agents) == 0 {
		file.missing("agent", `write [agent.claude] and in it command = ["claude", "-p"]`)
	}
	return agents
}

func (r *reader) agent(t *table, d Agent) Agent {
	a := Agent{
		Command:         t.command(1),
		Prompt:          fleet.PromptMode(get(t, "prompt", string(d.Prompt), oneOf(promptModes()...))),
		Environment:     t.pairs("environment", func(name, _ string) error { return checkVariable(name) }),
		PassEnvironment: t.variables(d.PassEnvironment),
	}
	if !t.has("command") {
		t.missing("command", `write command = ["claude", "-p"]`)
	}
	t.close()
	return a
}

func promptModes() []string {
	return []string{string(fleet.PromptStdin), string(fleet.PromptArgument), string(fleet.PromptFile)}
}

// Names are looked at without patterns, which every start of the program would take
// longer to compile than to read the whole file.
const (
	digits       = "0123456789"
	alphanumeric = digits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

func isPlainName(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, alphanumeric+"_-") == "" && !strings.ContainsAny(s[:1], "_-")
}

func isVariableName(s string) bool {
	return s != "" && strings.Trim(s, alphanumeric+"_") == "" && !strings.ContainsAny(s[:1], digits)
}

// checkVariable refuses what is no name in an environment, and what stint sets
// itself, so that a session can trust it.
func checkVariable(name string) error {
	switch {
	case !isVariableName(name):
		return fleet.WithHint(fmt.Errorf("%s is no name of a variable", describe(name)),
			"want letters, digits and _, not starting with a digit")
	case strings.HasPrefix(name, "STINT_"):
		return fleet.WithHint(fmt.Errorf("%s: names that start with STINT_ are reserved", describe(name)),
			"rename or remove it")
	}
	return nil
}
