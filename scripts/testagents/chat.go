package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// chat answers as OpenAI's service for chats does (https://platform.openai.com/docs/api-reference/chat), which many others speak.
func (s *stub) chat(w http.ResponseWriter, r *http.Request, q question) {
	const result = `"role":"tool"`
	if s.interrupted(w, r, q) || s.troubled(w, q) {
		return
	}
	delta, reason := object{"role": "assistant", "content": sentence}, "stop"
	if q.behaviour != breaks && q.wantsTool(result) {
		delta, reason = object{"role": "assistant", "tool_calls": []any{object{
			"index": 0, "id": fmt.Sprintf("call_stub%d", bytes.Count(q.body, []byte(result))), "type": "function",
			"function": object{"name": q.shell(), "arguments": asJSON(q.shellInput(result))},
		}}}, "tool_calls"
	}
	usage := object{
		"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens,
		"prompt_tokens_details": object{"cached_tokens": cachedTokens},
	}
	answer := object{"id": "chatcmpl-stub", "created": 1, "model": "gpt-stub", "usage": usage}
	if !bytes.Contains(q.body, []byte(`"stream":true`)) {
		answer["object"], answer["choices"] = "chat.completion", []any{object{"index": 0, "message": delta, "finish_reason": reason}}
		writeJSON(w, http.StatusOK, answer)
		return
	}
	answer["object"], answer["choices"] = "chat.completion.chunk", []any{object{"index": 0, "delta": delta, "finish_reason": reason}}
	if q.behaviour == breaks {
		answer["choices"] = []any{object{"index": 0, "delta": delta, "finish_reason": nil}}
		cut(w, answer)
	}
	events(w, answer)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// generate answers as Gemini's service does (https://ai.google.dev/api/generate-content).
func (s *stub) generate(w http.ResponseWriter, r *http.Request, q question, stream bool) {
	const result = `"functionResponse"`
	if s.interrupted(w, r, q) {
		return
	}
	if body, is := generateErrors()[q.behaviour]; is {
		writeJSON(w, body["code"].(int), object{"error": body})
		return
	}
	part := object{"text": sentence}
	if q.behaviour != breaks && len(q.tools) > 0 && q.wantsTool(result) {
		part = object{"functionCall": object{"name": q.shell(), "args": q.shellInput(result)}}
	}
	if bytes.Contains(q.body, []byte(`"responseJsonSchema"`)) { // the program asks which model fits
		part = object{"text": `{"reasoning": "it is simple", "model_choice": "flash", "complexity_reasoning": "simple", "complexity_score": 1}`}
	}
	answer := object{
		"candidates":   []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"modelVersion": "gemini-stub",
		"usageMetadata": object{
			"promptTokenCount": inputTokens, "candidatesTokenCount": outputTokens, "cachedContentTokenCount": cachedTokens,
			"totalTokenCount": inputTokens + outputTokens,
		},
	}
	if q.behaviour == declines {
		answer["candidates"], answer["promptFeedback"] = []any{}, object{"blockReason": "PROHIBITED_CONTENT"}
	}
	switch {
	case stream && q.behaviour == breaks:
		answer["candidates"] = []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}}}
		cut(w, answer)
	case stream:
		events(w, answer)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

// generateErrors are its answers in trouble.
func generateErrors() map[behaviour]object {
	exceeded := func(quota string) object {
		const of = "type.googleapis.com/google.rpc."
		return object{
			"code": http.StatusTooManyRequests, "status": "RESOURCE_EXHAUSTED",
			"message": "You exceeded your current quota, please check your plan and billing details.",
			"details": []any{
				object{"@type": of + "QuotaFailure", "violations": []any{object{"quotaId": quota + "PerProjectPerModel-FreeTier"}}},
				object{"@type": of + "RetryInfo", "retryDelay": retryAfter + "s"},
			},
		}
	}
	return map[behaviour]object{
		refuses:   {"code": http.StatusBadRequest, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key."},
		fails:     {"code": http.StatusInternalServerError, "status": "INTERNAL", "message": "An internal error has occurred."},
		throttled: exceeded("GenerateRequestsPerMinute"),
		noCredit:  exceeded("GenerateRequestsPerDay"),
	}
}

// cut begins an answer, and ends the connection.
func cut(w http.ResponseWriter, begun object) {
	events(w, begun)
	http.NewResponseController(w).Flush() //nolint:errcheck // whether it arrived shows in what the agent does
	panic(http.ErrAbortHandler)
}

// troubled refuses what the behaviour has refused, and reports whether it did.
func (s *stub) troubled(w http.ResponseWriter, q question) bool {
	if !slices.Contains([]behaviour{walled, throttled, crowded, refuses, expired, forbidden, noModel, fails, badGateway, noCredit, declines}, q.behaviour) {
		return false
	}
	s.refuseAsOpenAI(w, q)
	return true
}

// shell is the tool of the program's that runs a command.
func (q question) shell() string {
	for _, name := range q.tools {
		if slices.Contains([]string{"bash", "run_shell_command", "shell"}, strings.ToLower(name)) {
			return name
		}
	}
	return "bash"
}

func (q question) shellInput(result string) object {
	input := object{"command": q.command(result), "description": "Do it"}
	if bytes.Contains(q.body, []byte(`"is_background"`)) {
		input["is_background"] = false
	}
	return input
}
