package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/web"
)

func TestPagesShowTheFleet(t *testing.T) {
	t.Parallel()
	b, fire, ended, open := worked(t)
	for path, wants := range map[string][]string{
		"/":                                {"In use", string(open), "Needs attention", "stint resume triage", "<svg", `data-changes="/changes"`, `http-equiv="refresh"`},
		"/ranking":                         {"Scores", "wins with", "part-ts", fmt.Sprintf("fire=%d", fire-1)},
		fmt.Sprintf("/ranking?fire=%d", 1): {"Ranking of fire"},
		"/review":                          {string(ended), `data-label="State"><bdi>waiting<`, `data-label="Lines">1<`},
		"/review/" + string(ended):         {"Review of run", `<span class="good">+&lt;/script&gt;`, `<span class="bad">-gone</span>`, "It is cut", "Land on ", "/reject"},
		"/tasks":                           {"Open tasks", "&lt;script&gt;"},
		"/claims":                          {"run:" + string(open), "Last denials"},
		"/fires":                           {fmt.Sprintf(`href="/fires/%d"`, fire)},
		fmt.Sprintf("/fires/%d", fire):     {"Decisions and reasons", string(ended), "productive", "no workable task"},
		"/runs":                            {string(ended), string(open), "<select"},
		"/runs?category=docs":              {string(open)},
		"/runs?fire=1":                     {string(open), `name="fire" value="1"`},
		"/runs?agent=fake":                 {string(ended), "selected>fake"},
		"/runs?agent=none":                 {"No such run"},
		"/runs/" + string(ended):           {"Terms of the grade", "0.75", "begin\n", "over\n", "Denied"},
		"/runs/" + string(open):            {"running", "at work\n", "/changes", `http-equiv="refresh"`},
		"/report":                          {"Categories", "<svg"},
		"/report?since=all":                {"Categories"},
	} {
		answer, text := b.get(path)
		if path == "/ranking" {
			wants = wants[:3]
		}
		if got, want := answer.StatusCode, http.StatusOK; got != want {
			t.Errorf("%s: status %d, want %d\n%s", path, got, want, text)
		}
		contains(t, path, text, wants...)
	}
	_, text := b.get("/runs?category=docs")
	if strings.Contains(text, string(ended)) {
		t.Errorf("runs of docs: got one of code:\n%s", text)
	}
	if _, text = b.get("/runs/" + string(ended)); strings.Contains(text, "refresh") {
		t.Errorf("a run that has ended: the page is reloaded")
	}
	// The parts that are said to add up to the grade do: counts are none of them.
	sum := 0.0
	table, _, _ := strings.Cut(text[strings.Index(text, `id="parts"`):], "</table>")
	for _, part := range regexp.MustCompile(`[+-][0-9.]+</td>`).FindAllString(html.UnescapeString(table), -1) {
		value := must.Get(strconv.ParseFloat(strings.TrimSuffix(part, "</td>"), 64))(t)
		sum += value
	}
	if math.Abs(sum-0.75) > 1e-9 || strings.Contains(table, "commits") {
		t.Errorf("got parts that add up to %v, want 0.75:\n%s", sum, table)
	}
	contains(t, "facts", text, `id="facts"`, `>commits</bdi></th><td class="n">1<`)
	// Beliefs stand on a scale of grades, not on that of the scores.
	_, text = b.get("/ranking")
	contains(t, "nothing is known", text, `class="range" x="2.5" y="3" width="95"`, "(0.03–0.97)")
}

