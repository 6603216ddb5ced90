package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// messages answers as Anthropic's service does
// (https://docs.anthropic.com/en/api/messages-streaming).
func (s *stub) messages(w http.ResponseWriter, r *http.Request, q question) {
	if s.interrupted(w, r, q) {
		return
	}
	if q.limited(`"tool_result"`) {
		q.behaviour = throttled
	}
	refuse := func(status int, kind, text string) {
		w.Header().Set("Request-Id", "req_stub")
		writeJSON(w, status, object{"type": "error", "error": object{"type": kind, "message": text}})
	}
	switch q.behaviour {
	case walled:
		// The service says this to a subscriber whose plan is used up.
		w.Header().Set("Anthropic-Ratelimit-Unified-Status", "rejected")
		w.Header().Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(s.resetAt.Unix(), 10))
		w.Header().Set("Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour")
		w.Header().Set("X-Should-Retry", "false")
		refuse(http.StatusTooManyRequests, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
	case throttled:
		w.Header().Set("Retry-After", retryAfter)
		refuse(http.StatusTooManyRequests, "rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit")
	case crowded:
		refuse(529, "overloaded_error", "Overloaded")
	case refuses:
		refuse(http.StatusUnauthorized, "authentication_error", "invalid x-api-key")
	case expired:
		refuse(http.StatusUnauthorized, "authentication_error", "OAuth token has expired. Please obtain a new token or refresh your existing token.")
	case forbidden:
		refuse(http.StatusForbidden, "permission_error", "Your account does not have permission to use the specified resource.")
	case noModel:
		refuse(http.StatusNotFound, "not_found_error", "model: claude-stub")
	case fails:
		refuse(http.StatusInternalServerError, "api_error", "Internal server error")
	case badGateway:
		gatewayError(w)
	case tooLong:
		refuse(http.StatusBadRequest, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
	case noCredit:
		refuse(http.StatusBadRequest, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.")
	case declines:
		events(w, append([]object{messageStart("msg_stub")}, messageEnd("refusal")[1:]...)...)
	case breaks:
		events(w, messageStart("msg_stub"))
		panic(http.ErrAbortHandler)
	case usesTool, failsTool, oversteps, escapes, plants, stalls, works, worksTools, fleetWork, limits, leaves:
		if q.wantsTool(`"tool_result"`) {
			events(w, messageToolCall(q)...)
			return
		}
		events(w, messageSentence()...)
	case answers, hangs, resets, unreachable:
		events(w, messageSentence()...)
	}
}

func messageStart(id string) object {
	return object{"type": "message_start", "message": object{
		"id": id, "type": "message", "role": "assistant", "model": "claude-stub", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": inputTokens, "cache_read_input_tokens": cachedTokens, "cache_creation_input_tokens": 0, "output_tokens": 1},
	}}
}

func messageEnd(reason string) []object {
	return []object{
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": outputTokens}},
		{"type": "message_stop"},
	}
}

func messageSentence() []object {
	return append([]object{
		messageStart("msg_stub"),
		{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}},
		{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": sentence}},
	}, messageEnd("end_turn")...)
}

func messageToolCall(q question) []object {
	const result = `"tool_result"`
	tool, input := "Bash", object{"command": q.command(result), "description": "Do it"}
	switch {
	case q.behaviour == oversteps:
		tool, input = "Write", object{"file_path": "/etc/stint-test", "content": "not allowed"}
	case q.writesFile(result):
		tool, input = "Write", object{"file_path": q.resultFile(), "content": workResult}
	}
	// The calls of one session have names of their own.
	id := fmt.Sprintf("toolu_stub%d", bytes.Count(q.body, []byte(result)))
	return append([]object{
		messageStart("msg_" + id),
		{"type": "content_block_start", "index": 0, "content_block": object{"type": "tool_use", "id": id, "name": tool, "input": object{}}},
		{"type": "content_block_delta", "index": 0, "delta": object{"type": "input_json_delta", "partial_json": asJSON(input)}},
	}, messageEnd("tool_use")...)
}
