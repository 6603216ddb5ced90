package config

import (
	"slices"
	"time"

	"stint/internal/agent/transcript"
	"stint/internal/fleet"
)

// DefaultPreset is any program: nothing is known of it.
const DefaultPreset = "command"

// PresetNames are the presets of [agent.NAME], sorted.
func PresetNames() []string {
	return []string{"claude", "codex", DefaultPreset, "gptme"}
}

// Preset is the agent that the keys of a table which names the preset start from. For
// [DefaultPreset] and for what is no preset it has no command.
func Preset(name string) Agent {
	switch name {
	case "claude":
		return claudePreset()
	case "codex":
		return codexPreset()
	case "gptme":
		return gptmePreset()
	}
	return Agent{
		Preset:          DefaultPreset,
		Box:             fleet.BoxWorkspace,
		Prompt:          fleet.PromptStdin,   // no limit in length, and not in the process list
		PassEnvironment: commonEnvironment(), // to be found, to find its login, to read UTF-8
		Transcript:      transcript.Text,     // nothing is known of what it prints
		Silence:         0,                   // many programs print nothing before they are done
	}
}

func commonEnvironment() []string {
	return []string{"PATH", "HOME", "LANG"}
}

// presetEnvironment returns the variables that every agent needs to ask a model over the network,
// and then its own. They are names only: a variable that is not set is not passed.
func presetEnvironment(own ...string) []string {
	return slices.Concat(commonEnvironment(), []string{
		"TZ",                                    // it writes when a limit is over in local time
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", // a machine without a route of its own
		"SSL_CERT_FILE", // a proxy with a certificate of its own
	}, own)
}

// presetCommand is the command of the agent's preset. Without a box, the agent makes the sandbox that it has itself.
func (a Agent) presetCommand() []string {
	switch open := a.Box == fleet.BoxOpen; {
	case open && a.Preset == "claude":
		return claudeCommand(true)
	case open && a.Preset == "codex":
		return codexCommand("{git_dir}", "{git_common_dir}", "{run_dir}", "{cache_dir}")
	}
	return Preset(a.Preset).Command
}

// Claude Code's settings for its sandbox, over those of the user: without one it does not
// start, and no command runs outside of it; or it has none.
const (
	claudeSandbox   = `{"sandbox":{"enabled":true,"failIfUnavailable":true,"allowUnsandboxedCommands":false}}`
	claudeNoSandbox = `{"sandbox":{"enabled":false}}`
)

func claudeCommand(sandboxed bool) []string {
	settings := claudeNoSandbox
	if sandboxed {
		settings = claudeSandbox
	}
	return []string{
		"claude", "-p",
		"--output-format", "stream-json", "--verbose", // a line per event; without --verbose it refuses
		// In a folder where nobody has accepted its trust dialogue it ignores the rules
		// of .claude/settings.json, and then may write nothing. So what it needs is said
		// here: to edit files, and to run any command within the box, or else within its sandbox,
		// which lets a command write in the workspace, in what git keeps of it and in these folders
		// alone, and keeps it off the network. Rules for single commands, such as
		// "Bash(make:*)", would allow as much, and refuse pipes and loops.
		"--permission-mode", "acceptEdits", "--allowedTools", "Bash",
		"--disallowedTools", "ScheduleWakeup", // it keeps the process for an hour in which nothing happens
		"--settings", settings,
		"--add-dir", "{run_dir}", "{cache_dir}",
	}
}

// codexCommand has it close itself in, except for these folders; without any, it is in the box.
func codexCommand(folders ...string) []string {
	argv := []string{"codex", "exec", "--json", "--sandbox", "danger-full-access"}
	if len(folders) > 0 {
		// By default it may only read. In this mode it may write in the workspace, but
		// not in what git keeps of it, which a commit needs. Git keeps part of that for a clone
		// in a folder of its own and the rest with the workspace's.
		argv[len(argv)-1] = "workspace-write"
	}
	for _, folder := range folders {
		argv = append(argv, "--add-dir", folder)
	}
	return append(argv,
		// Its commands see the PATH that it was given, and not that of a login.
		"-c", "allow_login_shell=false",
		"-") // the prompt is on standard input
}

// claudePreset is Claude Code (github.com/anthropics/claude-code), tried with 2.1.
func claudePreset() Agent {
	return Agent{
		Preset:  "claude",
		Box:     fleet.BoxWorkspace,
		Command: claudeCommand(false),
		Prompt:  fleet.PromptStdin,
		PassEnvironment: presetEnvironment(
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", // who pays
			"CLAUDE_CONFIG_DIR",                     // where its login and its logs are
			"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", // the service that it asks
		),
		Transcript: transcript.Claude,
		SessionLog: "~/.claude/projects/*/{session}.jsonl",
		Silence:    30 * time.Minute, // one tool call may take ten, and it prints nothing meanwhile
	}
}

// codexPreset is Codex (github.com/openai/codex), tried with 0.169.
func codexPreset() Agent {
	return Agent{
		Preset:  "codex",
		Box:     fleet.BoxWorkspace,
		Command: codexCommand(),
		Prompt:  fleet.PromptStdin,
		PassEnvironment: presetEnvironment(
			"OPENAI_API_KEY", "CODEX_API_KEY", // who pays
			"CODEX_HOME",      // where its login and its logs are
			"OPENAI_BASE_URL", // the service that it asks
		),
		Transcript: transcript.Codex,
		SessionLog: "~/.codex/sessions/*/*/*/rollout-*-{session}.jsonl",
		Silence:    30 * time.Minute, // as for claude
	}
}

// gptmePreset is gptme (github.com/gptme/gptme), by its source of 2026. It has no sandbox:
// without a person it runs whatever the model asks for, and needs no folder to be granted.
func gptmePreset() Agent {
	return Agent{
		Preset:  "gptme",
		Box:     fleet.BoxWorkspace,
		Command: []string{"gptme", "--non-interactive", "--output-format", "json"},
		Prompt:  fleet.PromptStdin, // as an argument, a prompt that is a command's name would be taken for it
		PassEnvironment: presetEnvironment(
			"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GEMINI_API_KEY", // who pays
			"GPTME_LOGS_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", // where its settings and its logs are
			"OPENAI_BASE_URL", "MODEL", // the service that it asks
		),
		Transcript: transcript.Gptme,
		// It reports nothing of its own at a limit: the error of the service's library shows, on
		// standard error.
		Quota: []string{
			"insufficient_quota", "exceeded your current quota", "credit balance is too low",
			`(?P<throttle>(?i)rate.?limit.*(try again|retry).* in (?P<after>[0-9.]+ ?[a-z]+))`,
			"(?P<throttle>RateLimitError|rate_limit_error|overloaded_error|Error code: (429|529))",
		},
		SessionLog: "~/.local/share/gptme/logs/*/conversation.jsonl",
		Silence:    30 * time.Minute, // as for claude
	}
}