// TestNothingHostileIsMarkup asks for every page of a fleet whose names, notes, reasons and
// logs want to be more than text.
func TestNothingHostileIsMarkup(t *testing.T) {
	t.Parallel()
	b, fire, ended, open := worked(t)
	tag := regexp.MustCompile(`(?i)<img|onerror="|<script(?: src="/script\.js" defer)?>`)
	for _, path := range []string{
		"/", "/ranking", "/review", "/review/" + string(ended), "/tasks", "/claims", "/fires", fmt.Sprintf("/fires/%d", fire), "/runs", "/runs/" + string(ended), "/runs/" + string(open), "/report",
		"/runs?task=" + "%3Cimg%20src%3Dx%3E", "/runs?category=%3Cimg%3E", "/%3Cimg%20src=x%3E", "/?span=%3Cimg%3E", "/runs/%3Cimg%3E",
	} {
		answer, text := b.get(path)
		if got, want := answer.Header.Get("Content-Type"), "text/html; charset=utf-8"; got != want {
			t.Errorf("%s: got type %q, want %q", path, got, want)
		}
		for _, found := range tag.FindAllString(text, -1) {
			if found != `<script src="/script.js" defer>` {
				t.Errorf("%s: markup %q", path, found)
			}
		}
		if strings.ContainsAny(text, "\u202e\u2066\x1b\x07\x00") {
			t.Errorf("%s: holds marks that act on the reader:\n%q", path, text)
		}
		for _, inline := range []string{" style=", " onclick=", "javascript:", "http://", "https://"} {
			if rest := strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, ""); strings.Contains(rest, inline) {
				t.Errorf("%s: holds %q", path, inline)
			}
		}
	}
}

func TestEveryPageHasAnObject(t *testing.T) {
	t.Parallel()
	b, fire, ended, _ := worked(t)
	for path, want := range map[string]string{
		"/status": "stint/status@1", "/ranking": "stint/ranking@1", "/review": "stint/review@1", "/tasks": "stint/tasks@1", "/review/" + string(ended): "stint/review-diff@1", "/claims": "stint/claims@1", "/fires": "stint/fires@1",
		fmt.Sprintf("/fires/%d", fire): "stint/ranking@1", "/runs": "stint/runs@1", "/runs/" + string(ended): "stint/run-detail@1",
		"/report": "stint/report@1",
	} {
		_, byName := b.get(path + ".json")
		if path == "/status" {
			path = "/"
		}
		answer, byAccept := b.get(path, "Accept", "application/json")
		for _, text := range []string{byName, byAccept} {
			var o struct{ Schema string }
			if err := json.Unmarshal([]byte(text), &o); err != nil || o.Schema != want {
				t.Errorf("%s: got schema %q (%v), want %q\n%s", path, o.Schema, err, want, text)
			}
		}
		if got, want := answer.Header.Get("Content-Type"), "application/json"; got != want {
			t.Errorf("%s: got type %q, want %q", path, got, want)
		}
	}
}

func TestPagesOfNothing(t *testing.T) {
	t.Parallel()
	b := emptyBench(t, web.Options{})
	for path, want := range map[string]string{
		"/": "Nothing has run yet", "/ranking": "No fire yet", "/review": "Nothing waits for review", "/claims": "No claim is held", "/fires": "No fire yet",
		"/runs": "Nothing has run yet", "/report": "There were no runs", "/metrics": "stint_fires_total 0", "/healthz": "ok",
	} {
		answer, text := b.get(path)
		if got := answer.StatusCode; got != http.StatusOK {
			t.Errorf("%s: status %d, want 200\n%s", path, got, text)
		}
		contains(t, path, text, want)
	}
	b.open() // and then something has
	b.addTask("a", "code")
	b.fire("code")
	_, text := b.get("/")
	contains(t, "after the first fire", text, "code", "planned")
}

func TestPagesThatAreNot(t *testing.T) {
	t.Parallel()
	b, _, _, _ := worked(t)
	for path, want := range map[string]int{
		"/nothing": 404, "/fires/999": 404, "/runs/0000000000000000": 404, "/runs/0000000000000000/log": 404,
		"/runs/0000000000000000/changes?from=0": 404, "/fires/0": 400, "/fires/x": 400, "/fires/-1": 400, "/runs/UPPER": 400, "/runs/..%2f..%2fstint.db": 400,
		"/runs/..%2f..%2fstint.db/log": 400, "/runs?outcome=won": 400, "/runs?before=%2f": 400, "/ranking?fire=x": 400, "/ranking?fire=99": 404,
		"/?span=1y": 400, "/review/UPPER": 400, "/report?since=1y": 400,
	} {
		if answer, text := b.get(path); answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d\n%s", path, answer.StatusCode, want, text)
		}
		answer, text := b.get(path, "Accept", "application/json")
		var o struct {
			Schema, Error string
			Status        int
		}
		if err := json.Unmarshal([]byte(text), &o); err != nil || o.Schema != "stint/page-error@1" || o.Status != want || answer.StatusCode != want {
			t.Errorf("%s: got %+v (%v), want an object with status %d", path, o, err, want)
		}
	}
}

func TestFleetThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fault := fleet.WithHint(errors.New("read <b>stint.toml</b>"), "stint config check")
	b.fault.Store(&fault)
	answer, text := b.get("/")
	if got, want := answer.StatusCode, http.StatusServiceUnavailable; got != want {
		t.Errorf("status %d, want %d", got, want)
	}
	contains(t, "page", text, "read &lt;b&gt;stint.toml", "stint config check", "refresh")
	if answer, text = b.get("/healthz"); answer.StatusCode != http.StatusServiceUnavailable || text != "unavailable\n" {
		t.Errorf("healthz: got %d %q, want 503 and no reason", answer.StatusCode, text)
	}
	b.fault.Store(nil)
	if answer, _ = b.get("/"); answer.StatusCode != http.StatusOK {
		t.Errorf("once it can be read: status %d, want 200", answer.StatusCode)
	}
}

func TestRunsAreLeafedThrough(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const all = 120
	for i := range all {
		at := clock()
		b.check(b.db.AddRun(t.Context(), fleet.Run{ID: fleet.NewRunID(at, uint32(i)), Category: "code", Source: fleet.FromHand, CreatedAt: at})) //nolint:gosec // a small number
	}
	row, older := regexp.MustCompile(`<tr><th scope="row" data-label="Run"><a href="/runs/([0-9a-z]+)">`), regexp.MustCompile(`id="older" href="([^"]+)"`)
	seen := map[string]bool{}
	pages := 0
	for path := "/runs?category=code&task="; path != ""; pages++ {
		_, text := b.get(path)
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			seen[m[1]] = true
		}
		path = ""
		if m := older.FindStringSubmatch(text); m != nil {
			path = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != all || pages != 3 {
		t.Errorf("got %d runs on %d pages, want %d on 3", len(seen), pages, all)
	}
}

// TestFilterSaysWhatIsShown asks for runs of what the configuration has no more.
func TestFilterSaysWhatIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, page := b.get("/runs?category=gone&agent=old%3Cb%3E")
	contains(t, "form", page, `<option value="gone" selected>gone</option>`, `<option value="old&lt;b&gt;" selected>old&lt;b&gt;</option>`)
	_, page = b.get("/runs?category=code")
	contains(t, "form", page, `<option value="code" selected>code</option>`)
}

func TestLogIsServedAsText(t *testing.T) {
	t.Parallel()
	b, _, ended, open := worked(t)
	answer, text := b.get("/runs/" + string(ended) + "/log")
	if got, want := text, "begin\n"+hostileText+"\rover\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, want := range map[string]string{"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"} {
		if got := answer.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	answer, text = b.get("/runs/"+string(ended)+"/log", "Range", "bytes=0-4")
	if answer.StatusCode != http.StatusPartialContent || text != "begin" {
		t.Errorf("a range: got %d %q, want 206 and the first five bytes", answer.StatusCode, text)
	}
	// A thing that an agent puts in the place of its log is not read.
	log := fleet.FilesOf(b.config.State, open).Log
	for name, place := range map[string]func() error{
		"link":       func() error { return os.Symlink(b.config.Path, log) },
		"other name": func() error { return os.Link(b.config.State+"/"+sqlite.File, log) },
		"pipe":       func() error { return syscall.Mkfifo(log, 0o600) },
		"dir":        func() error { return os.Mkdir(log, 0o700) },
	} {
		b.check(os.Remove(log))
		b.check(place())
		if answer, text := b.get("/runs/" + string(open) + "/log"); answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d %q, want 404", name, answer.StatusCode, text)
		}
		if answer, _ := b.get("/runs/" + string(open)); answer.StatusCode != http.StatusOK {
			t.Errorf("page of a run with a %s for its log: got %d, want 200", name, answer.StatusCode)
		}
	}
}

