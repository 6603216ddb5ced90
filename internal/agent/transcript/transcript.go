// Package transcript reads what an agent printed and sums it up: tokens and cost, the
// agent's own verdict, its tool calls, and whether a usage limit or a fault of its service
// stopped the session. It reads by the table of the agent's program (package preset) and has
// no code for any of them. It is pure: bytes in, a summary out.
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
	"cmp"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Summary has the figures of an output. A figure that it lacks is zero or nil: agents are not
// compared by a figure that only some of them give.
type Summary struct {
	Tokens     Tokens
	Models     Models // the tokens by model; nil: it names none
	Windows    []fleet.Window
	CostUSD    *float64 // nil: it is not said
	Success    *bool    // the agent's own flag; nil: it is not said, as when it was killed
	Turns      int      // of the model (claude, gptme), of the prompt (codex)
	ToolCalls  int
	ToolErrors int // of the tool calls, those that failed or were refused
	Denied     int // of the tool errors, those for lack of permission, where the agent reports them
	Retries    int // of requests to the model
	SessionID  string
	Thread     bool   // tokens and cost may be of all sessions of its conversation: they are, if they are so many
	Alone      int64  // where they are, at least so many tokens are its own
	Quota      *Quota // the limit that stopped it; nil: none did
	Fault      *Fault // what else stopped it that is not its own; nil: nothing did
	Answered   bool   // its model answered at least once
	Err        string // what went wrong, in the agent's words; empty when it succeeded
	Events     int    // lines of the format; none in a long output: it is another format
}

// QuotaKind says how long a limit lasts, roughly.
type QuotaKind string

const (
	// Exhausted is an allowance that is used up: nothing works until it comes back,
	// in hours or days.
	Exhausted QuotaKind = "exhausted"
	// Throttled is a service that wants a pause of seconds to minutes.
	Throttled QuotaKind = "throttled"
)

// Quota is a limit that an agent ran into.
type Quota struct {
	Kind       QuotaKind
	ResetAt    time.Time     // when it is over, if that was said
	RetryAfter time.Duration // how long it lasts, if only that was said
	Text       string        // what the agent said of it
}

// maxWait is past the longest allowance, which is a month's. A later time is a
// misreading or a lie, and would put the agent out of work for ever.
const maxWait = 35 * 24 * time.Hour

// Fault is an error that stopped an agent and is not its own: its service's, its login's,
// or that of what it was asked.
type Fault struct {
	Kind fleet.FaultKind
	Text string // what the agent said of it
}

const (
	// maxLine bounds the part of a line that is kept, in bytes. A longer one is a tool's output or an image, and no
	// field of it is worth the memory.
	maxLine = 4 << 20
	// maxMatched bounds the part of a line that patterns are tried on, in bytes: an error message is short,
	// and a line of output may be megabytes.
	maxMatched = 4 << 10
	// maxText bounds a message for people, in characters.
	maxText = 300
	// maxCount is past every number of tokens there is, and far from overflow.
	maxCount = 1e12
)

// Read reads an output to its end. Now is when the session ended: a time of day is taken for the next one after it, in its
// location, which must be the agent's, as codex writes local time and names no zone. The error is of reading alone; the
// summary then holds what was read until it.
func Read(c preset.CLI, r io.Reader, now time.Time) (Summary, error) {
	return readAll(newSession(c, c.Output, now), r)
}

func readAll(s *session, r io.Reader) (Summary, error) {
	all := lines{each: func(piece []byte, first, last bool) {
		object := objectIn(piece)
		if first && object == nil {
			s.foreign(piece)
		}
		if !first || !last || object == nil {
			return
		}
		if _, known := s.event(object); known {
			s.Events++
		}
	}}
	printed, err := io.Copy(&all, r)
	all.end()
	return s.end(printed > 0), err
}

// session is a summary while it is made.
type session struct {
	Summary
	rules   []preset.Rule
	faults  []preset.Fault            // in any line that is none of the format's
	errors  []preset.Fault            // in what the program reports as an error, after these
	cuts    map[string]*regexp.Regexp // of the rules, by their text
	now     time.Time
	counted map[string]Tokens // of each message of the model, by its id
	before  *billed           // by earlier sessions of the conversation; nil: not known
	model   string            // that is asked now
	delay   time.Duration     // that its service asked for last

	begun   string // the id of the command that was shown when it began
	repeats string // what was shown last of what was said or went wrong: the end repeats it
}

func newSession(c preset.CLI, rules []preset.Rule, now time.Time) *session {
	s := &session{rules: rules, cuts: map[string]*regexp.Regexp{}, now: now}
	s.faults, _ = preset.ParseFaults(c.Faults) // they were read with the table
	s.errors, _ = preset.ParseFaults(preset.AndAny(c.Errors))
	return s
}

