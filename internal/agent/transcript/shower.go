package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"stint/internal/plain"
)

// claudeShower makes text of Claude Code's messages.
type claudeShower struct {
	said string // the last words that were shown: the result repeats them
}

func (c *claudeShower) show(object []byte) (text string, ok bool) {
	var l claudeLine
	if !decode(object, &l) {
		return "", false
	}
	switch l.Type {
	case "system":
		return c.system(l), true
	case "assistant":
		return c.assistant(l), true
	case "user":
		return toolResults(l.Message.Content), true
	case "rate_limit_event":
		return rateLimitText(l), true
	case "result":
		return c.result(l), true
	}
	return "", false
}

func (*claudeShower) system(l claudeLine) string {
	switch l.Subtype {
	case "init":
		return fmt.Sprintf("%sClaude Code %s, model %s, session %s\n", markState, brief(l.Version), brief(l.Model), brief(l.SessionID))
	case "api_retry":
		text := fmt.Sprintf("retry %d of %d in %s: %s", l.Attempt, l.MaxRetries, milliseconds(l.RetryDelayMS).Round(time.Millisecond), cmp.Or(l.Error, "an error"))
		if l.ErrorStatus != nil {
			text += fmt.Sprintf(" (%d)", *l.ErrorStatus)
		}
		return wrong(text)
	}
	return markState + brief(l.Subtype) + "\n"
}

func (c *claudeShower) assistant(l claudeLine) string {
	var b strings.Builder
	for _, block := range l.Message.Content {
		switch {
		case block.Type == "thinking" && block.Thinking != "":
			b.WriteString(markThought + brief(block.Thinking) + "\n")
		case block.Type == "tool_use" && block.Name == "Bash":
			b.WriteString(marked(markCommand, toolUsedOn(block.Input)))
		case block.Type == "tool_use":
			b.WriteString(marked(markTool, block.Name+" "+toolUsedOn(block.Input)))
		case block.Text == "":
		case l.Error != "" || l.Message.Model == claudeSynthetic:
			c.said = block.Text
			b.WriteString(wrong(block.Text))
		default:
			c.said = block.Text
			b.WriteString(strings.TrimSpace(block.Text) + "\n")
		}
	}
	return b.String()
}

// toolUsedOn is the part of a tool's input that says most: the command or the file. For a tool
// that has neither it is all of its input.
func toolUsedOn(input json.RawMessage) string {
	var fields map[string]any
	if decode(input, &fields) {
		for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "description", "prompt"} {
			if text, ok := fields[name].(string); ok && text != "" {
				return text
			}
		}
	}
	return brief(string(input))
}

// toolResults returns the results of tools.
func toolResults(content []claudeBlock) string {
	var b strings.Builder
	for _, block := range content {
		if block.Type != "tool_result" {
			continue
		}
		text := ""
		if blocks := []claudeBlock(nil); json.Unmarshal(block.Content, &text) != nil && decode(block.Content, &blocks) {
			text = textOf(blocks)
		}
		if block.IsError {
			b.WriteString(setIn + markWrong + strings.TrimSpace(cmp.Or(excerpt(text), "an error")) + "\n")
			continue
		}
		b.WriteString(excerpt(text))
	}
	return b.String()
}

// rateLimitText says nothing while all is well.
func rateLimitText(l claudeLine) string {
	info := l.RateLimit
	if info.Status == "allowed" {
		return ""
	}
	text := "rate limit " + info.Status
	if info.Type != "" {
		text += ": " + info.Type
	}
	if at := epoch(info.ResetsAt); !at.IsZero() {
		text += ", resets " + plain.Stamp(at)
	}
	return wrong(brief(text))
}

// result is read as for a summary.
func (c *claudeShower) result(l claudeLine) string {
	read := claude{session: &session{}}
	read.result(l)
	text, failed := "", l.IsError || l.Subtype != "success"
	if words := cmp.Or(l.Result, strings.Join(l.Errors, " ")); words != "" && words != c.said {
		text = strings.TrimSpace(words) + "\n"
		if failed {
			text = wrong(words)
		}
	}
	end := "ended well"
	if failed {
		end = "ended with an error"
		if l.Subtype != "success" {
			end += ", " + brief(l.Subtype)
		}
	}
	end += fmt.Sprintf(": turns %d, %s", read.Turns, read.Tokens)
	if read.CostUSD != nil {
		end += fmt.Sprintf(", %.4f USD", *read.CostUSD)
	}
	if read.Denied > 0 {
		end += fmt.Sprintf(", denied %d", read.Denied)
	}
	return text + markState + end + "\n"
}

