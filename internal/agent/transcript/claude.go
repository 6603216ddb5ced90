package transcript

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"stint/internal/fleet"
)

// claude reads Claude Code's stream of messages. Its shapes are those of version
// 2.1.197, recorded in testdata.
type claude struct {
	*session
	counted map[string]Tokens // of each message of the model, by its id
	delay   time.Duration
}

// claudeLine is the union of the fields that are read of any line.
type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`

	Message struct {
		ID      string        `json:"id"`
		Model   string        `json:"model"`
		Usage   claudeUsage   `json:"usage"`
		Content []claudeBlock `json:"content"`
	} `json:"message"`
	Error string `json:"error"` // of an assistant's message and of a retry: a word

	ErrorStatus  *int    `json:"error_status"`
	RetryDelayMS float64 `json:"retry_delay_ms"`

	RateLimit struct {
		Status   string  `json:"status"`
		ResetsAt float64 `json:"resetsAt"` // seconds since 1970
		Type     string  `json:"rateLimitType"`
	} `json:"rate_limit_info"`

	IsError    bool                   `json:"is_error"`
	APIStatus  int                    `json:"api_error_status"`
	Result     string                 `json:"result"`
	Errors     []string               `json:"errors"`
	NumTurns   count                  `json:"num_turns"`
	CostUSD    *float64               `json:"total_cost_usd"`
	Usage      claudeUsage            `json:"usage"`
	ModelUsage map[string]claudeModel `json:"modelUsage"`
	Denials    []struct{}             `json:"permission_denials"`

	// For people alone, see [Readable].
	Model      string `json:"model"`
	Version    string `json:"claude_code_version"`
	Attempt    count  `json:"attempt"`
	MaxRetries count  `json:"max_retries"`
}

type claudeBlock struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	IsError bool   `json:"is_error"`

	// For people alone, see [Readable].
	Thinking string          `json:"thinking"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Content  json.RawMessage `json:"content"` // of a tool's result: a text, or blocks
}

type claudeUsage struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
}

func (u claudeUsage) tokens() Tokens {
	return Tokens{int64(u.Input), int64(u.Output), int64(u.CacheRead), int64(u.CacheWrite)}
}

type claudeModel struct {
	Input      count `json:"inputTokens"`
	Output     count `json:"outputTokens"`
	CacheRead  count `json:"cacheReadInputTokens"`
	CacheWrite count `json:"cacheCreationInputTokens"`
}

// claudeSynthetic is the model of a message that the program wrote itself.
const claudeSynthetic = "<synthetic>"

func (c *claude) event(text []byte) bool {
	var l claudeLine
	if !decode(text, &l) {
		return false
	}
	switch l.Type {
	case "system":
		c.system(l)
	case "assistant":
		c.assistant(l)
	case "user":
		for _, block := range l.Message.Content {
			if block.Type == "tool_result" && block.IsError {
				c.ToolErrors++
			}
		}
	case "rate_limit_event":
		c.rateLimit(l)
	case "result":
		c.result(l)
	default:
		return l.SessionID != "" // its own, which more are added to
	}
	if l.SessionID != "" {
		c.SessionID = brief(l.SessionID)
	}
	return true
}

// system is the program's own news, of which a retry is one.
func (c *claude) system(l claudeLine) {
	if l.Subtype != "api_retry" {
		return
	}
	c.Retries++
	status := 0
	if l.ErrorStatus != nil {
		status = *l.ErrorStatus
	}
	text := strings.TrimSpace("retried after " + l.Error)
	if l.Error == "rate_limit" {
		c.delay = milliseconds(l.RetryDelayMS)
		c.limit(Quota{Kind: Throttled, RetryAfter: c.delay, Text: text})
		return
	}
	c.blame(cmp.Or(claudeFault(l.Error, status, ""), fleet.FaultConnection), text) // without a status, nobody answered
}

// assistant is a message of the model, or what the program says in its place. Usage
// is summed up for a session that never comes to its result; as it is reported at the
// beginning of a message, the output is then far too low.
func (c *claude) assistant(l claudeLine) {
	for _, block := range l.Message.Content {
		if block.Type == "tool_use" {
			c.ToolCalls++
		}
	}
	if l.Message.Model == claudeSynthetic || l.Error != "" {
		c.wrong(l.Error, 0, textOf(l.Message.Content))
		return
	}
	c.answer()
	// One message comes in several lines, one for each of its blocks, between which what
	// its tools gave back may stand. The later ones know better what it used.
	id, used := l.Message.ID, l.Message.Usage.tokens()
	before, known := c.counted[id]
	if id == "" || !known {
		c.Turns++
	}
	more := used.beyond(before)
	c.Tokens.add(more)
	c.Models.Add(l.Message.Model, more)
	if id != "" {
		if c.counted == nil {
			c.counted = map[string]Tokens{}
		}
		more.add(before)
		c.counted[id] = more
	}
}

func textOf(content []claudeBlock) string {
	var texts []string
	for _, block := range content {
		if block.Text != "" {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, " ")
}

// rateLimit is reported to subscribers whenever their allowance changes. One that was
// rejected without saying which allowance is the service's own brake.
func (c *claude) rateLimit(l claudeLine) {
	info := l.RateLimit
	switch {
	case info.Status != "rejected":
	case info.Type == "" && info.ResetsAt == 0:
		c.limit(Quota{Kind: Throttled, RetryAfter: c.delay, Text: "rate limit rejected"})
	default:
		c.limit(Quota{Kind: Exhausted, ResetAt: soon(epoch(info.ResetsAt), c.options.Now), Text: strings.TrimSpace("rate limit rejected " + info.Type)})
	}
}

// result is the last word. Its subtype is "success" even where is_error is true.
func (c *claude) result(l claudeLine) {
	success := !l.IsError && l.Subtype == "success"
	c.Turns = int(l.NumTurns)
	c.Denied = len(l.Denials)
	if l.CostUSD != nil && *l.CostUSD >= 0 && *l.CostUSD < maxCount {
		c.CostUSD = l.CostUSD
	}
	c.Tokens = l.Usage.tokens()
	if len(l.ModelUsage) > 0 { // it has the helpers' models as well
		c.Models = nil
		for model, m := range l.ModelUsage {
			c.Models.Add(model, Tokens{int64(m.Input), int64(m.Output), int64(m.CacheRead), int64(m.CacheWrite)})
		}
		c.Tokens = c.Models.Total()
	}
	text := cmp.Or(l.Result, strings.Join(append(l.Errors, l.Subtype), " "))
	if _, walled := claudeOldBanner(text, c.options.Now); walled {
		success = false // versions before 2 gave it as a result like any other
	}
	if !success {
		c.wrong("", l.APIStatus, text)
	}
	c.succeed(success)
}

// wrong takes note of an error by its word, its HTTP status and its text, of which
// only the text is always there: of a connection that was refused there is no status, and
// the result has no word.
func (c *claude) wrong(word string, status int, text string) {
	c.fail(text)
	quota := claudeBanner(text, c.options.Now)
	switch {
	case quota != nil:
	case word == "billing_error" || strings.Contains(text, "redit balance is too low"):
		quota = &Quota{Kind: Exhausted, Text: text}
	case word == "rate_limit" || status == 429:
		quota = &Quota{Kind: Throttled, RetryAfter: c.delay, Text: text}
	}
	if quota != nil {
		c.limit(*quota)
		return
	}
	c.blame(claudeFault(word, status, text), text)
}

func milliseconds(f float64) time.Duration {
	if f <= 0 || f > float64(maxWait/time.Millisecond) {
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
}
