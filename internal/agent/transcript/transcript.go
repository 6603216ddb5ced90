// Package transcript reads what an agent printed and sums it up: tokens and cost, the
// agent's own verdict, its tool calls, and whether a usage limit or a fault of its service
// stopped the session. It is pure: bytes in, a summary out.
//
// Its input was written by a program that stint does not control, mixed with whatever else came
// on standard output and standard error, cut short by a kill or by the log's size cap. So
// nothing in it is a fault: a line that is not understood is passed over, a number that cannot
// be is none. The memory in use is bounded by the longest line that is looked at, not by the
// input.
//
// A model writes about rate limits and errors as readily as it runs into them. A limit
// or a fault is therefore taken only from what the program itself reports as an error, never from
// the text of an answer or of a tool, and it does not stand when the session ended
// well after all.
package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Format names the format of an agent's output.
type Format string

const (
	// Claude is the format of "claude -p --output-format stream-json --verbose".
	Claude Format = "claude"
	// Codex is the format of "codex exec --json".
	Codex Format = "codex"
	// Gptme is the format of "gptme --non-interactive --output-format json", and of its
	// conversation.jsonl.
	Gptme Format = "gptme"
	// Text is anything: only the patterns for limits are looked for.
	Text Format = "text"
)

// Summary has the figures of an output. A figure that it lacks is zero or nil: agents are not
// compared by a figure that only some of them give.
type Summary struct {
	Tokens     Tokens
	Models     Models   // the tokens by model; nil: it names none
	CostUSD    *float64 // nil: it is not said
	Success    *bool    // the agent's own flag; nil: it is not said, as when it was killed
	Turns      int      // of the model (claude, gptme), of the prompt (codex)
	ToolCalls  int
	ToolErrors int // of the tool calls, those that failed or were refused
	Denied     int // of the tool errors, those for lack of permission, where the agent reports them
	Retries    int // of requests to the model
	SessionID  string
	Quota      *Quota // the limit that stopped it; nil: none did
	Fault      *Fault // what else stopped it that is not its own; nil: nothing did
	Answered   bool   // its model answered at least once
	Err        string // what went wrong, in the agent's words; empty when it succeeded
	Events     int    // lines of the format; none in a long output: it is another format
}

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

// Options has what the output alone does not say.
type Options struct {
	// Now is when the session ended. A time of day is taken for the next one after
	// it, in its location, which must be the agent's: codex writes local time and
	// names no zone.
	Now    time.Time
	Limits Limits
}

const (
	// maxLine bounds the part of a line that is kept, in bytes. A longer one is a tool's output or an image, and no
	// field of it is worth the memory.
	maxLine = 4 << 20
	// maxText bounds a message for people, in characters.
	maxText = 300
	// maxCount is past every number of tokens there is, and far from overflow.
	maxCount = 1e12
)

// Read reads an output to its end. The error is of reading alone; the summary then
// holds what was read until it.
func Read(format Format, r io.Reader, o Options) (Summary, error) {
	s := &session{options: o}
	events := map[Format]func([]byte) bool{
		Claude: (&claude{session: s}).event,
		Codex:  (&codex{session: s}).event,
		Gptme:  (&gptme{session: s}).event,
		Text:   func([]byte) bool { return false },
	}
	if format == Gptme {
		s.stray = s.gptmeError
	}
	event, ok := events[format]
	if !ok {
		return Summary{}, fmt.Errorf("read transcript: unknown format %q", format)
	}
	all := lines{each: func(piece []byte, first, last bool) {
		switch object := objectIn(piece); {
		case !first:
		case last && object != nil && event(object):
			s.Events++
		case object == nil:
			s.foreign(piece)
		}
	}}
	_, err := io.Copy(&all, r)
	all.end()
	return s.end(), err
}

// session is a summary while it is made.
type session struct {
	Summary
	options Options
	stray   func(line []byte) // looks at what is none of the format's; nil: nothing does
}

// foreign looks at a line that is none of the format's: standard error, mostly.
func (s *session) foreign(line []byte) {
	line = bytes.TrimRight(line[:min(len(line), maxMatched)], "\r\n")
	if s.stray != nil {
		s.stray(line)
	}
	if s.options.Limits.concern(line) {
		s.match(string(line))
	}
}

// answer takes note that the model answered: earlier faults were overcome.
func (s *session) answer() {
	s.Answered, s.Fault = true, nil
}

// blame takes note of an error that is not the agent's own. A later one replaces an earlier
// one, and also a pause that a service asked for.
func (s *session) blame(kind fleet.FaultKind, text string) {
	if kind == "" {
		return
	}
	s.Fault = &Fault{Kind: kind, Text: brief(text)}
	if s.Quota != nil && s.Quota.Kind == Throttled {
		s.Quota = nil
	}
}

// fail takes note of an error that the program reports.
func (s *session) fail(text string) {
	s.Err = text
	s.match(text)
}

func (s *session) match(text string) {
	if quota := s.options.Limits.find(text, s.options.Now); quota != nil {
		s.limit(*quota)
	}
}

// limit takes note of a limit. That a plan is used up outweighs that it was slowed
// down, and of two times the later report knows better.
func (s *session) limit(q Quota) {
	if old := s.Quota; old != nil {
		if old.Kind == Exhausted && q.Kind == Throttled {
			return
		}
		if old.Kind == q.Kind && q.ResetAt.IsZero() && q.RetryAfter == 0 {
			q.ResetAt, q.RetryAfter = old.ResetAt, old.RetryAfter
		}
	}
	q.Text = brief(q.Text)
	s.Quota, s.Fault = &q, nil
}

func (s *session) succeed(success bool) {
	s.Success = &success
}

// end drops what a session that ended well has overcome. One in which the program spoke,
// and neither its model nor an error ever did, was left without an answer.
func (s *session) end() Summary {
	switch {
	case s.Success != nil && *s.Success:
		s.Quota, s.Fault, s.Err = nil, nil, ""
	case s.Success == nil && s.Events > 0 && !s.Answered && s.Quota == nil && s.Fault == nil:
		s.Fault = &Fault{Kind: fleet.FaultSilent}
	}
	s.Err = brief(s.Err)
	return s.Summary
}

// objectIn is the JSON object that a line is, or that starts within it where standard
// error lacked the end of its line; else nil.
func objectIn(line []byte) []byte {
	line = bytes.TrimSpace(line)
	if bytes.HasPrefix(line, []byte("{")) {
		return line
	}
	if at := bytes.Index(line, []byte(`{"type":"`)); at >= 0 {
		return line[at:]
	}
	return nil
}

// decode reads what it can: a field of an unexpected type stays zero.
func decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}

// count is a number of tokens. One that cannot be is none.
type count int64

func (c *count) UnmarshalJSON(text []byte) error {
	var f float64
	if json.Unmarshal(text, &f) == nil && f > 0 && f <= maxCount {
		*c = count(f)
	}
	return nil
}

// brief is the beginning of a message, on one line and safe to print:
// it is shown to people on their terminals.
func brief(text string) string {
	cut := false
	if len(text) > 4*maxText {
		text, cut = text[:4*maxText], true
	}
	text = strings.Join(strings.Fields(plain.Text(text)), " ")
	if len(text) > maxText {
		text, cut = strings.ToValidUTF8(text[:maxText], ""), true
	}
	if cut {
		text += "…"
	}
	return text
}
