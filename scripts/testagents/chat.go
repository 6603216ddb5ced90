package main

import (
	"fmt"
	"net/http"
)

// chat answers as the many services do that speak OpenAI's older protocol
// (https://platform.openai.com/docs/api-reference/chat-streaming).
func (s *stub) chat(w http.ResponseWriter, r *http.Request, q question) {
	if s.interrupted(w, r, q) {
		return
	}
	switch q.behaviour {
	case walled, throttled, crowded, refuses:
		s.refuseAsOpenAI(w, q)
		return
	case breaks:
		events(w, chatPiece("There", nil))
		panic(http.ErrAbortHandler)
	case answers, usesTool, failsTool, hangs:
	}
	text := sentence
	if q.wantsTool("Ran command") { // as gptme reports its commands
		text = fmt.Sprintf("```shell\n%s\n```\n", q.command())
	}
	events(w,
		chatPiece(text, nil),
		chatPiece("", "stop"),
		object{"id": "chat_stub", "object": "chat.completion.chunk", "model": "stub", "choices": []any{}, "usage": object{
			"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens + outputTokens,
			"prompt_tokens_details": object{"cached_tokens": cachedTokens},
		}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func chatPiece(text string, finish any) object {
	return object{"id": "chat_stub", "object": "chat.completion.chunk", "model": "stub", "choices": []any{
		object{"index": 0, "delta": object{"role": "assistant", "content": text}, "finish_reason": finish},
	}}
}