// TestLongLog shows the end of a log, from a whole line on.
func TestLongLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.addTask("a", "code")
	_, id := b.fire("code")
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "line %d of a long log\n", i)
	}
	b.begin(id, "code", "a", text.String()+"half")
	_, page := b.get("/runs/" + string(id))
	contains(t, "page", page, "\nline 19999 of a long log\n</pre>", "The last ", fmt.Sprintf(`data-to="%d"`, text.Len()))
	if !regexp.MustCompile(`data-to="\d+">\nline \d+ of`).MatchString(page) {
		t.Error("the page does not begin with a whole line of the log")
	}
	if strings.Contains(page, "line 1 of") || strings.Contains(page, "half") {
		t.Error("the page shows the beginning of the log, or a line that is not whole")
	}
}

// slow notes until when each piece was to be taken.
type slow struct {
	*httptest.ResponseRecorder
	until []time.Time
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	s.until = append(s.until, t)
	return nil
}

// TestReadersHaveTime has each piece of a log be taken in time, but not all of it at once,
// and a page within a time that begins when it is made: until then it may have to wait.
func TestReadersHaveTime(t *testing.T) {
	t.Parallel()
	b, _, ended, _ := worked(t)
	b.print(ended, strings.Repeat("a line\n", 20_000))
	answer := &slow{ResponseRecorder: httptest.NewRecorder()}
	begin := clock()
	b.server.Config.Handler.ServeHTTP(answer, request(t.Context(), "/runs/"+string(ended)+"/log"))
	if got := len(answer.until); got < 2 || answer.Body.Len() < 140_000 {
		t.Fatalf("got %d bytes and %d times by which they must be taken, want all and several", answer.Body.Len(), got)
	}
	b.server.Config.Handler.ServeHTTP(answer, request(t.Context(), "/report"))
	if got, want := answer.until[len(answer.until)-1].Sub(begin).Round(10*time.Second), 30*time.Second; got != want {
		t.Errorf("got a page to be taken within %v of when it was made, want %v", got, want)
	}
	for _, at := range answer.until {
		if at.Before(begin) || at.After(begin.Add(time.Minute)) {
			t.Errorf("got a piece to be taken by %v, want soon after %v", at, begin)
		}
	}
}

// TestReportsAreMadeInTurn asks for more reports than there may be looks at once: they
// read much, so one is made at a time, and none keeps other pages from being made.
func TestReportsAreMadeInTurn(t *testing.T) {
	t.Parallel()
	type ofReport struct{}
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Int32
		goOn := make(chan struct{})
		pages := web.New(web.Options{Token: usualToken, Log: slog.New(slog.DiscardHandler), Now: clock, With: func(ctx context.Context, _ func(*inspect.Explainer) error) error {
			if ctx.Value(ofReport{}) != nil {
				under.Add(1)
				<-goOn
			}
			return fleet.ErrNothing
		}})
		ask := func(ctx context.Context, path string) int {
			answer := httptest.NewRecorder()
			pages.ServeHTTP(answer, request(ctx, path))
			return answer.Code
		}
		var all sync.WaitGroup
		for range 40 {
			all.Go(func() { ask(context.WithValue(t.Context(), ofReport{}, true), "/report") })
		}
		synctest.Wait()
		if got := under.Load(); got != 1 {
			t.Errorf("got %d reports under way at once, want 1", got)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := ask(soon, "/"); got != http.StatusServiceUnavailable {
			t.Errorf("a page beside them: got status %d, want %d as the fleet cannot be read", got, http.StatusServiceUnavailable)
		}
		close(goOn)
		all.Wait()
	})
}

func TestMetricsAreReadable(t *testing.T) {
	t.Parallel()
	b, _, _, _ := worked(t)
	answer, text := b.get("/metrics")
	contains(t, "type", answer.Header.Get("Content-Type"), "text/plain; version=0.0.4")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if got := families["stint_fires_total"].GetMetric()[0].GetCounter().GetValue(); got != 1 {
		t.Errorf("stint_fires_total: got %v, want 1", got)
	}
}
