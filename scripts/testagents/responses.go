package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// responses answers as OpenAI's service does
// (https://platform.openai.com/docs/api-reference/responses-streaming).
func (s *stub) responses(w http.ResponseWriter, r *http.Request, q question) {
	if s.interrupted(w, r, q) {
		return
	}
	if q.limited(`_call_output"`) {
		q.behaviour, s = walled, &stub{resetAt: time.Now()}
	}
	switch q.behaviour {
	case breaks:
		events(w, responseStart())
		panic(http.ErrAbortHandler)
	case usesTool, failsTool, oversteps, escapes, plants, stalls, works, worksTools, fleetWork, limits, leaves:
		if q.wantsTool(`_call_output"`) {
			events(w, responseToolCall(q)...)
			return
		}
		events(w, responseSentence()...)
	case answers, hangs, resets, unreachable:
		events(w, responseSentence()...)
	case tooLong:
		events(w, responseFailed("context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")...)
	case declines:
		events(w, responseFailed("content_policy_violation", "The input was rejected by the content policy.")...)
	case walled, throttled, crowded, refuses, expired, forbidden, noModel, fails, badGateway, noCredit:
		s.refuseAsOpenAI(w, q)
	}
}

// refuseAsOpenAI answers as OpenAI's service does in trouble. A plan that is used up is only
// known to ChatGPT's own, which answers with plan and time.
func (s *stub) refuseAsOpenAI(w http.ResponseWriter, q question) {
	refuse := func(status int, body object) {
		writeJSON(w, status, object{"error": body})
	}
	switch q.behaviour {
	case walled:
		refuse(http.StatusTooManyRequests, object{
			"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "pro",
			"resets_at": s.resetAt.Unix(),
		})
	case throttled:
		w.Header().Set("Retry-After", retryAfter)
		refuse(http.StatusTooManyRequests, object{
			"type": "tokens", "code": "rate_limit_exceeded",
			"message": "Rate limit reached for gpt-stub on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000. Please try again in " + retryAfter + "s.",
		})
	case crowded:
		refuse(http.StatusServiceUnavailable, object{"type": "server_error", "code": "server_is_overloaded", "message": "The server is overloaded."})
	case expired:
		refuse(http.StatusUnauthorized, object{"type": "invalid_request_error", "code": "token_expired", "message": "Provided authentication token is expired. Please try signing in again."})
	case forbidden:
		refuse(http.StatusForbidden, object{"type": "invalid_request_error", "code": "permission_denied", "message": "You have insufficient permissions for this operation."})
	case noModel:
		refuse(http.StatusNotFound, object{"type": "invalid_request_error", "code": "model_not_found", "message": "The model `gpt-stub` does not exist or you do not have access to it."})
	case fails:
		refuse(http.StatusInternalServerError, object{"type": "server_error", "message": "The server had an error while processing your request."})
	case badGateway:
		gatewayError(w)
	case noCredit:
		refuse(http.StatusTooManyRequests, object{
			"type": "insufficient_quota", "code": "insufficient_quota",
			"message": "You exceeded your current quota, please check your plan and billing details.",
		})
	case declines:
		refuse(http.StatusBadRequest, object{"type": "invalid_request_error", "code": "content_policy_violation", "message": "The input was rejected by the content policy."})
	case answers, usesTool, failsTool, oversteps, escapes, plants, refuses, breaks, hangs, stalls, works, worksTools, fleetWork, limits, leaves, resets, unreachable, tooLong:
		refuse(http.StatusUnauthorized, object{"type": "invalid_request_error", "code": "invalid_api_key", "message": "Incorrect API key provided."})
	}
}

func responseStart() object {
	return object{"type": "response.created", "response": object{"id": "resp_stub", "object": "response", "status": "in_progress"}}
}

func responseFailed(code, text string) []object {
	return []object{responseStart(), {"type": "response.failed", "response": object{
		"id": "resp_stub", "object": "response", "status": "failed", "error": object{"code": code, "message": text},
	}}}
}

func responseEnd() object {
	return object{"type": "response.completed", "response": object{
		"id": "resp_stub", "object": "response", "status": "completed", "output": []any{},
		"usage": object{
			"input_tokens": inputTokens, "input_tokens_details": object{"cached_tokens": cachedTokens},
			"output_tokens": outputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": inputTokens + outputTokens,
		},
	}}
}

func responseSentence() []object {
	return []object{responseStart(), {"type": "response.output_item.done", "output_index": 0, "item": object{
		"type": "message", "id": "msg_stub", "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": sentence, "annotations": []any{}}},
	}}, responseEnd()}
}

// responseToolCall calls whichever of the shells that the program offers its
// models: which one is a matter of model and version.
func responseToolCall(q question) []object {
	const result = `_call_output"`
	command := q.command(result)
	if q.writesFile(result) {
		command = q.patch()
	}
	// The calls of one session have names of their own.
	call := fmt.Sprintf("call_stub%d", bytes.Count(q.body, []byte(result)))
	name, arguments := "shell_command", object{"command": command}
	switch {
	case slices.Contains(q.tools, "exec_command"):
		name, arguments = "exec_command", object{"cmd": command}
	case slices.Contains(q.tools, "shell"):
		name, arguments = "shell", object{"command": []string{"sh", "-c", command}}
	}
	return []object{responseStart(), {"type": "response.output_item.done", "output_index": 0, "item": object{
		"type": "function_call", "id": "fc_stub", "call_id": call, "name": name, "arguments": asJSON(arguments), "status": "completed",
	}}, responseEnd()}
}
