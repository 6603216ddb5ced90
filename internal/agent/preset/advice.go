package preset

import (
	"cmp"
	"strings"

	"stint/internal/fleet"
)

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
func (l Login) Advise(kind fleet.FaultKind, said string) Advice {
	reach := "check " + cmp.Or(l.Address, "the address of its service") + ", HTTPS_PROXY and NO_PROXY"
	switch kind {
	case fleet.FaultLogin:
		return l.adviseLogin(strings.ToLower(said))
	case fleet.FaultForbidden:
		a := Advice{What: "access denied", Do: "give its account access, or log in with another"}
		if l.Command != "" {
			a.Do += ": " + l.Command
		}
		return a
	case fleet.FaultModel:
		return Advice{What: "no such model", Do: cmp.Or(l.Model, "name another")}
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

func (l Login) adviseLogin(said string) Advice {
	a := Advice{What: "login refused", Command: l.Command}
	switch {
	case strings.Contains(said, "not logged in"):
		a.What = "not logged in"
	case strings.Contains(said, "api key"), strings.Contains(said, "x-api-key"):
		a.What, a.Command = "key refused", ""
	case strings.Contains(said, "expired"):
		a.What = "login expired"
	}
	if a.Command == "" {
		a.Do = "correct " + cmp.Or(l.Key, "the key of its service in its environment")
	}
	return a
}
