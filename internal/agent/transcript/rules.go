package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"stint/internal/agent/preset"
)

// item is what a rule is applied to: a line, and an element of a list in it.
type item struct {
	line map[string]any
	each any
}

// at is what a path leads to; nil where that is not there.
func (i item) at(path string) any {
	if path == "" {
		return nil
	}
	value := any(i.line)
	if rest, is := strings.CutPrefix(path, "."); is {
		value, path = i.each, rest
	}
	for part := range strings.SplitSeq(path, ".") {
		table, _ := value.(map[string]any)
		value = table[part]
	}
	return value
}

// items are those of a rule: the line, or what is in its list.
func (i item) items(path string) []item {
	if path == "" {
		return []item{i}
	}
	switch list := i.at(path).(type) {
	case []any:
		items := make([]item, len(list))
		for n, each := range list {
			items[n] = item{i.line, each}
		}
		return items
	case map[string]any:
		return []item{{i.line, list}}
	}
	return nil
}

// holds reports whether one of some conditions does.
func (i item) holds(conditions []string) bool {
	for _, all := range conditions {
		met := true
		for one := range strings.SplitSeq(all, " & ") {
			met = met && i.meets(one)
		}
		if met {
			return true
		}
	}
	return false
}

func (i item) meets(condition string) bool {
	path, values, compared := strings.Cut(condition, "=")
	path, other := strings.CutSuffix(path, "!")
	if !compared {
		path, negative := strings.CutPrefix(path, "!")
		return isThere(i.at(path)) != negative
	}
	text := textOf(i.at(path))
	for value := range strings.SplitSeq(values, "|") {
		start, open := strings.CutSuffix(value, "*")
		if text == value || open && strings.HasPrefix(text, start) {
			return !other
		}
	}
	return other
}

// isThere reports whether a value is neither missing nor empty, zero or false. An object is there even if it is empty.
func isThere(value any) bool {
	switch v := value.(type) {
	case string:
		return v != ""
	case float64:
		return v != 0
	case bool:
		return v
	case []any:
		return len(v) > 0
	case map[string]any:
		return true
	}
	return false
}

// first is the first of some templates that comes to a text.
func (i item) first(templates []string) string {
	for _, t := range templates {
		if text := i.filled(t); text != "" {
			return text
		}
	}
	return ""
}

// filled is a template with what its paths lead to.
func (i item) filled(template string) string {
	var b strings.Builder
	for rest := template; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		path, next, _ := strings.Cut(after, "}")
		b.WriteString(before)
		if found {
			b.WriteString(textOf(i.at(path)))
		}
		rest = next
	}
	return strings.TrimSpace(b.String())
}

// textOf is a value as text: that of blocks is what they say.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case map[string]any:
		return cmp.Or(textOf(v["text"]), textOf(v["content"]))
	case []any:
		var texts []string
		for _, block := range v {
			if text := textOf(block); text != "" {
				texts = append(texts, text)
			}
		}
		return strings.Join(texts, " ")
	}
	return ""
}

// used is what most tells of a tool's input: the command or the file. Of a tool that has neither it is all of its input.
func used(input any) string {
	switch v := input.(type) {
	case nil:
		return ""
	case string:
		var fields map[string]any
		if json.Unmarshal([]byte(v), &fields) == nil && len(fields) > 0 {
			return used(fields)
		}
		return v
	case map[string]any:
		for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt"} {
			if text, ok := v[name].(string); ok && text != "" {
				return text
			}
		}
	}
	text, err := json.Marshal(input)
	if err != nil {
		return fmt.Sprint(input)
	}
	return brief(string(text))
}

// number is a sum of counts, or the length of a list. A number that cannot be counts as none.
func (i item) number(sum string) int64 {
	total, sign := int64(0), int64(1)
	for word := range strings.FieldsSeq(sum) {
		switch word {
		case "+":
			sign = 1
		case "-":
			sign = -1
		default:
			switch v := i.at(word).(type) {
			case float64:
				if v > 0 && v <= maxCount {
					total += sign * int64(v)
				}
			case []any:
				total += sign * int64(len(v))
			}
		}
	}
	return max(0, total)
}

func (i item) tokens(t preset.Tokens) Tokens {
	return Tokens{i.number(t.Input), i.number(t.Output), i.number(t.CacheRead), i.number(t.CacheWrite)}
}

// said is the text of a rule, without what stands around it.
func (s *session) said(r preset.Rule, i item) string {
	text := i.first(r.Text)
	if r.Cut == "" {
		return text
	}
	if s.cuts[r.Cut] == nil {
		s.cuts[r.Cut] = regexp.MustCompile(r.Cut) // it was tried when it was read
	}
	if found := s.cuts[r.Cut].FindStringSubmatch(text); len(found) > 1 {
		return found[1]
	}
	return text
}
