package transcript

import "strings"

// gptme reads gptme's messages, one JSON object a line. They report no success and no session:
// only the exit status does.
type gptme struct {
	*session
}

type gptmeLine struct {
	Role     string `json:"role"`
	Content  string `json:"content"`
	CallID   string `json:"call_id"`
	Metadata struct {
		Model string   `json:"model"`
		Tool  string   `json:"tool"`
		Cost  *float64 `json:"cost"`
		Usage struct {
			Input      count `json:"input_tokens"`
			Output     count `json:"output_tokens"`
			CacheRead  count `json:"cache_read_tokens"`
			CacheWrite count `json:"cache_creation_tokens"`
		} `json:"usage"`
	} `json:"metadata"`
}

func (g *gptme) event(text []byte) bool {
	var l gptmeLine
	if !decode(text, &l) || l.Role == "" {
		return false
	}
	m := l.Metadata
	switch l.Role {
	case "assistant":
		g.Turns++
		g.answer()
		used := Tokens{int64(m.Usage.Input), int64(m.Usage.Output), int64(m.Usage.CacheRead), int64(m.Usage.CacheWrite)}
		g.Tokens.add(used)
		g.Models.Add(m.Model, used)
		if m.Cost != nil && *m.Cost >= 0 && *m.Cost < maxCount {
			sum := *m.Cost
			if g.CostUSD != nil {
				sum += *g.CostUSD
			}
			g.CostUSD = &sum
		}
	case "system":
		// A tool's output is a message of the system that names the tool or the call; the others are
		// the prompt.
		if m.Tool != "" || l.CallID != "" {
			g.ToolCalls++
			if strings.HasPrefix(l.Content, "Error") {
				g.ToolErrors++
			}
		}
	}
	return true
}
