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
	if q.behaviour != answers && q.wantsTool(result) {
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
	events(w, answer)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// generate answers as Gemini's service does (https://ai.google.dev/api/generate-content).
func (s *stub) generate(w http.ResponseWriter, r *http.Request, q question, stream bool) {
	const result = `"functionResponse"`
	if s.interrupted(w, r, q) || s.troubled(w, q) {
		return
	}
	part := object{"text": sentence}
	if q.behaviour != answers && len(q.tools) > 0 && q.wantsTool(result) {
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
	if stream {
		events(w, answer)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// troubled refuses what the behaviour has refused, and reports whether it did.
func (s *stub) troubled(w http.ResponseWriter, q question) bool {
	if !slices.Contains([]behaviour{walled, throttled, crowded, refuses, expired, forbidden, noModel, fails, badGateway, noCredit}, q.behaviour) {
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
