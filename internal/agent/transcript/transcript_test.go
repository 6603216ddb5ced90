package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/agent/preset"
	"stint/internal/agent/transcript"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the golden files anew")

func named(t testing.TB, name string, faults ...string) preset.CLI {
	t.Helper()
	name, program, _ := strings.Cut(name, "-")
	c := preset.Named(name).Of(program).CLI
	if faults != nil {
		c.Faults = faults
	}
	return c
}

// recorded is when the logs in testdata were.
func recorded() time.Time {
	return time.Date(2026, 11, 21, 12, 35, 0, 0, time.UTC)
}

// formatOf is the preset of the program that printed a log, by the log's name. That of a protocol names its program, too.
func formatOf(path string) string {
	words := strings.Split(filepath.Base(path), "-")
	if words[0] == preset.ACP {
		return words[0] + "-" + words[1]
	}
	return words[0]
}

func logs(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.log")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got %d logs, error %v", len(paths), err)
	}
	texts := map[string][]byte{}
	for _, path := range paths {
		if texts[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func read(t testing.TB, preset, text string, now time.Time) transcript.Summary {
	t.Helper()
	return must.Get(transcript.Read(named(t, preset), strings.NewReader(text), now))(t)
}

// TestReadRecorded reads what the real programs printed when they talked to a stub of
// their models, as "make test-agents" records it.
func TestReadRecorded(t *testing.T) {
	t.Parallel()
	got := map[string]transcript.Summary{}
	for path, text := range logs(t) {
		got[filepath.Base(path)] = read(t, formatOf(path), string(text), recorded())
	}
	const golden = "testdata/summaries.json"
	if *update {
		text := must.Get(json.MarshalIndent(got, "", "  "))(t)
		must.Do(t, os.WriteFile(golden, append(text, '\n'), 0o600))
	}
	text := must.Get(os.ReadFile(golden))(t)
	want := map[string]transcript.Summary{}
	must.Do(t, json.Unmarshal(text, &want))
	must.Equal(t, "summaries", got, want)
}

const (
	claudeInit = `{"type":"system","subtype":"init","session_id":"s1"}` + "\n"
	codexInit  = `{"type":"thread.started","thread_id":"t1"}` + "\n"
)

func claudeResult(text string) string {
	return `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"` + text + `"}` + "\n"
}

func codexFailure(text string) string {
	return `{"type":"error","message":"` + text + `"}` + "\n" + `{"type":"turn.failed","error":{"message":"` + text + `"}}` + "\n"
}

func TestReadQuota(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 35, 0, 0, time.FixedZone("", 3600))
	day := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2026, month, day, hour, minute, 0, 0, now.Location()).UTC()
	}
	exhausted := func(reset time.Time) *transcript.Quota {
		return &transcript.Quota{Kind: transcript.Exhausted, ResetAt: reset}
	}
	throttled := func(wait time.Duration) *transcript.Quota {
		return &transcript.Quota{Kind: transcript.Throttled, RetryAfter: wait}
	}
	for name, test := range map[string]struct {
		format string
		text   string
		want   *transcript.Quota
	}{
		"claude, old, as an error":   {"claude", claudeResult("Claude AI usage limit reached|1795269600"), exhausted(time.Unix(1795269600, 0).UTC())},
		"claude, old, as an answer":  {"claude", `{"type":"result","subtype":"success","is_error":false,"result":"Claude AI usage limit reached|1795269600"}`, exhausted(time.Unix(1795269600, 0).UTC())},
		"claude, later today":        {"claude", claudeResult("You've hit your session limit · resets 3:45pm"), exhausted(day(11, 21, 15, 45))},
		"claude, full hour":          {"claude", claudeResult("You've hit your limit · resets 4pm (UTC)"), exhausted(time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC))},
		"claude, tomorrow":           {"claude", claudeResult("You've hit your session limit · resets 1am"), exhausted(day(11, 22, 1, 0))},
		"claude, a moment ago":       {"claude", claudeResult("You've hit your session limit · resets 12:20pm"), exhausted(day(11, 21, 12, 20))},
		"claude, next week":          {"claude", claudeResult("You've hit your weekly limit · resets Nov 27, 8am"), exhausted(day(11, 27, 8, 0))},
		"claude, no time":            {"claude", claudeResult("You've reached your weekly limit"), exhausted(time.Time{})},
		"claude, no credit":          {"claude", claudeResult("Credit balance is too low"), exhausted(time.Time{})},
		"claude, rejected event":     {"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795269600,"rateLimitType":"five_hour"}}`, exhausted(time.Unix(1795269600, 0).UTC())},
		"claude, milliseconds":       {"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795269600000,"rateLimitType":"five_hour"}}`, exhausted(time.Unix(1795269600, 0).UTC())},
		"claude, a lie":              {"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":99999999999,"rateLimitType":"five_hour"}}`, exhausted(time.Time{})},
		"claude, allowed":            {"claude", `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1795269600,"rateLimitType":"five_hour"}}`, nil},
		"claude, retries, killed":    {"claude", `{"type":"system","subtype":"api_retry","retry_delay_ms":7000.5,"error_status":429,"error":"rate_limit"}`, throttled(7000500 * time.Microsecond)},
		"claude, overcome":           {"claude", `{"type":"system","subtype":"api_retry","retry_delay_ms":7000,"error":"rate_limit"}` + "\n" + `{"type":"result","subtype":"success","result":"Done."}`, nil},
		"claude, speaks of it":       {"claude", `{"type":"result","subtype":"success","is_error":false,"result":"I fixed: You've hit your usage limit. 429"}`, nil},
		"claude, another error":      {"claude", `{"type":"result","subtype":"error_max_turns","is_error":false}`, nil},
		"codex, plan":                {"codex", codexFailure("You’ve hit your usage limit. Upgrade to Pro (https://x), visit https://y or try again at Nov 22nd, 2026 12:18 PM."), exhausted(day(11, 22, 12, 18))},
		"codex, later today":         {"codex", codexFailure("You've hit your usage limit. Try again at 3:28 PM."), exhausted(day(11, 21, 15, 28))},
		"codex, in days":             {"codex", codexFailure("You've hit your usage limit. To get more access now, send a request to your admin or try again in 3 days 4 hours 5 minutes."), &transcript.Quota{Kind: transcript.Exhausted, RetryAfter: 76*time.Hour + 5*time.Minute}},
		"codex, later":               {"codex", codexFailure("You've hit your usage limit. Try again later."), exhausted(time.Time{})},
		"codex, then a fault":        {"codex", codexFailure("You've hit your usage limit. Try again later.") + "\n" + codexFailure("Internal server error"), exhausted(time.Time{})},
		"codex, credits":             {"codex", codexFailure("Your workspace is out of credits. Add credits to continue."), exhausted(time.Time{})},
		"codex, billing":             {"codex", codexFailure("Quota exceeded. Check your plan and billing details."), exhausted(time.Time{})},
		"codex, tokens a minute":     {"codex", codexFailure("Rate limit reached for gpt-5 on tokens per min. Please try again in 1.5s. Visit https://x"), throttled(1500 * time.Millisecond)},
		"codex, too many":            {"codex", codexFailure("exceeded retry limit, last status: 429 Too Many Requests, request id: 42"), throttled(0)},
		"codex, overcome":            {"codex", `{"type":"error","message":"Reconnecting... 1/5 (429 Too Many Requests)"}` + "\n" + `{"type":"turn.completed"}`, nil},
		"codex, speaks of it":        {"codex", `{"type":"item.completed","item":{"type":"agent_message","text":"You've hit your usage limit."}}`, nil},
		"codex, a command prints it": {"codex", `{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"429 Too Many Requests","status":"completed"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			init := map[string]string{"claude": claudeInit, "codex": codexInit}[test.format]
			got := read(t, test.format, init+test.text, now).Quota
			if got != nil {
				if got.Text == "" {
					t.Error("the limit has no text")
				}
				got.Text = ""
			}
			must.Equal(t, "quota", got, test.want)
		})
	}
}

