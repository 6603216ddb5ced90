package session

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

const (
	// maxMessage bounds a message of a peer, in bytes: the largest honest one has an image in it. A longer one ends the session.
	maxMessage = 16 << 20
	// maxKept bounds each text that is kept between messages, and maxCalls the number of tool calls.
	maxKept, maxCalls = 16 << 10, 1000
	// maxUnread bounds the replies that a peer has not read. One that asks more without reading an answer is broken.
	maxUnread = 100
	// beginTime bounds the time until a peer has begun a session: some unpack or fetch themselves first.
	beginTime = 5 * time.Minute
	// partTime bounds the wait for a peer's last word after session/cancel, and for its end once its input is closed.
	partTime = 2 * time.Second
)

// peer is an agent that speaks the Agent Client Protocol (agentclientprotocol.com), version 1: JSON-RPC on standard input and output,
// a message a line. stint begins one session, or resumes it, prompts once, allows each tool call once, and offers neither files nor
// terminals: the agent has them itself, in its box.
//
// The log gets what the peer says as lines of JSON, which the table of preset "acp" reads. Text that comes in pieces is one line, and
// so is each tool call when it begins and when it is over. What is no message stands in the log as it is.
//
// That of an agent that speaks no protocol is empty: it is never over.
type peer struct {
	in, out *os.File // its standard input and output
	theirs  []*os.File
	log     io.WriteCloser
	queue   chan []byte // to be written to it
	over    chan struct{}
	done    chan struct{} // closed when nothing of it is read any more
	ended   atomic.Bool
	why     string // it broke off, once it is over; empty: it answered the prompt

	session atomic.Pointer[string]

	methods []string // that stint calls, in their order
	asked   int      // the one that it has to answer, from 1
	status  int      // that its process is to have, where it broke nothing off
	kind    string
	text    []byte // of that kind, to be logged
	last    string // what it said last
	calls   map[string]*toolCall
}

// toolCall is what a peer has said of a tool call so far.
type toolCall struct {
	News    string          `json:"sessionUpdate"`
	ID      string          `json:"toolCallId"`
	Title   string          `json:"title,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Status  string          `json:"status,omitempty"`
	Input   json.RawMessage `json:"rawInput,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
	Output  json.RawMessage `json:"rawOutput,omitempty"`
	begun   bool
	ended   bool
}

type object = map[string]any

// newPeer gives a process that is to be started its ends of the pipes.
func newPeer(cmd *exec.Cmd, out *output, mode fleet.PromptMode) (p *peer, err error) {
	if mode != fleet.PromptACP {
		return &peer{}, nil
	}
	log, err := unix.FcntlInt(out.write.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	p = &peer{log: os.NewFile(uintptr(log), "log"), over: make(chan struct{}), done: make(chan struct{}), calls: map[string]*toolCall{}}
	p.queue, p.methods = make(chan []byte, maxUnread), []string{"initialize", "session/new", "session/prompt"}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	read, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out, p.theirs = in, read, []*os.File{stdin, stdout}
	cmd.Stdin, cmd.Stdout = stdin, stdout
	return p, nil
}

// follow begins the talk, once the process was started, or is not going to be.
func (p *peer) follow(s fleet.SessionSpec) {
	if p.out == nil {
		return
	}
	for _, f := range p.theirs {
		f.Close()
	}
	go func() {
		for message := range p.queue {
			_, _ = p.in.Write(message) // one that does not read has closed it, or is found out otherwise
		}
	}()
	go p.talk(s)
}

// talk reads what the peer says until the end of its output.
func (p *peer) talk(s fleet.SessionSpec) {
	defer close(p.done)
	defer p.log.Close()
	defer close(p.queue)
	limit := min(beginTime, s.Timeout/2) //nolint:mnd // less than the whole, so that the reason is told
	begin := time.AfterFunc(limit, func() { p.end(fmt.Sprintf("it did not begin a session within %v", limit)) })
	defer begin.Stop()
	p.ask(object{
		"protocolVersion": 1, "clientInfo": object{"name": "stint", "version": "1"},
		"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false},
	})
	lines := bufio.NewScanner(p.out)
	lines.Buffer(nil, maxMessage)
	for !p.ended.Load() && lines.Scan() {
		if p.take(lines.Bytes(), s); p.asked == len(p.methods) {
			begin.Stop()
		}
	}
	p.flush()
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.end(fmt.Sprintf("it sent a message of more than %d MiB", maxMessage>>20))
	}
	p.end(hungUp + p.methods[p.asked-1])
	_, _ = io.Copy(io.Discard, p.out)
}

