package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// keepOwn records the file in which the agent itself keeps the session, of those sessions
// whose usage is read from it: a whole one, and one that was killed.
func (s session) keepOwn(run string) error {
	if s.record == "" || s.clone || s.behaviour != usesTool && s.behaviour != stalls {
		return nil
	}
	pattern := "codex/sessions/*/*/*/*.jsonl"
	switch s.account {
	case claudeKey:
		pattern = ".claude/projects/*/*.jsonl"
	case codexKey:
	case claudePlan, anyProgram:
		return nil
	}
	files, err := filepath.Glob(filepath.Join(s.home, pattern))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("the agent's own files: got %v, %w, want one", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		var value any
		if err := json.Unmarshal(line, &value); err != nil {
			return fmt.Errorf("%s: %w", files[0], err)
		}
		short, err := json.Marshal(shortened(value))
		if err != nil {
			return err
		}
		out.Write(append(short, '\n'))
	}
	return s.write("jsonl", run, out.String())
}

// shortened leaves out the texts, which are the program's own prompts for its models.
func shortened(value any) any {
	const enough = 80
	switch v := value.(type) {
	case string:
		if utf8.RuneCountInString(v) > enough {
			return "…"
		}
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = shortened(v[name])
		}
	}
	return value
}