func TestReadPatterns(t *testing.T) {
	t.Parallel()
	faults := []string{`quota: ^out of juice(, back at (?P<reset>.*))?$`, `throttled: (?i)slow down(, (?P<after>.*))?`}
	now := recorded()
	for text, want := range map[string]*transcript.Quota{
		"out of juice\n":                                         {Kind: transcript.Exhausted, Text: "out of juice"},
		"out of juice, back at 1795269600\r\n":                   {Kind: transcript.Exhausted, ResetAt: time.Unix(1795269600, 0).UTC(), Text: "out of juice, back at 1795269600"},
		"out of juice, back at 2026-11-22T01:02:03+01:00":        {Kind: transcript.Exhausted, ResetAt: time.Date(2026, 11, 22, 0, 2, 3, 0, time.UTC), Text: "out of juice, back at 2026-11-22T01:02:03+01:00"},
		"x\nout of juice, back at 18:00\ny":                      {Kind: transcript.Exhausted, ResetAt: time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC), Text: "out of juice, back at 18:00"},
		"SLOW DOWN, 90":                                          {Kind: transcript.Throttled, RetryAfter: 90 * time.Second, Text: "SLOW DOWN, 90"},
		"slow down, 1h30m":                                       {Kind: transcript.Throttled, RetryAfter: 90 * time.Minute, Text: "slow down, 1h30m"},
		"slow down, 99999999 days":                               {Kind: transcript.Throttled, Text: "slow down, 99999999 days"},
		"out of juice\nslow down, 5s":                            {Kind: transcript.Exhausted, Text: "out of juice"},
		"slow down, 5s\nslow down":                               {Kind: transcript.Throttled, RetryAfter: 5 * time.Second, Text: "slow down"},
		strings.Repeat("x", 5000) + "slow down":                  nil,
		"fine":                                                   nil,
		`{"type":"message","role":"user","content":"slow down"}`: nil,
	} {
		for _, format := range []string{"command", "gptme"} {
			got := must.Get(transcript.Read(named(t, format, faults...), strings.NewReader(text), now))(t).Quota
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s: %.40q (-got +want):\n%s", format, text, diff)
			}
		}
	}
	got := must.Get(transcript.Read(named(t, "claude", faults...), strings.NewReader(claudeResult("Please slow down, 3m")), now))(t).Quota
	if want := (&transcript.Quota{Kind: transcript.Throttled, RetryAfter: 3 * time.Minute, Text: "Please slow down, 3m"}); !cmp.Equal(got, want) {
		t.Errorf("an error of claude: got %+v, want %+v", got, want)
	}
}

