package transcript

import (
	"fmt"
	"io"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
)

// Tokens are counted as billed: tokens from a cache are not in Input.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Total is all of them.
func (t Tokens) Total() int64 {
	return t.Input + t.Output + t.CacheRead + t.CacheWrite
}

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Output += o.Output
	t.CacheRead += o.CacheRead
	t.CacheWrite += o.CacheWrite
}

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

// Used is what each model was used for, under no name where the output names none.
func (s Summary) Used() Models {
	used := s.Models
	if len(used) == 0 {
		used.Add("", s.Tokens)
	}
	return used
}

// ReadUsage reads the file in which a program itself keeps a session: what each model was
// used for, and the windows of its plan. A killed session's file ends anywhere, and holds what it used until then.
func ReadUsage(c preset.CLI, r io.Reader) (Models, []fleet.Window, error) {
	rules := c.Kept
	if len(rules) == 0 {
		rules = c.Output // it keeps the messages that it prints
	}
	s, err := readAll(newSession(c, rules, time.Time{}), r)
	if err != nil {
		return s.Used(), s.Windows, fmt.Errorf("read session file: %w", err)
	}
	return s.Used(), s.Windows, nil
}

// billed is what a table of models says of each, and the cost of all.
type billed struct {
	Models
	usd float64
}

func (i item) billed(path string, r preset.Rule) (b billed) {
	models, _ := i.at(path).(map[string]any)
	for name, of := range models {
		one := item{i.line, of}
		b.Add(name, one.tokens(r.Tokens))
		if usd, ok := one.at(r.Cost).(float64); ok && usd > 0 && usd < maxCount {
			b.usd += usd
		}
	}
	return b
}

func (b billed) beyond(o billed) billed {
	rest := billed{Models{}, max(0, b.usd-o.usd)}
	for name, t := range b.Models {
		rest.Add(name, t.beyond(o.Models[name]))
	}
	return rest
}

// beyond returns the tokens of each kind that t has more than o.
func (t Tokens) beyond(o Tokens) Tokens {
	return Tokens{
		Input: max(0, t.Input-o.Input), Output: max(0, t.Output-o.Output),
		CacheRead: max(0, t.CacheRead-o.CacheRead), CacheWrite: max(0, t.CacheWrite-o.CacheWrite),
	}
}
