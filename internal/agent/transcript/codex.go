package transcript

import "strings"

// codex reads the events of "codex exec --json". Its shapes are those of version
// 0.169.0, recorded in testdata.
type codex struct {
	*session
}

type codexLine struct {
	Type     string     `json:"type"`
	ThreadID string     `json:"thread_id"`
	Message  string     `json:"message"`
	Usage    codexUsage `json:"usage"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Item struct {
		Type   string    `json:"type"`
		Status string    `json:"status"`
		Error  *struct{} `json:"error"`
		codexShown
	} `json:"item"`
}

// codexUsage counts what came from the cache as input too.
type codexUsage struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheRead  count `json:"cached_input_tokens"`
	CacheWrite count `json:"cache_write_input_tokens"`
}

func (u codexUsage) tokens() Tokens {
	return Tokens{
		Input:      max(0, int64(u.Input-u.CacheRead-u.CacheWrite)),
		Output:     int64(u.Output),
		CacheRead:  int64(u.CacheRead),
		CacheWrite: int64(u.CacheWrite),
	}
}

func (c *codex) event(text []byte) bool {
	var l codexLine
	if !decode(text, &l) {
		return false
	}
	switch l.Type {
	case "thread.started":
		c.SessionID = brief(l.ThreadID)
	case "turn.completed":
		c.Turns++
		// It is of the whole thread so far.
		if t := l.Usage.tokens(); t.Total() >= c.Tokens.Total() {
			c.Tokens = t
		}
		c.succeed(true)
	case "turn.failed":
		c.Turns++
		c.wrong(l.Error.Message)
		c.succeed(false)
	case "error":
		if strings.HasPrefix(l.Message, "Reconnecting...") {
			c.Retries++
		}
		c.wrong(l.Message)
	case "item.completed":
		c.item(l)
	default:
		if strings.HasPrefix(l.Type, "item.") && l.Item.Type != "error" {
			c.answer()
		}
		return strings.HasPrefix(l.Type, "thread.") || strings.HasPrefix(l.Type, "turn.") || strings.HasPrefix(l.Type, "item.")
	}
	return true
}

// item counts what the model had done. An item of type error is a warning.
func (c *codex) item(l codexLine) {
	if l.Item.Type != "error" {
		c.answer()
	}
	switch l.Item.Type {
	case "command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search":
	default:
		return
	}
	c.ToolCalls++
	if l.Item.Status == "failed" || l.Item.Status == "declined" || l.Item.Error != nil {
		c.ToolErrors++
	}
	if l.Item.Status == "declined" {
		c.Denied++
	}
}

func (c *codex) wrong(text string) {
	c.fail(text)
	if quota := codexLimit(text, c.options.Now); quota != nil {
		c.limit(*quota)
		return
	}
	c.blame(codexFault(text), attempt(text))
}

// attempt is the error of a request that is tried again.
func attempt(text string) string {
	if rest, is := strings.CutPrefix(text, "Reconnecting... "); is {
		if _, inner, is := strings.Cut(rest, "("); is {
			return strings.TrimSuffix(inner, ")")
		}
	}
	return text
}
