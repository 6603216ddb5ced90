package transcript_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/testkit/must"
)

// TestReadableRecorded shows what the real programs printed.
func TestReadableRecorded(t *testing.T) {
	t.Parallel()
	all := logs(t)
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(all)) {
		b.WriteString("== " + filepath.Base(path) + "\n" + transcript.ReadableText(named(t, formatOf(path)), string(all[path])))
	}
	const golden = "testdata/readable.txt"
	if *update {
		must.Do(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want := must.Get(os.ReadFile(golden))(t)
	must.Equal(t, "readable", strings.Split(b.String(), "\n"), strings.Split(string(want), "\n"))
}

// TestReadableLines has one line of each kind that the recorded sessions lack.
func TestReadableLines(t *testing.T) {
	t.Parallel()
	const said = `{"type":"assistant","message":{"content":[`
	long := strings.Repeat(`line\n`, 30)
	for _, test := range []struct {
		name   string
		format string
		line   string
		want   string
	}{
		{"words", "claude", said + `{"type":"text","text":"One.\nTwo.\n"}]}}`, "One.\nTwo.\n"},
		{"a thought", "claude", said + `{"type":"thinking","thinking":"So\nthen"}]}}`, "~ So then\n"},
		{
			"a long command", "claude", said + `{"type":"tool_use","name":"Bash","input":{"command":"cat <<E\nx\nE"}}]}}`,
			"$ cat <<E\n  x\n  E\n",
		},
		{"a file", "claude", said + `{"type":"tool_use","name":"Edit","input":{"file_path":"/w/a.go","old_string":"a"}}]}}`, "> Edit /w/a.go\n"},
		{"another tool", "claude", said + `{"type":"tool_use","name":"Todo","input":{"todos":[1]}}]}}`, "> Todo {\"todos\":[1]}\n"},
		{
			"two blocks", "claude", said + `{"type":"text","text":"Look."},{"type":"tool_use","name":"Read","input":{"file_path":"b"}}]}}`,
			"Look.\n> Read b\n",
		},
		{
			"what a tool gave back", "claude",
			`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a\nb"}]}]}}`, "  a\n  b\n",
		},
		{
			"much", "claude", `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + long + `"}]}}`,
			strings.Repeat("  line\n", 4) + "  … 22 lines\n" + strings.Repeat("  line\n", 4),
		},
		{
			"an error without words", "claude",
			`{"type":"user","message":{"content":[{"type":"tool_result","is_error":true}]}}`, "  ! an error\n",
		},
		{"the prompt, as text", "claude", `{"type":"user","message":{"content":"Work."}}`, ""},
		{
			"a rate limit", "claude",
			`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour","resetsAt":1782475200}}`,
			"! rate limit rejected five_hour, resets 2026-06-26T12:00:00Z\n",
		},
		{
			"too many turns", "claude",
			`{"type":"result","subtype":"error_max_turns","num_turns":9,"permission_denials":[{}],"usage":{"input_tokens":2,"cache_creation_input_tokens":3}}`,
			"! error_max_turns\n* ended with an error: turns 9, tokens 5 (2 in, 0 out, 3 into it), denied 1\n",
		},
		{"a piece of news", "claude", `{"type":"system","subtype":"compact_boundary"}`, "* compact_boundary\n"},
		{"an unknown kind", "claude", `{"type":"telemetry","x":1}`, `{"type":"telemetry","x":1}` + "\n"},
		{"after standard error", "claude", `warning: x{"type":"system","subtype":"status"}`, "warning: x\n* status\n"},
		{"cut off", "claude", `{"type":"system","subty`, `{"type":"system","subty` + "\n"},
		{"a wrong type", "claude", `{"type":"assistant","message":7}`, ""},
		{"no JSON", "codex", "\x1b[31mpanic", "\x1b[31mpanic\n"},
		{"files", "codex", `{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a","kind":"add"},{"path":"b","kind":"update"}]}}`, "> add a\n> update b\n"},
		{"a refusal", "codex", `{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"rm x","status":"declined"}}`, "$ rm x\n  ! declined\n"},
		{"a service", "codex", `{"type":"item.completed","item":{"type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1}}}`, "> s.t {\"a\":1}\n"},
		{"a search", "codex", `{"type":"item.completed","item":{"type":"web_search","query":"q"}}`, "> search q\n"},
		{"a plan", "codex", `{"type":"item.completed","item":{"type":"todo_list","items":[{"text":"a","completed":true},{"text":"b"}]}}`, "> plan\n> [x] a\n> [ ] b\n"},
		{"a thought", "codex", `{"type":"item.completed","item":{"type":"reasoning","text":"**So**"}}`, "~ **So**\n"},
		{"an unknown item", "codex", `{"type":"item.completed","item":{"type":"collab_tool_call","tool":"spawn"}}`, "> collab_tool_call spawn\n"},
		{"words", "gptme", `{"role":"assistant","content":"Hi."}`, "Hi.\n"},
		{"a tool", "gptme", `{"role":"system","content":"Ran command","metadata":{"tool":"shell"}}`, "  Ran command\n"},
		{"a tool's error", "gptme", `{"role":"system","content":"Error: x\ny","call_id":"1"}`, "  ! Error: x\n  y\n"},
		{"the prompt", "gptme", `{"role":"user","content":"Work\non it"}`, "* user: Work on it\n"},
		{"no role", "gptme", `{"content":"x"}`, `{"content":"x"}` + "\n"},
		{"anything", "command", `{"type":"system","subtype":"init"}`, `{"type":"system","subtype":"init"}` + "\n"},
	} {
		if got := transcript.ReadableText(named(t, test.format), test.line+"\n"); got != test.want {
			t.Errorf("%s, %s: got %q, want %q", test.format, test.name, got, test.want)
		}
	}
}

// TestReadablePieces has a log come in pieces that end anywhere, as the log of a session at
// work does, with lines that an agent may have damaged.
func TestReadablePieces(t *testing.T) {
	t.Parallel()
	all := logs(t)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "log")
		text := string(all[path])
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		text = text[cut:] + rapid.String().Draw(t, "garbage") + text[:cut]
		var b strings.Builder
		format := preset.Named(rapid.SampledFrom(preset.Names()).Draw(t, "format")).CLI
		r, want := transcript.NewReadable(format, &b), transcript.ReadableText(format, text)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			must.Get(r.Write([]byte(rest[:n])))(t)
			rest = rest[n:]
		}
		must.Do(t, r.Close())
		if got := b.String(); got != want {
			t.Errorf("got %q, want %q as of one piece", got, want)
		}
	})
}

