package transcript

import (
	"strconv"
	"strings"

	"stint/internal/fleet"
)

// Fault is an error that stopped an agent and is not its own: its service's, its login's,
// or that of what it was asked.
type Fault struct {
	Kind fleet.FaultKind
	Text string // what the agent said of it
}

// byStatus classifies a fault by its HTTP status alone.
func byStatus(status int) fleet.FaultKind {
	switch {
	case status == 401:
		return fleet.FaultLogin
	case status == 403:
		return fleet.FaultForbidden
	case status == 404:
		return fleet.FaultModel // the programs ask for nothing else that may be missing
	case status >= 500 && status < 600:
		return fleet.FaultServer
	}
	return ""
}

// claudeFault reads an error of Claude Code 2.1: its word, its status, its text. A text that is
// certain comes first, as one word stands for several things: a connection that was refused is
// a "server_error" too.
func claudeFault(word string, status int, text string) fleet.FaultKind {
	plain := strings.ToLower(straight(text))
	switch {
	case containsAny(plain, "prompt is too long", "exceed context limit"):
		return fleet.FaultContext
	case containsAny(plain, "violate our usage policy", "content filtering policy"):
		return fleet.FaultRefusal
	case word == "model_not_found", containsAny(plain, "issue with the selected model", "is not available with the claude pro plan"):
		return fleet.FaultModel
	case containsAny(plain, "unable to connect to api", "connection error", "request timed out"):
		return fleet.FaultConnection
	case containsAny(plain, "connection closed", "stream ended", "stream idle"):
		return fleet.FaultCut
	case byStatus(status) != "":
		return byStatus(status)
	case containsAny(plain, "api error: 403"):
		return fleet.FaultForbidden
	case word == "authentication_failed", containsAny(plain, "failed to authenticate", "please run /login", "invalid api key", "not logged in"):
		return fleet.FaultLogin
	case word == "server_error", word == "overloaded", byStatus(statusAfter(plain, "api error: ")) == fleet.FaultServer:
		return fleet.FaultServer
	}
	return ""
}

// statusAfter is the status of HTTP, three digits, that follows one of these marks in a
// text; 0 without one.
func statusAfter(text string, marks ...string) int {
	for _, mark := range marks {
		for rest, found := text, true; found; {
			_, rest, found = strings.Cut(rest, mark)
			if digits := len(rest) - len(strings.TrimLeft(rest, "0123456789")); digits == 3 {
				n, _ := strconv.Atoi(rest[:digits]) // it is three digits
				return n
			}
		}
	}
	return 0
}

// codexFault reads the sentences of codex-rs/protocol/src/error.rs of 0.169. A service's
// page of HTML may stand in them, so that the status comes before the words.
func codexFault(text string) fleet.FaultKind {
	plain := strings.ToLower(straight(text))
	// "unexpected status 401 Unauthorized", "exceeded retry limit, last status: 503".
	if kind := byStatus(statusAfter(plain, "status ", "status: ")); kind != "" {
		return kind
	}
	switch {
	case containsAny(plain, "ran out of room", "context window"):
		return fleet.FaultContext
	case containsAny(plain, "content policy", "invalid prompt", "has been flagged", "flagged for", "inference hook blocked", "reason: content_filter"):
		return fleet.FaultRefusal
	case containsAny(plain, "does not exist or you do not have access", "is not supported when using codex", "model_not_found"):
		return fleet.FaultModel
	case containsAny(plain, "sign in again", "log in again", "not logged in", "codex login", "refresh token"):
		return fleet.FaultLogin
	case containsAny(plain, "stream disconnected", "stream closed", "incomplete response"):
		return fleet.FaultCut
	case containsAny(plain, "connection failed", "error sending request"):
		return fleet.FaultConnection
	case containsAny(plain, "is at capacity", "high demand", "high load", "overloaded", "internal server error"):
		return fleet.FaultServer
	}
	return ""
}

// gptmeError reads a line of standard error: gptme reports nothing of its own.
func (s *session) gptmeError(line []byte) {
	text := string(line)
	// The exceptions of its services' libraries say "Error code: 503".
	switch status := statusAfter(text, "Error code: "); {
	case status == 0 && containsAny(text, "APIConnectionError", "APITimeoutError"):
		s.blame(fleet.FaultConnection, text)
	case status == 400 && containsAny(text, "context_length_exceeded", "prompt is too long"):
		s.blame(fleet.FaultContext, text)
	default:
		s.blame(byStatus(status), text)
	}
}

// Advice names a fault and its remedy, in words that do not name the agent.
type Advice struct {
	What    string // happened
	Do      string // to end it; empty: it ends by itself, or by the command
	Command string // to type; empty: there is no one command
}

// Sentence is all of it, as in "login expired; run: claude /login".
func (a Advice) Sentence() string {
	switch {
	case a.Command != "":
		return a.What + "; run: " + a.Command
	case a.Do != "":
		return a.What + "; " + a.Do
	}
	return a.What
}

// Advise says what a fault of an agent is called and how a person fixes it. The agent's words
// distinguish an expired login from a key that was never good.
func Advise(format Format, kind fleet.FaultKind, said string) Advice {
	its := wordsOf(format)
	reach := "check " + its.address + ", HTTPS_PROXY and NO_PROXY"
	switch kind {
	case fleet.FaultLogin:
		return adviseLogin(its, strings.ToLower(said))
	case fleet.FaultForbidden:
		a := Advice{What: "access denied", Do: "give its account access, or log in with another"}
		if its.login != "" {
			a.Do += ": " + its.login
		}
		return a
	case fleet.FaultModel:
		return Advice{What: "no such model", Do: its.model}
	case fleet.FaultConnection:
		return Advice{What: "service not reached", Do: reach}
	case fleet.FaultSilent:
		return Advice{What: "no answer from its service", Do: reach}
	case fleet.FaultServer:
		return Advice{What: "its service failed"}
	case fleet.FaultCut:
		return Advice{What: "its service broke off"}
	case fleet.FaultContext:
		return Advice{What: "the prompt is longer than the model's context", Do: "shorten the task, or split it"}
	case fleet.FaultRefusal:
		return Advice{What: "its service refused the request", Do: "reword the task"}
	case fleet.FaultAgent:
		return Advice{What: "it failed again and again"}
	}
	return Advice{}
}

func adviseLogin(its words, said string) Advice {
	a := Advice{What: "login refused", Command: its.login}
	switch {
	case containsAny(said, "not logged in"):
		a.What = "not logged in"
	case containsAny(said, "api key", "x-api-key"):
		a.What, a.Command = "key refused", ""
	case containsAny(said, "expired"):
		a.What = "login expired"
	}
	if a.Command == "" {
		a.Do = "correct " + its.key
	}
	return a
}

// words has the names of an agent's settings.
type words struct {
	login   string // a command; empty: there is none
	key     string
	model   string // and what to do about it
	address string
}

func wordsOf(format Format) words {
	switch format {
	case Claude:
		return words{
			"claude /login", "ANTHROPIC_API_KEY",
			"name another in stint.toml, environment.ANTHROPIC_MODEL of the agent", "ANTHROPIC_BASE_URL",
		}
	case Codex:
		return words{
			"codex login", "OPENAI_API_KEY",
			`name another in stint.toml, "--model" in command of the agent, or in Codex's config.toml`,
			"OPENAI_BASE_URL or base_url in Codex's config.toml",
		}
	case Gptme, Text:
	}
	return words{
		"", "the key of its service in its environment",
		"name another in stint.toml, environment.MODEL of the agent", "OPENAI_BASE_URL",
	}
}
