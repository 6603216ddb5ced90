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

// other is a program beside Claude Code and Codex, and how it is told of the stub.
type other struct {
	environment []string          // NAME=value, where {url} is the stub's
	files       map[string]string // in the home folder
	noHooks     bool              // its shell has other settings of git
	own, acp    manner            // by its own table, and by the Agent Client Protocol
}

// manner is a way to call a program, and what it then reports.
type manner struct {
	command []string // none: that of its table
	tokens  int      // requests of five that it tells the tokens of; it may tell the last one's only
	cached  int64    // of these from the cache
	costs   bool
	forgets bool              // it resumes no session, or none of a box
	ends    map[behaviour]end // of sessions that do not end as with most
}

// end is an outcome, and what the transcript says of it.
type end struct {
	outcome string
	fault   fleet.FaultKind // empty: a limit
	stopped bool            // it tries again until its time is up
}

func others() map[string]other {
	const settings = `{"security":{"auth":{"selectedType":%q}},"privacy":{"usageStatisticsEnabled":false},"general":{"disableAutoUpdate":true}}`
	stub := `{"model":"stub/gpt-stub","small_model":"stub/gpt-stub","autoupdate":false,"share":"disabled","provider":{"stub":{
		"npm":"@ai-sdk/openai-compatible","name":"stub","options":{"baseURL":"{url}/v1","apiKey":"stub"},
		"models":{"gpt-stub":{"name":"stub","limit":{"context":100000,"output":4000},"tool_call":true}}}}}`
	return map[string]other{
		"opencode": {
			files: map[string]string{".config/opencode/opencode.json": stub},
			own: manner{tokens: 5, cached: cachedTokens, costs: true, forgets: true, ends: map[behaviour]end{
				breaks: {outcome: "unavailable", fault: fleet.FaultConnection},
			}},
			acp: manner{command: []string{"opencode", "acp"}, tokens: 1, cached: cachedTokens, costs: true, forgets: true},
		},
		"gemini": {
			files:       map[string]string{".gemini/settings.json": fmt.Sprintf(settings, "gemini-api-key")},
			environment: []string{"GEMINI_API_KEY=stub", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_MODEL=gemini-2.5-flash"}, noHooks: true,
			own: manner{tokens: 5, cached: cachedTokens, ends: map[behaviour]end{
				declines: {outcome: "unavailable", fault: fleet.FaultCut}, // it does not tell
			}},
			acp: manner{command: []string{"gemini", "--acp", "--skip-trust"}, tokens: 5, forgets: true, ends: map[behaviour]end{
				throttled: {outcome: "quota", stopped: true},
			}},
		},
		"qwen": {
			files:       map[string]string{".qwen/settings.json": fmt.Sprintf(settings, "openai")},
			environment: []string{"OPENAI_API_KEY=stub", "OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=gpt-stub"},
			own: manner{tokens: 5, cached: cachedTokens, ends: map[behaviour]end{ // it prints nothing while it tries again
				throttled: {outcome: "unavailable", fault: fleet.FaultSilent, stopped: true},
				noCredit:  {outcome: "unavailable", fault: fleet.FaultSilent, stopped: true},
			}},
			acp: manner{command: []string{"qwen", "--acp"}, tokens: 5, cached: cachedTokens, ends: map[behaviour]end{
				throttled: {outcome: "unavailable", fault: fleet.FaultSilent, stopped: true}, // it prints nothing meanwhile
			}},
		},
		"copilot": {
			environment: []string{
				"COPILOT_PROVIDER_API_KEY=stub", "COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_MODEL=gpt-stub",
			},
			acp: manner{command: []string{"copilot", "--acp"}, tokens: 5, cached: cachedTokens, forgets: true},
		},
		"kimi": {
			files: map[string]string{".kimi-code/config.toml": `default_model = "stub"
[providers.stub]
type = "openai"
base_url = "{url}/v1"
api_key = "stub"
[models.stub]
provider = "stub"
model = "gpt-stub"
max_context_size = 100000
`},
			own: manner{ends: map[behaviour]end{breaks: {outcome: "unavailable", fault: fleet.FaultConnection}}},
			acp: manner{command: []string{"kimi", "acp"}, ends: map[behaviour]end{
				throttled: {outcome: "unavailable", fault: fleet.FaultServer},
			}},
		},
		"pi": {
			files: map[string]string{
				".pi/agent/settings.json": `{"defaultProvider":"stub","defaultModel":"gpt-stub"}`,
				".pi/agent/models.json": `{"providers":{"stub":{"baseUrl":"{url}/v1","api":"openai-completions","apiKey":"stub",
					"models":[{"id":"gpt-stub","contextWindow":100000,"maxTokens":4000}]}}}`,
			},
			own: manner{tokens: 5, cached: cachedTokens, costs: true},
		},
	}
}

// byACP begins the account of a program that is called by the protocol.
const byACP = preset.ACP + "-"

// other is the program of an account, and the way to call it. It is not one of Claude Code's or Codex's.
func (a account) other() (o other, m manner, is bool) {
	name, acp := strings.CutPrefix(string(a), byACP)
	o, is = others()[name]
	if acp {
		return o, o.acp, is
	}
	return o, o.own, is
}

// config is the agent's table, where init writes none.
func (m manner) config() string {
	list := make([]string, len(m.command))
	for i, word := range m.command {
		list[i] = fmt.Sprintf("%q", word)
	}
	return fmt.Sprintf("[agent.one]\npreset = \"acp\"\ncommand = [%s]\n\n", strings.Join(list, ", "))
}

// otherCases are the trials of all others: by their own tables all that follows, by the protocol work, a key that is no good, and
// too many requests. A conversation goes on both ways.
func otherCases() (list []trial) {
	for _, name := range slices.Sorted(maps.Keys(others())) {
		own, acp := account(name), account(byACP+name)
		list = append(list, own.works(works), own.works(plants))
		list[len(list)-2].clone, list[len(list)-1].clone = false, false // where a session has most within reach
		for _, b := range []behaviour{refuses, throttled, noCredit, fails, unreachable, breaks, hangs, declines} {
			list = append(list, own.meets(b))
		}
		list = append(list, own.works(works), trial{account: own, behaviour: leaves, clone: true})
		if others()[name].acp.command != nil {
			list = append(list, acp.works(works), acp.meets(refuses), acp.meets(throttled), trial{account: acp, behaviour: leaves, clone: true})
		}
	}
	return list
}

// works is a trial in which all goes well.
func (a account) works(b behaviour) trial {
	_, m, _ := a.other()
	outcome, calls := "productive", 4
	if b == plants {
		outcome, calls = "noop", 1
	}
	n := int64(min(m.tokens, calls+1))
	return trial{account: a, behaviour: b, outcome: outcome, costs: m.costs, clone: true, want: transcript.Summary{
		Tokens:  transcript.Tokens{Input: (inputTokens - m.cached) * n, Output: outputTokens * n, CacheRead: m.cached * n},
		Success: new(true), ToolCalls: calls,
	}}
}

// meets is a trial of a trouble.
func (a account) meets(b behaviour) trial {
	_, m, _ := a.other()
	usual := end{outcome: "quota"}
	if i := slices.IndexFunc(troubles(), func(t trouble) bool { return t.behaviour == b }); i >= 0 {
		usual = troubles()[i].end(a)
	}
	if own, is := m.ends[b]; is {
		usual = own
	}
	t := trial{account: a, behaviour: b, clone: true, outcome: usual.outcome, wrong: !usual.stopped}
	switch {
	case usual.fault != "":
		t.want.Fault = &transcript.Fault{Kind: usual.fault}
	case b == throttled:
		t.want.Quota = &transcript.Quota{Kind: transcript.Throttled}
	default:
		t.want.Quota = &transcript.Quota{Kind: transcript.Exhausted}
	}
	return t
}

// home are the files of a home folder that tell the program of the stub.
func (o other) home(home, url string) map[string]string {
	files := map[string]string{}
	for name, text := range o.files {
		files[filepath.Join(home, name)] = strings.ReplaceAll(text, "{url}", url)
	}
	return files
}
