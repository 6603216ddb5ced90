package screen_test

import (
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/screen"
	"stint/internal/testkit/must"
	"stint/internal/view"
)

// hostile lists what people, agents and programs may put into names and reasons: commands to
// a terminal, lines that pass for ours, marks that reorder text, wide letters.
func hostile() []string {
	return []string{
		"\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\u009b31m", "a\nrun 0000  forged", "a\r\rforged", "\u202egnol", "\u2067x\u2069",
		"日本語の長いタスク名がここにある", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦 family", "e\u0301\u0301\u0301", "tab\there", "\x00\x08\x7f", strings.Repeat("w", 300),
		"bad\xff\xfeutf8", "\u200b\ufeff", "",
	}
}

// inert fails for a line that a terminal would do more with than show it.
func inert(t *testing.T, line string) {
	t.Helper()
	if i := strings.IndexFunc(line, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\u2028' || r == '\u2029'
	}); i >= 0 {
		t.Errorf("%q: at byte %d is what a terminal obeys", line, i)
	}
}

// TestHostileWords puts them wherever other people's words can stand.
func TestHostileWords(t *testing.T) {
	t.Parallel()
	for _, word := range hostile() {
		v := troubledFleet()
		for i := range v.Open {
			v.Open[i].Task, v.Open[i].Agent = fleet.TaskID(word), word
		}
		v.Claims[0].Key, v.Claims[0].Holder, v.Claims[0].Note = fleet.Key(word), fleet.Holder("by "+word), word
		v.Away = &fleet.Away{Since: v.At, Reason: word}
		v.Fires[0].Fallback, v.Pauses[0].Reason, v.Closed[0].Reason, v.Stopped[0].Why, v.Stopped[0].Agent = word, word, word, word, word
		v.Waiting[0].Task, v.Waiting[0].Reason = fleet.TaskID(word), word
		v.Spent[0].Scope = fleet.AgentScope(word)
		v.Timers[1].Pool, v.Timers[1].Unit = word, word
		for i := range v.Runs {
			v.Runs[i].Task, v.Runs[i].Agent, v.Runs[i].Verdict.Reason = fleet.TaskID(word), word, word
		}
		d := endedView()
		d.Task, d.Key, d.Agent, d.Followed, d.Verdict.Reason = fleet.TaskID(word), fleet.Key(word), word, word, word
		d.Verdict.Parts = map[string]float64{word: 1, "grade_" + word: 0.671}
		d.Denials = []fleet.DeniedClaim{{Key: fleet.Key(word), Holder: fleet.Holder(word)}}
		d.Lessons = []fleet.LessonUse{{Lesson: fleet.LessonID(word), Injected: true}, {Lesson: fleet.LessonID(word)}}
		d.Choice.Reason, d.Prompt, d.Log, d.There = word, word, word, []string{"/state/" + word}
		for _, width := range []int{0, 40, 80, 120} {
			s := screen.Style{Width: width}
			for name, lines := range map[string][]string{
				"status": screen.Status(v, s), "runs": view.Run().Table(v.Runs, noon(), s), "run": screen.Run(d, s),
			} {
				for _, line := range lines {
					inert(t, line)
				}
				if width > 0 {
					fits(t, lines, width)
				}
				if t.Failed() {
					t.Fatalf("%s with %q at %d columns", name, word, width)
				}
			}
		}
	}
}

// TestWideWordsStayInColumns aligns by what a terminal shows, not by letters.
func TestWideWordsStayInColumns(t *testing.T) {
	t.Parallel()
	v := idleFleet()
	v.Open = []fleet.RunStatus{
		busyRun("code", "日本語", "claude", minute), busyRun("docs", "plain", "codex", minute), busyRun("news", "👩‍👩‍👧‍👦 x", "gptme", minute),
	}
	for i, lane := range []int{0, 4, 8} {
		v.Lanes[lane].Run = &v.Open[i]
	}
	var at []int
	for _, line := range screen.Status(v, screen.Style{Width: 80}) {
		for _, agent := range []string{"claude ", "codex ", "gptme "} {
			if before, _, ok := strings.Cut(line, agent); ok && strings.Contains(line, running) {
				at = append(at, ansi.StringWidth(before))
			}
		}
	}
	if len(at) != 3 || at[0] != at[1] || at[1] != at[2] {
		t.Errorf("agents in the columns %v, want three in one", at)
	}
}

const running = "●"

func TestPrintedLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"a\nb\n":                       {"a", "b"},
		"a\n\n\nb":                     {"a", "", "", "b"},
		"10%\r20%\r100%\n":             {"10%", "20%", "100%"},
		"dos\r\nends\r\n":              {"dos", "ends"},
		"\r\r\rx\n":                    {"x"},
		"x\r\n\n":                      {"x", ""},
		"\x1b[31mred\x1b[m \x1b[1Kx\n": {"red x"},
		"\x1b]0;title\x07shown\n":      {"shown"},
		"\x1b]8;;http://x\x1b\\link\n": {"link"},
		"\x1b":                         {""},
		"\x1b[31":                      {""},
		"ab\b\bcd\b\n":                 {"c"},
		"\b\bx\n":                      {"x"},
		"N\bNA\bA\n":                   {"NA"},
		"\ttab\ttab\n":                 {"\ttab\ttab"},
		"bell\x07\n":                   {"bell\ufffd"},
		"\u202egnol\n":                 {"\ufffdgnol"},
		"\x9b31mx\n":                   {"\ufffd31mx"},
		"bad\xffutf8\n":                {"bad\ufffdutf8"},
		"日本 👩‍👧\n":                     {"日本 👩‍👧"},
	} {
		if diff := cmp.Diff(screen.PrintedLines(text), want); diff != "" {
			t.Errorf("%q (-got +want):\n%s", text, diff)
		}
	}
}

// FuzzPrinted writes any text in any two pieces: what comes out is inert, and the same as
// if it had come at once.
func FuzzPrinted(f *testing.F) {
	for _, word := range hostile() {
		f.Add(word+"\r\n"+word, len(word)/2)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		cut = min(max(cut, 0), len(text))
		var whole, pieces strings.Builder
		for _, to := range []struct {
			w     *strings.Builder
			parts []string
		}{{&whole, []string{text}}, {&pieces, []string{text[:cut], text[cut:]}}} {
			p := screen.NewPrinted(to.w)
			for _, part := range to.parts {
				if n, err := io.WriteString(p, part); n != len(part) || err != nil {
					t.Fatalf("%d, %v, want %d bytes taken", n, err, len(part))
				}
			}
			must.Do(t, p.Close())
		}
		if whole.String() != pieces.String() {
			t.Errorf("%q at once, %q in pieces", whole.String(), pieces.String())
		}
		for line := range strings.Lines(whole.String()) {
			inert(t, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", ""))
		}
	})
}

// TestPrintedLongLine breaks a line that never ends, and keeps no more of it than that.
func TestPrintedLongLine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := screen.NewPrinted(&b)
	const size = 1 << 20
	for range size / 1024 {
		_, _ = io.WriteString(p, strings.Repeat("x", 1024))
	}
	_ = p.Close()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if got := len(strings.Join(lines, "")); got != size || len(lines) != 16 {
		t.Errorf("%d bytes in %d lines, want %d in 16", got, len(lines), size)
	}
}
