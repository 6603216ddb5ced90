package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/agent/rundir"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// printing is an agent that prints a log and keeps a session file, or puts something else
// there. Files are opened as they are outside tests.
type printing struct {
	agent
	keep func(folder string) error
	log  string
	end  fleet.SessionExit
	home string
	more string // of its configuration
}

func (p printing) Run(_ context.Context, s fleet.SessionSpec) (fleet.SessionExit, error) {
	folder := filepath.Join(p.home, ".codex/sessions/2026/11/22")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fleet.SessionExit{}, err
	}
	if err := os.MkdirAll(filepath.Dir(s.Files.Log), 0o700); err != nil {
		return fleet.SessionExit{}, err
	}
	if p.keep != nil {
		if err := p.keep(filepath.Join(folder, "rollout-x-t1.jsonl")); err != nil {
			return fleet.SessionExit{}, err
		}
	}
	return p.end, os.WriteFile(s.Files.Log, []byte(p.log), 0o600)
}

func (printing) Open(path string) (*os.File, error) { return rundir.Open(path) }

// TestAccount has codex end in every way, with and without a session file to be believed.
func TestAccount(t *testing.T) {
	t.Parallel()
	const (
		begun  = `{"type":"thread.started","thread_id":"t1"}` + "\n"
		ended  = begun + `{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10}}` + "\n"
		failed = begun + `{"type":"turn.failed","error":{"message":"no"}}` + "\n"
		model  = `{"type":"turn_context","payload":{"model":"gpt"}}` + "\n"
		file   = model + `{"type":"event_msg","payload":{"info":{"total_token_usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10}}}}` + "\n"
	)
	keep := func(text string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	exited, killed := fleet.SessionExit{End: fleet.Exited}, fleet.SessionExit{End: fleet.Killed, Detail: "killed"}
	wrote := fleet.SessionExit{End: fleet.Exited, Result: []byte(`{"tokens":5,"cost_usd":3}`)}
	known := fleet.Usage{Tokens: new(int64(110)), USD: new(0.000164), Cost: fleet.CostComputed, Models: []string{"gpt"}}
	for _, tt := range []struct {
		name string
		printing
		price string
		want  fleet.Usage
	}{
		{"ended", printing{log: ended, keep: keep(file), end: exited}, "gpt", known},
		{"ended, its file cut short", printing{log: ended, keep: keep(model + `{"type":"event_msg","payload":{"info":{"total_token_usage":{"input_tokens":60}}}}`), end: exited}, "gpt", known},
		{"ended, no price for its model", printing{log: ended, keep: keep(file), end: exited}, "other", fleet.Usage{Tokens: new(int64(110)), Models: []string{"gpt"}}},
		{"ended, no file", printing{log: ended, end: exited}, "gpt", fleet.Usage{Tokens: new(int64(110))}},
		{"ended before any answer", printing{log: failed, keep: keep(model), end: exited}, "gpt", fleet.Usage{Tokens: new(int64(0)), USD: new(0.0), Cost: fleet.CostComputed}},
		{"killed", printing{log: begun, keep: keep(file), end: killed}, "gpt", known},
		{"killed before any answer", printing{log: begun, keep: keep(model), end: killed}, "gpt", fleet.Usage{}},
		{"killed, no file", printing{log: begun, end: killed}, "gpt", fleet.Usage{}},
		{"killed, another session's file", printing{log: `{"type":"thread.started","thread_id":"t2"}`, keep: keep(file), end: killed}, "gpt", fleet.Usage{}},
		{"killed before it named its session", printing{log: "", keep: keep(file), end: killed}, "gpt", fleet.Usage{}},
		{"a session's name that is a path", printing{log: `{"type":"thread.started","thread_id":"../t1"}`, keep: keep(file), end: killed}, "gpt", fleet.Usage{}},
		{"a link", printing{log: begun, end: killed, keep: func(path string) error {
			if err := os.WriteFile(path+".elsewhere", []byte(file), 0o600); err != nil {
				return err
			}
			return os.Symlink(path+".elsewhere", path)
		}}, "gpt", fleet.Usage{}},
		{"a pipe", printing{log: begun, end: killed, keep: func(path string) error { return syscall.Mkfifo(path, 0o600) }}, "gpt", fleet.Usage{}},
		{"a file without end", printing{log: begun, end: killed, keep: func(path string) error {
			if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}}, "gpt", fleet.Usage{}},
		{"its model's word", printing{log: ended, keep: keep(file), end: wrote}, "gpt", known},
		{"its model's word, killed", printing{log: begun, keep: keep(file), end: fleet.SessionExit{End: fleet.Killed, Result: wrote.Result}}, "gpt", known},
		{"its model's word alone", printing{log: begun, end: wrote}, "gpt", fleet.Usage{Tokens: new(int64(5)), USD: new(3.0), Cost: fleet.CostReported}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, fmt.Sprintf("preset = \"codex\"\n%s[price.%s]\ninput = 1\ncached_input = 0.1\noutput = 10\n[category.code]\nself_directed = true\n", tt.more, tt.price))
			tt.home = t.TempDir()
			b.Getenv = func(name string) string { return map[string]string{"HOME": tt.home}[name] }
			b.Agents, b.Runner = tt.printing, tt.printing
			r, err := b.Run(t.Context(), engine.RunOptions{Category: "code"})
			if r.EndedAt.IsZero() {
				t.Fatal(err)
			}
			must.Equal(t, "usage", r.Usage, tt.want, cmpopts.EquateEmpty(), cmpopts.EquateApprox(0, 1e-12))
		})
	}
}