// event takes a line, and returns what people see of it. It is not known if no rule is about it.
func (s *session) event(line []byte) (shown string, known bool) {
	var all item
	if json.Unmarshal(line, &all.line) != nil {
		return "", false
	}
	type piece struct {
		at   int
		text string
	}
	var pieces []piece
	for _, r := range s.rules {
		for at, i := range all.items(r.Each) {
			if i.holds(r.On) {
				known = true
				pieces = append(pieces, piece{at, s.take(r, i)})
			}
		}
	}
	// The rules go through a list one after the other, and people read it in its own order.
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
	for _, p := range pieces {
		shown += p.text
	}
	return shown, known
}

// take takes what a rule says of an item.
func (s *session) take(r preset.Rule, i item) (shown string) {
	is := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(strings.Fields(r.Is), word) })
	}
	if id, ok := i.at(r.Session).(string); ok && fleet.ValidConversationID(id) {
		s.SessionID = id
	}
	if model, ok := i.at(r.Model).(string); ok {
		s.model = model
	}
	text := s.said(r, i)
	if is("answer") { // earlier faults were overcome
		s.Answered, s.Fault = true, nil
	}
	switch {
	case is("total"):
		if is("turn") {
			s.Turns++
		}
		s.total(r, i, is("thread"))
	case is("turn"):
		s.turn(textOf(i.at(r.ID)), i.tokens(r.Tokens))
		s.addCost(i.at(r.Cost), false)
	}
	if is("call", "command") {
		s.ToolCalls++
	}
	if is("result") && i.holds(r.Failed) {
		s.ToolErrors++
	}
	if is("result") && i.holds(r.Denied) {
		s.Denied++
	}
	if is("retry") {
		s.Retries++
	}
	wait := milliseconds(i.at(r.WaitMS))
	switch {
	case is("error"):
		s.Err = cmp.Or(text, s.Err) // the last word may be without any
		s.blame(text, textOf(i.at(r.Word)), textOf(i.at(r.Status)), r.Kind, wait)
	case is("fault"):
		s.blame(text, textOf(i.at(r.Word)), textOf(i.at(r.Status)), r.Kind, wait)
	case is("window"):
		s.window(r, i)
	case is("limit"):
		s.limit(Quota{Kind: quotaKind(r.Kind), ResetAt: parseTime(textOf(i.at(r.Reset)), s.now), RetryAfter: wait, Text: text})
	}
	if is("end") {
		s.Success = new(!is("error"))
	}
	return s.show(r, i, text, is)
}

// turn counts an answer. One message may come in several lines, one for each of its blocks, between which what its tools gave
// back may stand. The later ones know better what it used.
func (s *session) turn(id string, used Tokens) {
	before, known := s.counted[id]
	if id == "" || !known {
		s.Turns++
	}
	more := used.beyond(before)
	s.Tokens.add(more)
	s.Models.Add(s.model, more)
	if id != "" {
		if s.counted == nil {
			s.counted = map[string]Tokens{}
		}
		more.add(before)
		s.counted[id] = more
	}
}

// total takes what a program says of the whole session. What it has more of than before is billed to the model that is asked
// now, if it ever named one.
func (s *session) total(r preset.Rule, i item, thread bool) {
	if r.Turns != "" {
		s.Turns = int(i.number(r.Turns))
	}
	if r.Refused != "" {
		s.Denied = int(i.number(r.Refused))
	}
	s.addCost(i.at(r.Cost), true)
	if thread && !s.Thread {
		s.Thread, s.Alone = true, s.Tokens.Total()
	}
	if whole := i.billed(r.Models, r); whole.Models != nil {
		if _, told := i.at(r.Since).(map[string]any); told && s.before == nil {
			s.before = new(whole.beyond(i.billed(r.Since, r)))
		}
		if s.before != nil {
			s.Thread, whole = false, whole.beyond(*s.before)
		}
		if s.Models, s.Tokens = whole.Models, whole.Total(); strings.HasPrefix(r.Cost, ".") {
			s.CostUSD = &whole.usd
		}
		return
	}
	sum := i.tokens(r.Tokens)
	if sum.Total() <= s.Tokens.Total() {
		return
	}
	if s.model != "" || len(s.Models) > 0 {
		s.Models.Add(s.model, sum.beyond(s.Tokens))
	}
	s.Tokens = sum
}

func (s *session) addCost(value any, whole bool) {
	usd, ok := value.(float64)
	if !ok || usd < 0 || usd >= maxCount {
		return
	}
	if s.CostUSD != nil && !whole {
		usd += *s.CostUSD
	}
	s.CostUSD = &usd
}

