package transcript

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Models are the tokens of a session by the model that was billed for them.
type Models map[string]Tokens

// Total is the sum over the models.
func (m Models) Total() (sum Tokens) {
	for _, t := range m {
		sum.add(t)
	}
	return sum
}

// maxModels is far more than a session and its helpers use: a log that names thousands is no record of a session.
const maxModels = 32

// Add counts tokens in for a model, which may have no name. The map is made at the first. Further models than
// [maxModels] have none.
func (m *Models) Add(model string, t Tokens) {
	if t.Total() == 0 {
		return
	}
	model = brief(model)
	if *m == nil {
		*m = Models{}
	}
	if _, known := (*m)[model]; !known && len(*m) >= maxModels {
		model = ""
	}
	t.add((*m)[model])
	(*m)[model] = t
}

// ReadUsage reads the file in which an agent itself keeps a session: what each model was
// used for. A killed session's file ends anywhere, and holds what it used until then.
func ReadUsage(format Format, r io.Reader) (Models, error) {
	if format != Codex { // it keeps the messages that it prints
		s, err := Read(format, r, Options{})
		return s.Models, err
	}
	var c rollout
	all := lines{each: func(piece []byte, first, last bool) {
		if first && last {
			c.event(piece)
		}
	}}
	if _, err := io.Copy(&all, r); err != nil {
		return c.models, fmt.Errorf("read session file: %w", err)
	}
	all.end()
	return c.models, nil
}

// rollout reads the file in which codex keeps a session, of version 0.169.0 as recorded in
// testdata. It has the sum of all answers after each of them, and once more after the tools
// that the answer asked for.
type rollout struct {
	model  string
	sum    Tokens
	models Models
}

func (c *rollout) event(text []byte) {
	var l struct {
		Type    string `json:"type"`
		Payload struct {
			Model  string     `json:"model"`
			Thread codexUsage `json:"thread_token_usage"`
			Info   struct {
				Total codexUsage `json:"total_token_usage"`
			} `json:"info"`
		} `json:"payload"`
	}
	if !decode(text, &l) {
		return
	}
	switch l.Type {
	case "turn_context":
		c.model = l.Payload.Model
	case "token_usage_record":
		c.reach(l.Payload.Thread.tokens())
	case "event_msg":
		c.reach(l.Payload.Info.Total.tokens())
	}
}

// reach bills what a sum has more than the one before to the model of the turn.
func (c *rollout) reach(sum Tokens) {
	if sum.Total() <= c.sum.Total() {
		return
	}
	c.models.Add(c.model, sum.beyond(c.sum))
	c.sum = sum
}

// beyond returns the tokens of each kind that t has more than o.
func (t Tokens) beyond(o Tokens) Tokens {
	return Tokens{
		Input: max(0, t.Input-o.Input), Output: max(0, t.Output-o.Output),
		CacheRead: max(0, t.CacheRead-o.CacheRead), CacheWrite: max(0, t.CacheWrite-o.CacheWrite),
	}
}

// HelperGlob is the pattern of the files of a session's helpers, which claude keeps beside
// the session's own; "" where a format has none.
func HelperGlob(format Format, file string) string {
	folder, isLines := strings.CutSuffix(file, ".jsonl")
	if format != Claude || !isLines || strings.ContainsAny(folder, `*?[\`) {
		return ""
	}
	return filepath.Join(folder, "subagents", "*.jsonl")
}
