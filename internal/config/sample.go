package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	"stint/internal/fleet"
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
	Prompt  string // a [fleet.PromptMode]; empty: the default
	Path    string // the PATH to set for it; empty: that which it is given
}

//go:embed sample.toml
var sample string

// Sample is a configuration for a newcomer to read from top to bottom: it has every
// key, those with a fitting default as a comment that shows it.
func Sample(o SampleOptions) []byte {
	if len(o.Agents) == 0 {
		o.Agents = []SampleAgent{{Name: "claude", Preset: "claude", Command: Preset("claude").Command}}
	}
	config, _, category := defaults()
	codeAgents, otherAgents := sampleChoice(o.Agents)
	text := strings.NewReplacer(
		"@fleet", quote(string(o.Fleet)),
		"@state", quote(o.State),
		"@store", literal(config.Store),
		"@workers", literal(config.Fanout.Workers),
		"@slots", literal(config.Fanout.Slots),
		"@max_pivots", literal(config.Fanout.MaxPivots),
		"@pool", literal(DefaultPool),
		"@max_load", literal(config.Fanout.Limits.Load),
		"@max_memory_pressure", literal(config.Fanout.Limits.MemoryPressure),
		"@min_memory", literal(shownBytes(config.Fanout.Limits.MemoryAvailable)),
		"@dir\n", sampleKey("dir", cmp.Or(o.TaskDir, config.Tasks.Dir), o.TaskDir != "")+"\n",
		"@format\n", sampleKey("format", cmp.Or(string(o.TaskFormat), string(config.Tasks.Format)), o.TaskFormat != "")+"\n",
		"@tasks_pass_environment", literal(config.Tasks.PassEnvironment),
		"@after", literal(config.Tasks.After),
		"@raise_after", literal(config.Tasks.RaiseAfter),
		"@most_sessions", literal(config.Tasks.MostSessions),
		"@worktrees_keep", literal(config.Worktrees.Keep),
		"@worktrees_max_age", literal(config.Worktrees.MaxAge),
		"@runs_keep", literal(config.Runs.Keep),
		"@runs_max_age", literal(config.Runs.MaxAge),
		"@runs_out", literal(shownBytes(config.Runs.Out)),
		"@lessons_dir", literal(config.Lessons.Dir),
		"@withhold", literal(config.Lessons.Withhold),
		"@selector_timeout", literal(config.Selector.Timeout),
		"@selector_pass_environment", literal(config.Selector.PassEnvironment),
		"@floor", literal(config.Selector.Settings.Floor),
		"@cap", literal(config.Selector.Settings.Cap),
		"@v", literal(config.Selector.Settings.V),
		"@half_life", literal(config.Selector.Settings.HalfLife),
		"@slow_half_life", literal(config.Selector.Settings.SlowHalfLife),
		"@alarm", literal(config.Selector.Settings.Alarm),
		"@agents\n", sampleAgents(o.Agents),
		"@code_agents", codeAgents,
		"@other_agents\n", otherAgents,
		"@notice_events", literal(mapped(config.Notice.Events, func(e fleet.Event) string { return string(e) })),
		"@notice_every", literal(config.Notice.Every),
		"@notice_timeout", literal(config.Notice.Timeout),
		"@notice_pass_environment", literal(config.Notice.PassEnvironment),
		"@wip_limit", literal(category.WIP.Limit),
		"@wip_timeout", literal(category.WIP.Timeout),
		"@wip_pass_environment", literal(category.WIP.PassEnvironment),
		"@lanes", literal(category.Lanes),
		"@ttl", literal(category.TTL),
		"@timeout", literal(category.Timeout),
		"@cooldown", literal(category.Cooldown),
		"@check_timeout", literal(category.CheckTimeout),
		"@grader_timeout", literal(category.GraderTimeout),
		"@respawn", literal(category.Respawn),
		"@max_chain", literal(category.MaxChain),
	).Replace(sample)
	return []byte(strings.TrimRight(text, "\n") + "\n")
}

// sampleChoice are the lines that name a category's agents: for the first category,
// and for the others, where a default needs no second mention.
func sampleChoice(agents []SampleAgent) (first, others string) {
	line := "agents = " + literal(mapped(agents, func(a SampleAgent) string { return a.Name }))
	if len(agents) == 1 {
		return "# " + line, "\n"
	}
	return line, line + "\n\n"
}

// sampleKey is a line with a key, as a comment unless it is set.
func sampleKey(key, value string, set bool) string {
	line := key + " = " + literal(value)
	if !set {
		return "# " + line
	}
	return line
}

// sampleAgents explains its keys at the first agent only.
func sampleAgents(agents []SampleAgent) string {
	var b strings.Builder
	for i, agent := range agents {
		preset := Preset(agent.Preset)
		prompt := "# prompt = " + literal(string(preset.Prompt))
		if agent.Prompt != "" && agent.Prompt != string(preset.Prompt) {
			prompt = "prompt = " + literal(agent.Prompt)
		}
		named := "# preset = " + literal(preset.Preset)
		if preset.Preset != DefaultPreset {
			named = "preset = " + literal(preset.Preset)
		}
		fmt.Fprintf(&b, "[%s]\n", dotted("agent", agent.Name))
		if i == 0 {
			fmt.Fprintf(&b, "# What the other settings start from: what is known of \"claude\", \"codex\" or \"gptme\", or of any \"command\".\n")
		}
		fmt.Fprintf(&b, "%s\ncommand = %s\n", named, literal(agent.Command))
		environment := "# environment = {}"
		if agent.Path != "" {
			environment = "environment = { PATH = " + literal(agent.Path) + " }"
		}
		if i > 0 {
			fmt.Fprintf(&b, "%s\n%s\n\n", prompt, environment)
			continue
		}
		fmt.Fprintf(&b, `# How it gets its prompt: on "stdin", as its last "argument", or in a "file".
%s
# Variables to set for it, such as { LOG_LEVEL = "debug" }.
%s
# Variables to hand on to it; it gets no others.
# pass_environment = %s
# How many of its sessions may run at once; 0 is no limit of its own.
# slots = %s
# What its sessions may use in a day, UTC; 0 is no limit.
# budget = { runs = 0, tokens = 0, usd = 0.0, session_tokens = 0, session_usd = 0.0 }
# How long it may print nothing before it is stopped; "0s" is as long as it likes.
# silence = %s
# true: the grade that it gives itself counts in full where no grader is asked: for work that leaves no trace in git.
# trust = %s
# What is read of its output, such as tokens and errors: that of "claude", "codex" or "gptme", or of any "text".
# transcript = %s
# Regular expressions for what it prints when its allowance is used up, and when it is only slowed
# down. A group (?P<reset>…) is when that is over, (?P<after>…) how long it lasts.
# quota = %s
# throttle = %s
# true: its output, or its result file, says what a session cost.
# reports_cost = %s
# Where it keeps a log of its own; {session} is the session's name there.
# session_log = %s

`, prompt, environment, literal(preset.PassEnvironment), literal(preset.Slots), literal(preset.Silence), literal(preset.Trust), literal(string(preset.Transcript)),
			literal(preset.Quota), literal(preset.Throttle), literal(preset.ReportsCost), literal(preset.SessionLog))
	}
	return b.String()
}
