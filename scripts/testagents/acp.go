package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/fleet"
)

// speaker is a program that speaks the Agent Client Protocol, and how it is told of the stub.
type speaker struct {
	command     []string
	environment []string          // NAME=value, where {url} is the stub's
	files       map[string]string // in the home folder
	tokens      int               // requests of five that it tells the tokens of; it may tell the last one's only
	cached      int64             // of these from the cache
	costs       bool
	noHooks     bool // its shell has other settings of git
	own         bool // it is called as its own preset has it, without the protocol
	forgets     bool // it resumes no session, or none of a box
	// How a session ends where it is not as with others: at a key that is no good, and at too many requests.
	refused, throttled end
}

// end is an outcome, and what the transcript says of it.
type end struct {
	outcome string
	fault   fleet.FaultKind // empty: a limit
	stopped bool            // it tries again until its time is up
}

func speakers() map[account]speaker {
	const settings = `{"security":{"auth":{"selectedType":%q}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}`
	stub := `{"model":"stub/gpt-stub","small_model":"stub/gpt-stub","autoupdate":false,"share":"disabled","provider":{"stub":{
		"npm":"@ai-sdk/openai-compatible","name":"stub","options":{"baseURL":"{url}/v1","apiKey":"stub"},
		"models":{"gpt-stub":{"name":"stub","limit":{"context":100000,"output":4000},"tool_call":true}}}}}`
	list := map[account]speaker{
		"opencode": {
			command: []string{"opencode", "acp"}, files: map[string]string{".config/opencode/opencode.json": stub},
			tokens: 1, cached: cachedTokens, costs: true, forgets: true,
		},
		"gemini": {
			command: []string{"gemini", "--acp", "--skip-trust"}, files: map[string]string{".gemini/settings.json": fmt.Sprintf(settings, "gemini-api-key")},
			environment: []string{"GEMINI_API_KEY=stub", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_MODEL=gemini-2.5-flash"}, tokens: 5,
			noHooks: true, throttled: end{outcome: "timeout", stopped: true}, forgets: true,
		},
		"qwen": {
			command: []string{"qwen", "--acp"}, files: map[string]string{".qwen/settings.json": fmt.Sprintf(settings, "openai")},
			environment: []string{"OPENAI_API_KEY=stub", "OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=gpt-stub"}, tokens: 5, cached: cachedTokens,
			throttled: end{outcome: "unavailable", fault: fleet.FaultSilent, stopped: true}, // it prints nothing meanwhile
		},
		"copilot": {
			command: []string{"copilot", "--acp"}, tokens: 5, cached: cachedTokens, forgets: true,
			environment: []string{
				"COPILOT_PROVIDER_API_KEY=stub", "COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_MODEL=gpt-stub",
			},
		},
		"kimi": {
			command: []string{"kimi", "acp"}, files: map[string]string{".kimi-code/config.toml": `default_model = "stub"
[providers.stub]
type = "openai"
base_url = "{url}/v1"
api_key = "stub"
[models.stub]
provider = "stub"
model = "gpt-stub"
max_context_size = 100000
`},
			throttled: end{outcome: "unavailable", fault: fleet.FaultServer},
		},
	}
	for a, s := range maps.Clone(list) {
		s.own, s.forgets, s.tokens = true, a == "opencode", map[account]int{"opencode": 5, "gemini": 5, "qwen": 5}[a]
		list[a+"-alone"] = s
	}
	return list
}

// cli says how the program is to be understood.
func (s speaker) cli() preset.CLI {
	if s.own {
		return preset.Named(s.command[0]).CLI
	}
	return preset.Named(preset.ACP).Of(s.command[0]).CLI
}

// config is the agent's table.
func (s speaker) config() string {
	if s.own {
		return fmt.Sprintf("[agent.one]\npreset = %q\n\n", s.command[0])
	}
	list := make([]string, len(s.command))
	for i, word := range s.command {
		list[i] = fmt.Sprintf("%q", word)
	}
	return fmt.Sprintf("[agent.one]\npreset = \"acp\"\ncommand = [%s]\n\n", strings.Join(list, ", "))
}

// acpCases are the trials of all speakers: work, a key that is no good, too many requests, and a conversation that goes on, which
// is tried without the protocol, too.
func acpCases() (list []trial) {
	for _, a := range slices.Sorted(maps.Keys(speakers())) {
		s := speakers()[a]
		list = append(list, trial{account: a, behaviour: leaves, clone: true})
		if s.own {
			continue
		}
		sum := transcript.Tokens{Input: (inputTokens - s.cached) * int64(s.tokens), Output: outputTokens * int64(s.tokens), CacheRead: s.cached * int64(s.tokens)}
		list = append(list, trial{account: a, behaviour: works, outcome: "productive", costs: s.costs, clone: true, want: transcript.Summary{
			Tokens: sum, Success: new(true), ToolCalls: 4,
		}})
		list = append(list, s.fault(trial{account: a, behaviour: refuses, costs: s.costs, clone: true}, end{outcome: "unavailable", fault: fleet.FaultLogin}, s.refused))
		list = append(list, s.fault(trial{account: a, behaviour: throttled, costs: s.costs, clone: true}, end{outcome: "quota"}, s.throttled))
	}
	return list
}

func (s speaker) fault(t trial, usual, own end) trial {
	if own != (end{}) {
		usual = own
	}
	if t.outcome, t.wrong = usual.outcome, !usual.stopped; t.wrong {
		t.want.Success = new(false)
	}
	if usual.fault == "" {
		t.want.Quota = &transcript.Quota{Kind: transcript.Throttled}
	} else {
		t.want.Fault = &transcript.Fault{Kind: usual.fault}
	}
	return t
}

// home are the files of a home folder that tell the program of the stub.
func (s speaker) home(home, url string) map[string]string {
	files := map[string]string{}
	for name, text := range s.files {
		files[filepath.Join(home, name)] = strings.ReplaceAll(text, "{url}", url)
	}
	return files
}
