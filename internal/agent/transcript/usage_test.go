package transcript_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/transcript"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestReadUsageRecorded reads the files in which the real programs kept sessions on the stub:
// whole ones, and ones that were stopped after the first of two answers.
func TestReadUsageRecorded(t *testing.T) {
	t.Parallel()
	claude := func(n int64) transcript.Models {
		return transcript.Models{"claude-stub": {Input: 1000 * n, Output: 50 * n, CacheRead: 200 * n}}
	}
	codex := func(n int64) transcript.Models {
		return transcript.Models{"gpt-stub": {Input: 800 * n, Output: 50 * n, CacheRead: 200 * n}}
	}
	for name, want := range map[string]transcript.Models{
		"claude-tool": claude(2), "claude-stall": claude(1), "codex-tool": codex(2), "codex-stall": codex(1),
	} {
		text := must.Get(os.ReadFile("testdata/" + name + ".jsonl"))(t)
		got, _, err := transcript.ReadUsage(named(t, formatOf(name)), bytes.NewReader(text))
		if diff := cmp.Diff(got, want); diff != "" || err != nil {
			t.Errorf("%s: %v (-got +want):\n%s", name, err, diff)
		}
	}
}

// TestReadUsageCutShort reads every beginning of a session's file: what is read only grows,
// and is never more than the whole.
func TestReadUsageCutShort(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-tool", "codex-tool"} {
		text := must.Get(os.ReadFile("testdata/" + name + ".jsonl"))(t)
		before := int64(0)
		for end := 0; end <= len(text); end += 97 {
			got, _, err := transcript.ReadUsage(named(t, formatOf(name)), bytes.NewReader(text[:end]))
			sum := got.Total()
			if err != nil || sum.Total() < before || sum.Total() > 2500 {
				t.Fatalf("%s, %d bytes: got %v, %v, after %d", name, end, got, err, before)
			}
			before = sum.Total()
		}
		if before == 0 {
			t.Errorf("%s: got nothing of it", name)
		}
	}
}

func TestReadUsage(t *testing.T) {
	t.Parallel()
	assistant := func(id, model, usage string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","model":"` + model + `","usage":` + usage + `}}` + "\n"
	}
	context := func(model string) string { return `{"type":"turn_context","payload":{"model":"` + model + `"}}` + "\n" }
	sum := func(input, output string) string {
		return `{"type":"event_msg","payload":{"info":{"total_token_usage":{"input_tokens":` + input + `,"output_tokens":` + output + `}}}}` + "\n"
	}
	for name, test := range map[string]struct {
		format string
		text   string
		want   transcript.Models
	}{
		"a message in several lines, tools between": {
			"claude",
			assistant("m1", "big", `{"input_tokens":5,"output_tokens":1}`) + `{"type":"user","message":{"content":[]}}` + "\n" +
				assistant("m2", "small", `{"output_tokens":3}`) + assistant("m1", "big", `{"input_tokens":5,"output_tokens":9}`),
			transcript.Models{"big": {Input: 5, Output: 9}, "small": {Output: 3}},
		},
		"what the program wrote itself": {"claude", assistant("m1", "<synthetic>", `{"output_tokens":9}`), nil},
		"a model that changes":          {"codex", context("a") + sum("10", "1") + context("b") + sum("10", "1") + sum("30", "2"), transcript.Models{"a": {Input: 10, Output: 1}, "b": {Input: 20, Output: 1}}},
		"a sum that falls":              {"codex", context("a") + sum("10", "1") + sum("5", "1") + sum("11", "1"), transcript.Models{"a": {Input: 11, Output: 1}}},
		"no name of a model":            {"codex", sum("10", "1"), transcript.Models{"": {Input: 10, Output: 1}}},
		"numbers that cannot be":        {"codex", context("a") + sum("-1", "1e300"), nil},
		"no session file":               {"codex", "\x00{}\n[]\n\"x\"\n" + strings.Repeat("{", 5000), nil},
		"gptme": {
			"gptme", `{"role":"assistant","metadata":{"model":"m","usage":{"input_tokens":7,"cache_read_tokens":2}}}`,
			transcript.Models{"m": {Input: 7, CacheRead: 2}},
		},
	} {
		got, _, err := transcript.ReadUsage(named(t, test.format), strings.NewReader(test.text))
		if diff := cmp.Diff(got, test.want); diff != "" || err != nil {
			t.Errorf("%s: %v (-got +want):\n%s", name, err, diff)
		}
	}
}

// TestManyModels loses no token of a log that names a new model with each answer, and keeps few of the names: they are
// stored with the run.
func TestManyModels(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, `{"type":"assistant","message":{"id":"a%d","model":"m%[1]d","usage":{"input_tokens":1,"output_tokens":2}}}`+"\n", i)
	}
	got, _, err := transcript.ReadUsage(named(t, "claude"), strings.NewReader(log.String()))
	must.Do(t, err)
	if want := (transcript.Tokens{Input: 1000, Output: 2000}); got.Total() != want || len(got) > 40 {
		t.Errorf("got %v of %d models, want %v of some", got.Total(), len(got), want)
	}
}

// TestWindows reads what a service says of a plan: the last word on each window counts, and nonsense does not.
func TestWindows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	event := func(used, resets string) string {
		window := `{"utilization":` + used + `,"resetsAt":` + resets + `}`
		return `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","unifiedWindows":{"five_hour":` + window + `,"seven_day":` + window + "}}}\n"
	}
	summary := must.Get(transcript.Read(named(t, "claude"), strings.NewReader(event("0.5", "1782481200")+event("0.83", "1782483600")), now))(t)
	five := fleet.Window{Long: 5 * time.Hour, Used: 0.83, Resets: time.Unix(1782483600, 0).UTC()}
	week := five
	week.Long = 168 * time.Hour
	must.Equal(t, "claude", summary.Windows, []fleet.Window{five, week})
	for _, line := range []string{event("-1", "1782483600"), event(`"much"`, "1782483600"), event("0.5", "0"), event("0.5", "1e11"), event("0.5", "null")} {
		if s := must.Get(transcript.Read(named(t, "claude"), strings.NewReader(line), now))(t); s.Windows != nil {
			t.Errorf("%s: got %v", line, s.Windows)
		}
	}
	codex := `{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":83.0,"window_minutes":300,"resets_at":1782483600},` +
		`"secondary":null}}}`
	_, windows, err := transcript.ReadUsage(named(t, "codex"), strings.NewReader(codex))
	must.Do(t, err)
	must.Equal(t, "codex", windows, []fleet.Window{five})
}
