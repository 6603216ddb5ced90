package transcript_test

import (
	"testing"

	"stint/internal/agent/transcript"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestStopReasons reads the ends of sessions by the Agent Client Protocol, after a session that has begun.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	result := func(reason, last string) string {
		return `{"type":"acp","calls":0,"last":"` + last + `","result":{"stopReason":"` + reason + `"}}`
	}
	fault := func(kind fleet.FaultKind, text string) *transcript.Fault {
		return &transcript.Fault{Kind: kind, Text: text}
	}
	const denied = "Error: Authentication failed with provider (HTTP 401)"
	for line, want := range map[string]transcript.Summary{
		result("end_turn", "done"):   {Success: new(true), Turns: 1},
		result("end_turn", ""):       {Success: new(false), Turns: 1, Fault: fault(fleet.FaultServer, "its model gave no answer"), Err: "its model gave no answer"},
		result("end_turn", denied):   {Success: new(false), Turns: 1, Fault: fault(fleet.FaultLogin, denied), Err: denied},
		result("refusal", "no"):      {Success: new(false), Turns: 1, Fault: fault(fleet.FaultRefusal, "its model refused"), Err: "its model refused"},
		result("max_tokens", "and"):  {Success: new(false), Turns: 1, Err: "it stopped before the end of its turn: max_tokens"},
		result("cancelled", "and"):   {Turns: 1, Fault: &transcript.Fault{Kind: fleet.FaultSilent}},
		result("end_turn", "401 ok"): {Success: new(true), Turns: 1},
		`{"type":"acp","error":{"code":-32000,"message":"no"},"to":"session/new"}`: {Success: new(false), Fault: fault(fleet.FaultLogin, "no"), Err: "no"},
		`{"type":"acp","error":{"code":-32603,"message":"Internal error","data":{"details":"503 busy"}},"to":"session/prompt"}`: {
			Success: new(false), Fault: fault(fleet.FaultServer, "Internal error 503 busy"), Err: "Internal error 503 busy",
		},
		`{"type":"acp","error":{"code":-32603,"message":"Internal error","data":"429 slow down"},"to":"session/prompt"}`: {
			Success: new(false), Quota: &transcript.Quota{Kind: transcript.Throttled, Text: "Internal error 429 slow down"}, Err: "Internal error 429 slow down",
		},
	} {
		want.SessionID, want.Events = "s1", 2
		must.Equal(t, line, read(t, "acp", `{"type":"acp","session":"s1"}`+"\n"+line+"\n", recorded()), want)
	}
}