const hungUp = "it closed its output before it answered "

// end ends the talk, and says why if the peer has not answered the prompt. The first reason stands.
func (p *peer) end(why string) {
	if !p.ended.Swap(true) {
		p.why = why
		close(p.over)
	}
}

// ask calls the next method.
func (p *peer) ask(params object) {
	p.asked++
	p.send(object{"id": p.asked, "method": p.methods[p.asked-1], "params": params})
}

func (p *peer) send(message object) {
	message["jsonrpc"] = "2.0"
	select {
	case p.queue <- line(message):
	default:
		p.end(fmt.Sprintf("it asks, and has not read %d answers", maxUnread))
	}
}

// line is a value as a line of JSON.
func line(value any) []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // it is made of what can be
	return text.Bytes()
}

// note writes a line of the log, by whose beginning it is found behind a line of standard error that has no end.
func (p *peer) note(value any) {
	p.flush()
	_, _ = p.log.Write(append([]byte(`{"type":"acp",`), line(value)[1:]...))
}

// flush writes the text that has come in pieces.
func (p *peer) flush() {
	if kind, text := p.kind, p.text; kind != "" {
		p.kind, p.text = "", p.text[:0]
		p.note(object{"sessionUpdate": kind, "content": object{"type": "text", "text": string(text)}})
	}
}

// take takes a line of the peer's output.
func (p *peer) take(text []byte, s fleet.SessionSpec) {
	var m struct {
		Method                    string
		ID, Params, Result, Error json.RawMessage
	}
	switch err := json.Unmarshal(text, &m); {
	case err != nil:
		p.flush()
		_, _ = p.log.Write(append(bytes.Clone(text), '\n'))
	case m.Method == "session/update":
		p.update(m.Params)
	case m.Method != "" && len(m.ID) > 0 && len(m.ID) < maxKept:
		p.answer(m.ID, m.Method, m.Params)
	case m.Method != "" || string(m.ID) != fmt.Sprint(p.asked): // news of its own, or an answer to what nobody asked
	case len(m.Error) > 0 && string(m.Error) != "null":
		p.refused(m.Error, s)
	default:
		p.answered(m.Result, s)
	}
}