// TestReadableLongLine has a line that is too long to be a message: it goes by as it is, and
// takes no memory.
func TestReadableLongLine(t *testing.T) {
	t.Parallel()
	long := `{"type":"assistant","x":"` + strings.Repeat("x", 5<<20) + "\"}\n"
	var b strings.Builder
	r := transcript.NewReadable(named(t, "claude"), &b)
	for rest := long + `{"type":"system","subtype":"status"}` + "\n"; rest != ""; {
		n := min(len(rest), 60<<10)
		must.Get(r.Write([]byte(rest[:n])))(t)
		rest = rest[n:]
	}
	if got := b.String(); got != long+"* status\n" {
		t.Errorf("got %d bytes ending %q, want the line as it is and what follows", len(got), got[max(0, len(got)-40):])
	}
}

// TestReadableNobodyReads ends at the first error of what it writes to.
func TestReadableNobodyReads(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, f := range preset.Names() {
		r := transcript.NewReadable(named(t, f), failing{gone})
		if _, err := r.Write([]byte("a\nb\n")); !errors.Is(err, gone) {
			t.Errorf("%s: got %v, want %v", f, err, gone)
		}
		if err := r.Close(); !errors.Is(err, gone) {
			t.Errorf("%s: got %v at the end, want %v", f, err, gone)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
