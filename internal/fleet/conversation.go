package fleet

import (
	"fmt"
	"strings"
)

// Conversation is what its agent's program knows a session as, and can go on with in another.
type Conversation struct {
	ID      string `json:"id,omitempty"`      // empty: the program has not said it
	Resumes RunID  `json:"resumes,omitempty"` // the run with whose conversation it goes on; empty: it is a new one
	Why     string `json:"why,omitempty"`     // why that, or why a new one; empty: there was none to go on with
}

// ValidConversationID reports whether a text can be the id of a conversation: an agent's output has it, which a session can forge. As
// one argument of a command it is no option, and in a path it is one name.
func ValidConversationID(text string) bool {
	const first = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return text != "" && len(text) <= 100 && strings.Contains(first, text[:1]) && strings.Trim(text, first+".-") == ""
}

// Cut says what kept a session from its end, as a sentence goes on after "it"; empty: it came to one, or a new conversation is
// better, as after one that was too long or was refused.
func (r Run) Cut() string {
	switch v := r.Verdict; {
	case v.Fault == FaultContext || v.Fault == FaultRefusal:
	case v.Outcome == Quota || !r.QuotaUntil.IsZero():
		return "met a usage limit"
	case v.Outcome == Unavailable:
		return "had no answer from its service or login"
	case v.Outcome == Timeout:
		return "ran out of time"
	case v.Outcome == Cancelled:
		return "was stopped"
	case v.Outcome == Abandoned:
		return "crashed"
	case v.Outcome == Lost:
		return "lost its claim"
	case v.Outcome == Failed && v.ExitStatus == nil && !v.Internal:
		return "was killed"
	}
	return ""
}

// Resumption has what is known of the last session at a task when another is about to begin.
type Resumption struct {
	Able     bool           // the agent's program can go on with a conversation
	Agent    string         // of the new session
	Category Category       // likewise
	Host     string         // likewise: the identity of its machine
	Own      bool           // it works in a clone of its own
	Chain    []Run          // the last session, then that whose conversation it went on with, and so on; empty: there was none
	Left     bool           // the last one left uncommitted changes
	Lives    bool           // a process of it may be alive
	Decided  ReviewDecision // of the work on its branch
	Goes     RunID          // the run whose work the session is to answer for; empty: none
}

// maxAlike is how many sessions in a row go on with a conversation in vain.
const maxAlike = 2

// Decide says with which run's conversation a session goes on, and why, or why not. Without a reason there was nothing to go
// on with.
//
// One process at a time has a conversation: only a session at the same task goes on with it, on the same machine, under the
// claim of the task, once no process of the last one is alive.
func (s Resumption) Decide() (resumes RunID, why string) {
	if len(s.Chain) == 0 || s.Chain[0].Conversation.ID == "" {
		return "", ""
	}
	last := s.Chain[0]
	cut, name := last.Cut(), "run "+string(last.ID)
	if cut == "" && s.Left {
		cut = "left uncommitted changes"
	}
	alike := 0
	for _, r := range s.Chain {
		if r.Conversation.Resumes == "" || r.Verdict.Outcome != last.Verdict.Outcome || len(r.Commits) > 0 {
			break
		}
		alike++
	}
	waits := last.Verdict.Outcome == Quota || last.Verdict.Outcome == Unavailable // which says nothing of the conversation
	switch {
	case cut == "":
		return "", ""
	case last.Agent != s.Agent:
		why = "was of agent " + last.Agent
	case last.Category != s.Category: // whose instructions the conversation does not know
		why = "was of category " + string(last.Category)
	case last.Host != s.Host:
		why = "was on another host"
	case !s.Able:
		return "", ""
	case s.Lives:
		why = "may still be at work"
	case (last.Branch != "") != s.Own || s.Goes != "" && s.Goes != last.Home():
		why = "worked in another folder"
	case s.Decided.Final():
		why = "did work that is " + string(s.Decided)
	case alike >= maxAlike && !waits:
		why = fmt.Sprintf("%s, as %d sessions did that went on with its conversation", cut, alike)
	default:
		return last.ID, name + " " + cut
	}
	return "", name + " " + why
}