// answered goes on after the answer to what was asked last.
func (p *peer) answered(result json.RawMessage, s fleet.SessionSpec) {
	var r struct {
		Version int             `json:"protocolVersion"`
		Agent   json.RawMessage `json:"agentInfo"`
		Session string          `json:"sessionId"`
		Offers  struct {
			Session struct{ Resume object } `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	_ = json.Unmarshal(result, &r) // what is not there, or is another thing, stays empty
	session := cmp.Or(s.Resumes, r.Session)
	switch {
	case p.asked == 1 && r.Version != 1:
		p.end("it does not speak version 1 of the protocol")
	case p.asked == 1:
		p.note(object{"agent": r.Agent})
		switch begin := (object{"cwd": s.Dir, "mcpServers": []any{}}); {
		case s.Resumes == "":
			p.ask(begin)
		case r.Offers.Session.Resume == nil:
			p.refused(line(object{"message": "it does not resume sessions"}), s)
		default: // session/load would repeat the conversation, in one of them after its answer
			p.methods[1], begin["sessionId"] = "session/resume", s.Resumes
			p.ask(begin)
		}
	case p.asked == len(p.methods):
		p.flush()
		p.note(object{"result": result, "last": p.last, "calls": len(p.calls)})
		p.end("")
	case session == "" || len(session) > maxKept:
		p.end("it gave its session no id")
	default:
		p.note(object{"session": session})
		p.session.Store(&session)
		p.ask(object{"sessionId": session, "prompt": []any{object{"type": "text", "text": s.Prompt}}})
	}
}

// refused ends the talk with an error. A peer that cannot go on with a conversation fails as a program does that has no protocol.
func (p *peer) refused(why json.RawMessage, s fleet.SessionSpec) {
	p.note(object{"error": why, "to": p.methods[p.asked-1]})
	if s.Resumes != "" && p.asked < len(p.methods) {
		p.status = 1
	}
	p.end("")
}

// update takes news of the session.
func (p *peer) update(params json.RawMessage) {
	var news struct{ Update json.RawMessage }
	var u struct {
		Kind    string          `json:"sessionUpdate"`
		Content json.RawMessage `json:"content"`
		Meta    struct {
			Usage json.RawMessage
		} `json:"_meta"`
	}
	var said struct{ Text string }
	_, _ = json.Unmarshal(params, &news), json.Unmarshal(news.Update, &u)
	switch u.Kind {
	case "", "available_commands_update", "config_option_update": // hundreds of kilobytes that are nobody's work
	case "tool_call", "tool_call_update":
		p.call(news.Update, false)
	case "agent_message_chunk", "agent_thought_chunk":
		_ = json.Unmarshal(u.Content, &said) // an image has no text
		if u.Kind == "agent_message_chunk" && said.Text != "" {
			p.last = fleet.Clipped(said.Text, maxKept)
		}
		if said.Text != "" {
			if p.kind != u.Kind || len(p.text) > maxKept {
				p.flush()
			}
			p.kind, p.text = u.Kind, append(p.text, said.Text...)
		}
		if len(u.Meta.Usage) > 0 {
			p.note(object{"sessionUpdate": "usage", "usage": u.Meta.Usage})
		}
	default:
		p.note(news.Update)
	}
}

// call takes what is said of a tool call. Some peers tell its input when they ask for it, some later, some never.
func (p *peer) call(said json.RawMessage, asks bool) {
	var known toolCall
	if json.Unmarshal(said, &known) != nil || len(known.ID) > maxKept {
		return
	}
	c := p.calls[known.ID]
	if c == nil {
		if len(p.calls) == maxCalls {
			clear(p.calls)
		}
		c = &toolCall{}
		p.calls[known.ID] = c
	}
	_ = json.Unmarshal(said, c) // over what is known
	ended := c.Status == "completed" || c.Status == "failed"
	if !c.begun && (ended || c.Status == "in_progress" || asks && len(c.Input) > len("null") || len(said) > maxKept) {
		c.begun = true
		p.note(toolCall{News: "tool_call", ID: c.ID, Title: c.Title, Kind: c.Kind, Input: c.Input})
	}
	if ended && !c.ended {
		c.ended = true
		p.note(toolCall{News: "tool_call_update", ID: c.ID, Status: c.Status, Content: c.Content, Output: c.Output})
	}
	if c.Content, c.Output = nil, nil; c.begun { // its log has the rest
		c.Title, c.Kind, c.Input = "", "", nil
	}
}

// answer answers what the peer asks. A permission is given once: one that is given for ever would stand in the program's settings,
// for the person as well. Beyond that nobody is there to be asked, and what the agent may do is for its box to say.
func (p *peer) answer(id json.RawMessage, method string, params json.RawMessage) {
	if method != "session/request_permission" {
		p.send(object{"id": id, "error": object{"code": -32601, "message": "stint offers no such method"}})
		return
	}
	var r struct {
		ToolCall json.RawMessage
		Options  []struct{ OptionID, Kind string }
	}
	_ = json.Unmarshal(params, &r)
	p.call(r.ToolCall, true)
	outcome := object{"outcome": "cancelled"}
	for _, kind := range []string{"allow_once", "reject_once"} {
		for _, o := range r.Options {
			if o.Kind == kind && len(outcome) == 1 {
				outcome = object{"outcome": "selected", "optionId": o.OptionID}
			}
		}
	}
	p.send(object{"id": id, "result": object{"outcome": outcome}})
}

// cancel has the peer leave off, and waits a moment for its last word.
func (p *peer) cancel(most time.Duration) {
	session := p.session.Load()
	if session == nil {
		return
	}
	cancel := line(object{"jsonrpc": "2.0", "method": "session/cancel", "params": object{"sessionId": session}})
	go func() { _, _ = p.in.Write(cancel) }() // in a full pipe until that is closed
	select {
	case <-p.over:
	case <-time.After(most):
	}
}

// finish closes the peer's input and, once its process tree is gone, reads what is left of its output.
func (p *peer) finish(gone bool) {
	p.in.Close()
	if gone && p.out != nil {
		enough := time.AfterFunc(drainTime, func() { _ = p.out.SetReadDeadline(time.Unix(1, 0)) })
		defer enough.Stop()
		<-p.done
		<-p.over
		p.out.Close()
	}
}

// exit is the end of the peer, from that of its process. Whoever answered the prompt has ended well, however stint had to end it. The
// process says why only if it failed by itself.
func (p *peer) exit(e fleet.SessionExit, asked bool) fleet.SessionExit {
	failed := !asked && (e.End != fleet.Exited || e.Status != 0)
	switch {
	case p.out == nil, failed && strings.HasPrefix(p.why, hungUp):
	case p.why == "":
		e.End, e.Status, e.Detail = fleet.Exited, p.status, ""
	default:
		e.End, e.Status, e.Detail = fleet.Killed, 0, p.why
	}
	return e
}