// TestReadNone has a pattern of what is no fault keep later ones from it.
func TestReadNone(t *testing.T) {
	t.Parallel()
	cli := named(t, "command", "none: ^an expected 429", "throttled: 429")
	for text, want := range map[string]bool{"an expected 429": false, "a 429": true} {
		if got := must.Get(transcript.Read(cli, strings.NewReader(text), recorded()))(t); (got.Quota != nil) != want || got.Fault != nil {
			t.Errorf("%s: got %+v and %+v, want a limit: %v", text, got.Quota, got.Fault, want)
		}
	}
}

// TestReadReasoning bills tokens of reasoning as output.
func TestReadReasoning(t *testing.T) {
	t.Parallel()
	text := `{"type":"step_finish","sessionID":"s1","part":{"messageID":"m1","type":"step-finish","tokens":{"input":7,"output":3,"reasoning":5}}}` + "\n"
	if got := read(t, "opencode", text, recorded()).Tokens; got.Input != 7 || got.Output != 8 {
		t.Errorf("got %+v, want 7 tokens in and 8 out", got)
	}
}

func TestReadGptme(t *testing.T) {
	t.Parallel()
	got := read(t, "gptme", `WARNING something
{"type":"message","role":"system","content":"You are gptme."}
{"type":"message","role":"user","content":"Do it."}
{"type":"message","role":"assistant","content":"I do.","metadata":{"cost":0.25,"usage":{"input_tokens":100,"output_tokens":10,"cache_read_tokens":7,"cache_creation_tokens":3}}}
{"type":"message","role":"system","content":"Ran command","metadata":{"tool":"shell"}}
{"type":"message","role":"system","content":"Error during execution","call_id":"c1"}
{"type":"message","role":"assistant","content":"Done.","metadata":{"cost":0.5,"usage":{"input_tokens":200,"output_tokens":20}}}
`, recorded())
	want := transcript.Summary{
		Tokens: transcript.Tokens{Input: 300, Output: 30, CacheRead: 7, CacheWrite: 3}, CostUSD: new(0.75),
		Models: transcript.Models{"": {Input: 300, Output: 30, CacheRead: 7, CacheWrite: 3}},
		Turns:  2, ToolCalls: 2, ToolErrors: 1, Answered: true, Events: 6,
	}
	must.Equal(t, "summary", got, want)
}

// TestReadWithoutResult is of a session that was killed: its tokens are those of the
// messages that it came to.
func TestReadWithoutResult(t *testing.T) {
	t.Parallel()
	message := `{"type":"assistant","session_id":"s1","message":{"id":"m1","content":[{"type":"tool_use"}],"usage":{"input_tokens":5,"output_tokens":1}}}` + "\n"
	got := read(t, "claude", claudeInit+message+message+message+strings.Replace(message, "m1", "m2", 1)+message[:60], recorded())
	want := transcript.Summary{
		Tokens: transcript.Tokens{Input: 10, Output: 2}, Models: transcript.Models{"": {Input: 10, Output: 2}},
		Turns: 2, ToolCalls: 4, SessionID: "s1", Answered: true, Events: 5,
	}
	must.Equal(t, "summary", got, want)
}

