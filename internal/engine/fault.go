package engine

import (
	"fmt"

	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/transcript"
)

// faultOf is a fault with what a person needs to know of it: what happened, what fixes it,
// and the agent's own words.
func faultOf(format transcript.Format, f transcript.Fault) *grade.Fault {
	text := transcript.Advise(format, f.Kind, f.Text).Sentence()
	if f.Text != "" {
		text += fmt.Sprintf(" (it said: %s)", f.Text)
	}
	return &grade.Fault{Kind: f.Kind, Text: text}
}

// advice is what a person does about an agent that rests for a fault. Its reason has what
// the agent said.
func (e *Engine) advice(a fleet.AgentState) transcript.Advice {
	return transcript.Advise(e.Config.Agents[a.Agent].Transcript, a.Fault, a.Reason)
}

// fix is the advice as one line to follow. Agents that rest are tried again by themselves,
// but not before their time.
func (e *Engine) fix(a fleet.AgentState) string {
	const resume = "stint resume"
	switch advice := e.advice(a); {
	case advice.Command != "":
		return advice.Command + " && " + resume
	case advice.Do != "":
		return advice.Do + ", then: " + resume
	case a.Fault == fleet.FaultAgent:
		return resume
	}
	return ""
}
