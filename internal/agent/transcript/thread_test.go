package transcript_test

import (
	"math"
	"testing"
	"time"

	"stint/internal/agent/transcript"
)

// TestThread reads the counters of a conversation that goes on.
func TestThread(t *testing.T) {
	t.Parallel()
	const (
		since = `,"model_usage_since_last_result":`
		five  = `{"m":{"inputTokens":5,"outputTokens":1,"costUSD":0.05}}`
		told  = `{"type":"result","subtype":"success","session_id":"c1","total_cost_usd":0.15,"usage":{"input_tokens":5,"output_tokens":1},` +
			`"modelUsage":{"m":{"inputTokens":15,"outputTokens":3,"costUSD":0.15},"old":{"inputTokens":1,"costUSD":0.01}}`
		again = `{"type":"result","subtype":"success","session_id":"c1","total_cost_usd":0.2,"usage":{"input_tokens":5,"output_tokens":1},` +
			`"modelUsage":{"m":{"inputTokens":20,"outputTokens":4,"costUSD":0.2},"old":{"inputTokens":1,"costUSD":0.01}}`
	)
	for name, tt := range map[string]struct {
		program, log string
		used         transcript.Models
		usd          float64
		thread       bool
		alone        int64
	}{
		"of all sessions":         {"claude", told + "}", transcript.Models{"m": {Input: 15, Output: 3}, "old": {Input: 1}}, 0.16, true, 6},
		"since the last":          {"claude", told + since + five + "}", transcript.Models{"m": {Input: 5, Output: 1}}, 0.05, false, 6},
		"since the last, twice":   {"claude", told + since + five + "}\n" + again + since + five + "}", transcript.Models{"m": {Input: 10, Output: 2}}, 0.1, false, 6},
		"nothing since the last":  {"claude", told + since + "{}}", nil, 0, false, 6},
		"of the thread":           {"codex", `{"type":"turn.completed","usage":{"input_tokens":30,"cached_input_tokens":10,"output_tokens":2}}`, transcript.Models{"": {Input: 20, Output: 2, CacheRead: 10}}, 0, true, 0},
		"a thread that goes wild": {"codex", `{"type":"turn.failed","error":{"message":"x"}}`, nil, 0, false, 0},
	} {
		s := read(t, tt.program, tt.log, time.Unix(1, 0))
		usd := 0.0
		if s.CostUSD != nil {
			usd = *s.CostUSD
		}
		got := s.Used()
		same := got.Total() == tt.used.Total()
		for model, tokens := range tt.used {
			same = same && got[model] == tokens
		}
		if !same || math.Abs(usd-tt.usd) > 1e-9 || s.Thread != tt.thread || s.Alone != tt.alone {
			t.Errorf("%s: got %v, %g, %t, %d, want %v, %g, %t, %d", name, got, usd, s.Thread, s.Alone, tt.used, tt.usd, tt.thread, tt.alone)
		}
	}
}

func TestForgedID(t *testing.T) {
	t.Parallel()
	log := `{"type":"thread.started","thread_id":"a-1"}` + "\n" + `{"type":"thread.started","thread_id":"--last"}`
	if got := read(t, "codex", log, time.Unix(1, 0)).SessionID; got != "a-1" {
		t.Errorf("got %q, want the id that is one", got)
	}
}