// TestReadTakesAnything mixes what may be in a log between the lines of each recorded
// one, which must say the same as before.
func TestReadTakesAnything(t *testing.T) {
	t.Parallel()
	for name, noise := range map[string]string{
		"standard error": "warning: something\n",
		"binary":         "\x00\xff\xfe\x1b[31m\x80\n",
		"other JSON":     "[1,2]\n{\"level\":\"info\"}\n42\nnull\n\"x\"\n",
		"broken JSON":    "{\"type\":\"result\",\n{{{{\n{\"type\":\n",
		"unknown":        `{"type":"news","is_error":true,"result":"429"}` + "\n" + `{"type":"item","message":"You've hit your usage limit"}` + "\n",
		"odd types":      `{"type":"telemetry","usage":"none","message":7,"item":[],"error":3}` + "\n",
		"cut":            "… 1234 bytes are missing …\n",
		"long line":      strings.Repeat("x", 5<<20) + "\n",
		"long JSON":      `{"type":"result","is_error":true,"result":"` + strings.Repeat("x", 5<<20) + "\"}\n",
		"empty lines":    "\n\r\n \n",
		"no line's end":  "warning: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for path, text := range logs(t) {
				format := formatOf(path)
				var b strings.Builder
				n, every := 0, 1+len(noise)>>20 // so many lines of five megabytes say no more
				for line := range strings.Lines(string(text)) {
					if n++; n%every != 0 {
						b.WriteString(line)
						continue
					}
					if strings.HasSuffix(noise, "\n") || strings.HasPrefix(line, "{") { // else it would be said of an error
						b.WriteString(noise)
					}
					b.WriteString(line)
				}
				if bytes.HasSuffix(text, []byte("\n")) {
					b.WriteString(noise)
				}
				got, want := read(t, format, b.String(), recorded()), read(t, format, string(text), recorded())
				got.Events = want.Events
				must.Equal(t, path, got, want)
			}
		})
	}
}

// TestReadAnyCut holds for each recorded log that is cut anywhere: nothing is claimed
// that the whole does not say.
func TestReadAnyCut(t *testing.T) {
	t.Parallel()
	texts := logs(t)
	paths := rapid.SampledFrom(keys(texts))
	rapid.Check(t, func(rt *rapid.T) {
		path := paths.Draw(rt, "log")
		text := texts[path]
		cut := rapid.IntRange(0, len(text)).Draw(rt, "cut")
		format := formatOf(path)
		whole := must.Get(transcript.Read(named(t, format), bytes.NewReader(text), recorded()))(rt)
		part := must.Get(transcript.Read(named(t, format), iotest.OneByteReader(bytes.NewReader(text[:cut])), recorded()))(rt)
		if part.Success != nil && !cmp.Equal(part.Success, whole.Success) {
			rt.Fatalf("success: got %v, of the whole %v", *part.Success, whole.Success)
		}
		if part.Tokens.Total() > whole.Tokens.Total() || part.ToolCalls > whole.ToolCalls || part.ToolErrors > whole.ToolErrors {
			rt.Fatalf("got more than of the whole: %+v, %+v", part, whole)
		}
	})
}

func keys(m map[string][]byte) []string {
	var list []string
	for key := range maps.Keys(m) {
		list = append(list, key)
	}
	return list
}

func TestReadNumbersThatCannotBe(t *testing.T) {
	t.Parallel()
	got := read(t, "claude", claudeInit+
		`{"type":"result","subtype":"success","result":"","total_cost_usd":-1,"num_turns":1e300,"usage":{"input_tokens":-5,"output_tokens":1e99,"cache_read_input_tokens":"x","cache_creation_input_tokens":2.0}}`, recorded())
	want := transcript.Summary{Tokens: transcript.Tokens{CacheWrite: 2}, Success: new(true), SessionID: "s1", Events: 2}
	must.Equal(t, "summary", got, want)
}

func TestReadTextsAreShownSafely(t *testing.T) {
	t.Parallel()
	got := read(t, "claude", claudeInit+claudeResult(`\u001b[2J bad\nnews \u0085 `+strings.Repeat("é", 1000)), recorded())
	if !strings.HasPrefix(got.Err, "\ufffd[2J bad news \ufffd é") || len(got.Err) > 310 || !strings.HasSuffix(got.Err, "é…") {
		t.Errorf("error: got %q", got.Err)
	}
}