// foreign looks at a line that is none of the format's: standard error, mostly.
func (s *session) foreign(line []byte) {
	line = bytes.TrimRight(line[:min(len(line), maxMatched)], "\r\n")
	if slices.ContainsFunc(s.faults, func(f preset.Fault) bool { return f.Match(line) }) { // a copy of each would be too many
		s.match(s.faults, string(line), string(line), 0)
	}
	if bytes.HasPrefix(line, []byte("error: ")) {
		s.Err = cmp.Or(s.Err, string(line))
	}
}

// blame takes note of an error: its text, its word, its HTTP status. Only the text is always there. Kind is what it is where no
// pattern says so.
func (s *session) blame(text, word, status, kind string, wait time.Duration) {
	subject := strings.TrimSpace(strings.ReplaceAll(text[:min(len(text), maxMatched)], "’", "'"))
	if word != "" {
		subject += "\n" + word
	}
	if status != "" {
		subject += "\nHTTP " + status
	}
	if !s.match(slices.Concat(s.faults, s.errors), subject, text, wait) && kind != "" {
		s.stopped(Fault{fleet.FaultKind(kind), text})
	}
}

// match takes note of what the first pattern that matches says of an error.
func (s *session) match(faults []preset.Fault, subject, text string, wait time.Duration) bool {
	for _, f := range faults {
		groups := f.FindStringSubmatch(subject)
		if groups == nil {
			continue
		}
		switch f.Kind {
		case preset.NoFault:
		case preset.Quota, preset.Throttled:
			s.limit(quotaOf(f, groups, text, wait, s.now))
		case preset.Status:
			status, _ := strconv.Atoi(groups[min(1, len(groups)-1)])
			kind := preset.ByStatus(status)
			if kind == "" {
				continue
			}
			s.stopped(Fault{kind, text})
		default:
			s.stopped(Fault{fleet.FaultKind(f.Kind), text})
		}
		return true
	}
	return false
}

func quotaOf(f preset.Fault, groups []string, text string, wait time.Duration, now time.Time) Quota {
	q := Quota{Kind: quotaKind(f.Kind), RetryAfter: wait, Text: text}
	for i, name := range f.SubexpNames() {
		switch {
		case groups[i] == "":
		case name == "reset":
			q.ResetAt = parseTime(groups[i], now)
		case name == "after":
			q.RetryAfter = parseWait(groups[i])
		}
	}
	return q
}

func quotaKind(word string) QuotaKind {
	if word == preset.Throttled {
		return Throttled
	}
	return Exhausted
}

// window takes what was used of a window of the program's plan. Its last word on each counts.
func (s *session) window(r preset.Rule, i item) {
	long, err := time.ParseDuration(i.filled(r.Window))
	whole, _ := strconv.ParseFloat(cmp.Or(r.Whole, "1"), 64)
	used, is := i.at(r.Used).(float64)
	w := fleet.Window{Long: long, Used: min(1, used/whole), Resets: parseTime(textOf(i.at(r.Reset)), s.now)}
	if err != nil || !is || !(w.Used >= 0) || long <= 0 || long > maxWait || w.Resets.Unix() <= 0 {
		return
	}
	s.Windows = append(slices.DeleteFunc(s.Windows, func(o fleet.Window) bool { return o.Long == long }), w)
	s.Windows = s.Windows[max(0, len(s.Windows)-maxWindows):]
}

// maxWindows is more than any plan has.
const maxWindows = 4

// stopped takes note of an error that is not the agent's own. A later one replaces an earlier
// one, and also a pause that a service asked for.
func (s *session) stopped(f Fault) {
	f.Text = brief(f.Text)
	s.Fault = &f
	if s.Quota != nil && s.Quota.Kind == Throttled {
		s.Quota = nil
	}
}

// limit takes note of a limit. That a plan is used up outweighs that it was slowed
// down, and of two times the later report knows better.
func (s *session) limit(q Quota) {
	if q.Kind == Throttled {
		q.RetryAfter = cmp.Or(q.RetryAfter, s.delay)
		s.delay = q.RetryAfter
	}
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

// end drops what a session that ended well has overcome. One in which the program spoke, or printed nothing at all,
// and neither its model nor an error ever did, was left without an answer.
func (s *session) end(printed bool) Summary {
	switch {
	case s.Success != nil && *s.Success:
		s.Quota, s.Fault, s.Err = nil, nil, ""
	case s.Success == nil && (s.Events > 0 || !printed && len(s.rules) > 0) && !s.Answered && s.Quota == nil && s.Fault == nil:
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
	for at := bytes.IndexByte(line, '{'); at >= 0; at = bytes.IndexByte(line, '{') {
		if line = line[at:]; bytes.HasPrefix(line, []byte(`{"type":"`)) || bytes.HasPrefix(line, []byte(`{"role":"`)) {
			return line
		}
		line = line[1:]
	}
	return nil
}

func milliseconds(value any) time.Duration {
	f, _ := value.(float64)
	if f <= 0 || f > float64(maxWait/time.Millisecond) {
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
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