// codexShown has the fields of an item that only people read.
type codexShown struct {
	ID       string `json:"id"`
	Command  string `json:"command"`
	Output   string `json:"aggregated_output"`
	ExitCode *int   `json:"exit_code"`
	Text     string `json:"text"`
	Message  string `json:"message"`
	Query    string `json:"query"`
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Changes  []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Arguments json.RawMessage `json:"arguments"`
	Items     []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// codexShower makes text of Codex's events.
type codexShower struct {
	begun string // the command that was shown when it began
	said  string // the last error that was shown: the end of the turn repeats it
}

func (c *codexShower) show(object []byte) (text string, ok bool) {
	var l codexLine
	if !decode(object, &l) {
		return "", false
	}
	switch l.Type {
	case "thread.started":
		return markState + "Codex, session " + brief(l.ThreadID) + "\n", true
	case "item.started":
		if l.Item.Type != "command_execution" {
			return "", true // it is shown when it is complete
		}
		c.begun = l.Item.ID
		return marked(markCommand, l.Item.Command), true
	case "item.completed":
		return c.item(l), true
	case "error":
		return c.wrong(l.Message), true
	case "turn.completed":
		return fmt.Sprintf("%sended well: %s\n", markState, l.Usage.tokens()), true
	case "turn.failed":
		return c.wrong(l.Error.Message) + markState + "ended with an error\n", true
	case "turn.started", "item.updated":
		return "", true
	}
	return "", false
}

func (c *codexShower) wrong(text string) string {
	if text == c.said {
		return ""
	}
	c.said = text
	return wrong(text)
}

func (c *codexShower) item(l codexLine) string {
	i := l.Item
	text := ""
	switch i.Type {
	case "agent_message":
		return strings.TrimSpace(i.Text) + "\n"
	case "reasoning":
		return markThought + brief(i.Text) + "\n"
	case "error":
		return wrong(i.Message)
	case "command_execution":
		if i.ID != c.begun || i.ID == "" { // its beginning was cut off, or another began meanwhile
			text = marked(markCommand, i.Command)
		}
		text += excerpt(i.Output)
	case "file_change":
		for _, change := range i.Changes {
			text += marked(markTool, change.Kind+" "+change.Path)
		}
	case "mcp_tool_call":
		text = marked(markTool, i.Server+"."+i.Tool+" "+brief(string(i.Arguments)))
	case "web_search":
		text = marked(markTool, "search "+i.Query)
	case "todo_list":
		text = markTool + "plan\n"
		for _, step := range i.Items {
			box := "[ ] "
			if step.Completed {
				box = "[x] "
			}
			text += setIn + box + brief(step.Text) + "\n"
		}
	default:
		text = marked(markTool, strings.TrimSpace(i.Type+" "+i.Tool))
	}
	switch {
	case i.ExitCode != nil && *i.ExitCode != 0:
		text += fmt.Sprintf("%s%sexit status %d\n", setIn, markWrong, *i.ExitCode)
	case i.Status == "failed" || i.Status == "declined":
		text += setIn + markWrong + i.Status + "\n"
	}
	return text
}

// showGptme makes text of gptme's messages. Its tool calls are part of what the model
// says.
func showGptme(object []byte) (text string, ok bool) {
	var l gptmeLine
	if !decode(object, &l) {
		return "", false
	}
	switch {
	case l.Role == "assistant":
		return strings.TrimSpace(l.Content) + "\n", true
	case l.Role == "system" && (l.Metadata.Tool != "" || l.CallID != ""):
		if strings.HasPrefix(l.Content, "Error") {
			return setIn + markWrong + strings.TrimSpace(excerpt(l.Content)) + "\n", true
		}
		return excerpt(l.Content), true
	case l.Role == "user" || l.Role == "system": // the prompt
		return markState + l.Role + ": " + brief(l.Content) + "\n", true
	}
	return "", false
}