// TestReadInBoundedMemory reads a quarter of the gigabyte that codex once printed by mistake
// (github.com/openai/codex/issues/9029), in lines and in one.
//
//nolint:paralleltest // what other tests allocate would count
func TestReadInBoundedMemory(t *testing.T) {
	const size = 1 << 28
	for name, pattern := range map[string]string{
		"lines": strings.Repeat("noise noise noise noise noise noise noise noise noise\n", 1000),
		"line":  strings.Repeat("noise", 10000),
	} {
		input := io.MultiReader(strings.NewReader(codexInit), io.LimitReader(&repeated{text: pattern}, size),
			strings.NewReader("\n"+codexFailure("429 Too Many Requests")))
		before := allocated()
		got, err := transcript.Read(named(t, "codex"), input, recorded())
		if err != nil || got.SessionID != "t1" || got.Quota == nil || got.Events != 3 {
			t.Errorf("%s: got %+v, error %v", name, got, err)
		}
		// All that was ever allocated bounds what was in use at once.
		if used := allocated() - before; used > 32<<20 {
			t.Errorf("%s: %d bytes allocated for an input of %d", name, used, size)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// repeated is a text without end.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func TestReadReportsReading(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	got, err := transcript.Read(named(t, "codex"), io.MultiReader(strings.NewReader(codexInit), iotest.ErrReader(broken)), recorded())
	if !errors.Is(err, broken) || got.SessionID != "t1" {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range logs(f) {
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range preset.Names() {
			s := read(t, format, text, recorded())
			if s.Tokens.Total() < 0 || s.CostUSD != nil && *s.CostUSD < 0 || s.Quota != nil && s.Quota.ResetAt.Sub(recorded()) > 1000*time.Hour {
				t.Errorf("%s: got %+v", format, s)
			}
		}
	})
}

// TestReadErrorAfterSuccess has the last word of a program that still reports an error when it cleans up.
func TestReadErrorAfterSuccess(t *testing.T) {
	t.Parallel()
	for program, text := range map[string]string{
		"codex":  codexInit + `{"type":"turn.completed"}` + "\n" + `{"type":"error","message":"unexpected status 503"}` + "\n",
		"claude": claudeInit + `{"type":"result","subtype":"success","result":"Done."}` + "\n" + `{"type":"assistant","error":"server_error","message":{"content":[{"text":"Oops"}]}}` + "\n",
	} {
		got := read(t, program, text, recorded())
		if got.Success == nil || !*got.Success || got.Err != "" || got.Fault != nil || got.Quota != nil {
			t.Errorf("%s: got success %v, error %q, fault %v, want a success alone", program, got.Success, got.Err, got.Fault)
		}
	}
}

// TestReadSharedWords reads errors in words that no table has: a program's own come first, then the status, then what it says.
func TestReadSharedWords(t *testing.T) {
	t.Parallel()
	cli := named(t, "pi")
	cli.Errors = []string{"model: ^429 of mine"}
	for text, want := range map[string]string{
		"429 of mine": "model", "429 slow down": "throttled", "429 You exceeded your current quota": "exhausted", "401 model not found": "login",
		"Error 503 fetch failed": "server", "fetch failed": "connection", `{"error":{"code":403}}`: "forbidden", "see 404 files": "",
	} {
		line := `{"type":"message_end","message":{"role":"assistant","stopReason":"error","errorMessage":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}}`
		s := must.Get(transcript.Read(cli, strings.NewReader(line), recorded()))(t)
		got := ""
		if s.Fault != nil {
			got = string(s.Fault.Kind)
		} else if s.Quota != nil {
			got = string(s.Quota.Kind)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestReadLaterClaude reads the errors that Claude Code 2.1.332 words anew.
func TestReadLaterClaude(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fleet.FaultKind{
		"API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)": fleet.FaultConnection,
		"API Error: Connection dropped (ECONNRESET). Check the gateway, then try again.":        fleet.FaultConnection,
		"API Error: Opus 5.5's safeguards flagged this message (https://x).":                    fleet.FaultRefusal,
	} {
		line := `{"type":"result","subtype":"success","is_error":true,"result":"` + text + `"}`
		if got := read(t, "claude", claudeInit+line, recorded()).Fault; got == nil || got.Kind != want {
			t.Errorf("%s: got %+v, want %s", text, got, want)
		}
	}
}
