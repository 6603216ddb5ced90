package config

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"stint/internal/fleet"
	"stint/internal/transcript"
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
		file.missing("agent", `write [agent.claude] and in it preset = "claude"`)
	}
	return agents
}

func (r *reader) agent(t *table, d Agent) Agent {
	d = r.preset(t, d)
	a := Agent{
		Preset:          d.Preset,
		Command:         t.command(1),
		Prompt:          fleet.PromptMode(get(t, "prompt", string(d.Prompt), oneOf(promptModes()...))),
		Environment:     t.pairs("environment", func(name, _ string) error { return checkVariable(name) }),
		PassEnvironment: t.variables(d.PassEnvironment),
		Slots:           get(t, "slots", d.Slots, whole(0, math.MaxInt)),
		Silence:         get(t, "silence", d.Silence, pause()),
		Trust:           get(t, "trust", d.Trust, truth()),
		Transcript:      transcript.Format(get(t, "transcript", string(d.Transcript), oneOf(transcriptFormats()...))),
		Quota:           t.patterns("quota", d.Quota),
		Throttle:        t.patterns("throttle", d.Throttle),
		SessionLog:      get(t, "session_log", d.SessionLog, text()),
		Budget:          r.budget(t.child("budget")),
	}
	a.ReportsCost = get(t, "reports_cost", reportsCost(a.Transcript), truth())
	switch {
	case t.has("command"):
	case d.Preset == DefaultPreset:
		t.missing("command", `write preset = "claude", or the command of your own: command = ["my-agent"]`)
	default:
		a.Command = d.Command
	}
	t.close()
	return a
}

// preset is what the keys of an agent start from: what its preset says, and what holds
// for any agent.
func (r *reader) preset(t *table, d Agent) Agent {
	p := Preset(get(t, "preset", d.Preset, oneOf(PresetNames()...)))
	p.Slots = d.Slots
	return p
}

// reportsCost reports whether an output of the format says what the session cost.
func reportsCost(f transcript.Format) bool { return f == transcript.Claude || f == transcript.Gptme }

func transcriptFormats() []string {
	return mapped(transcript.Formats(), func(f transcript.Format) string { return string(f) })
}

// patterns reads a list of regular expressions.
func (t *table) patterns(name string, fallback []string) []string {
	list := t.list(name, 0, distinct(func(word string) error {
		_, err := transcript.ParseLimits([]string{word}, nil)
		return fleet.WithHint(err, "want a regular expression as in https://pkg.go.dev/regexp/syntax")
	}))
	if t.has(name) {
		return list
	}
	return fallback
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
