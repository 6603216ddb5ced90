package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/web"
)

// patience bounds the wait for an event.
const patience = 2 * time.Minute

type event struct{ name, id, data string }

// stream follows a stream of events until it ends or the test does.
func (b *bench) stream(path string, headers ...string) <-chan event {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.server.URL+path, http.NoBody)
	b.check(err)
	r.Header.Set("Authorization", b.bearer)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	b.check(err)
	if got, want := answer.Header.Get("Content-Type"), "text/event-stream"; got != want {
		b.Fatalf("%s: got type %q, want %q", path, got, want)
	}
	events := make(chan event, 1000)
	go func() {
		defer close(events)
		defer answer.Body.Close()
		var e event
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e.name != "" {
					events <- e
				}
				e = event{}
			}
		}
	}()
	return events
}

// next is the next event of a name; others are passed over.
func next(t *testing.T, events <-chan event, name string) event {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case e, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %q", name)
			}
			if e.name == name {
				return e
			}
		case <-late:
			t.Fatalf("no %q in time", name)
		}
	}
}

// printed collects what a stream says of a log until it holds a text.
func printed(t *testing.T, events <-chan event, until string) (text, id string) {
	t.Helper()
	for !strings.Contains(text, until) {
		var piece string
		e := next(t, events, "log")
		if err := json.Unmarshal([]byte(e.data), &piece); err != nil {
			t.Fatalf("data %q: %v", e.data, err)
		}
		text, id = text+piece, e.id
	}
	return text, id
}

func TestEventsTellOfChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	events := b.stream("/events")
	first := next(t, events, "change")
	_, page := b.get("/")
	var v struct{ Version string }
	b.check(json.Unmarshal([]byte(first.data), &v))
	contains(t, "page", page, `data-version="`+v.Version+`"`)

	b.addTask("a", "code")
	_, id := b.fire("code")
	second := next(t, events, "change")
	if first.data == second.data {
		t.Errorf("after a fire: got the same version %s", second.data)
	}
	b.begin(id, "code", "a", "")
	third := next(t, events, "change")
	b.end(id, "")
	fourth := next(t, events, "change")
	if third.data == fourth.data || second.data == third.data {
		t.Errorf("versions: got %s, %s, %s, want three", second.data, third.data, fourth.data)
	}
}

// TestEventsTellOfWhatLapses waits for the end of a pause, of which the store learns nothing.
func TestEventsTellOfWhatLapses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	events := b.stream("/events")
	next(t, events, "change")
	now := clock()
	b.check(b.db.Pause(b.Context(), fleet.Pause{Since: now, Until: now.Add(time.Hour)}))
	paused := next(t, events, "change")
	b.ahead.Store(int64(2 * time.Hour))
	over := next(t, events, "change")
	if paused.data == over.data {
		t.Errorf("after the pause: got the same version %s", over.data)
	}
}

// TestRunIsFollowed follows a run to its end: whole lines, nothing twice, nothing lost,
// whatever they hold.
func TestRunIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.addTask("a", "code")
	_, id := b.fire("code")
	b.begin(id, "code", "a", "one\ntwo\nthr")
	path := "/runs/" + string(id) + "/events"
	_, page := b.get("/runs/" + string(id))
	contains(t, "page", page, "one\ntwo\n</pre>", `data-to="8"`)

	events := b.stream(path + "?from=8")
	b.print(id, "ee\n"+hostileText+"\r\n\u20ac")
	text, at := printed(t, events, "red")
	if !strings.HasPrefix(text, "three\n</script><img") || strings.ContainsAny(text, "\u202e\x1b\x07\x00") {
		t.Errorf("got %q, want the third line, and then text that does nothing", text)
	}
	// A reader that lost the stream goes on at the line that was not whole.
	again := b.stream(path, "Last-Event-ID", at)
	b.print(id, " more\nlast")
	for _, s := range []<-chan event{events, again} {
		if text, _ := printed(t, s, "more"); text != "\u20ac more\n" {
			t.Errorf("got %q, want one line", text)
		}
	}
	b.end(id, "done")
	for _, s := range []<-chan event{events, again} {
		if text, _ := printed(t, s, "last"); text != "last\n" {
			t.Errorf("got %q, want the last line, which has no end", text)
		}
		next(t, s, "end")
		if _, open := <-s; open {
			t.Error("something came after the end")
		}
	}
	// The log of a run that has ended is sent whole, and at once.
	if text, _ := printed(t, b.stream(path), "last"); !strings.HasPrefix(text, "one\ntwo\nthree\n") {
		t.Errorf("got %q, want all of it", text)
	}
}

// TestRunOfJSONIsFollowed shows as text what an agent prints as JSON, on the page and after it.
func TestRunOfJSONIsFollowed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fake := b.config.Agents["fake"]
	fake.CLI = config.Preset("claude").CLI
	b.config.Agents["fake"] = fake
	b.addTask("a", "code")
	_, id := b.fire("code")
	says := func(text string) string {
		return `{"type":"assistant","message":{"content":[{"type":"text","text":"` + text + `"}]}}` + "\n"
	}
	b.begin(id, "code", "a", says("one"))
	_, page := b.get("/runs/" + string(id))
	contains(t, "page", page, "one\n</pre>", fmt.Sprintf(`data-to="%d"`, len(says("one"))))
	events := b.stream(fmt.Sprintf("/runs/%s/events?from=%d", id, len(says("one"))))
	two := says("two")
	b.print(id, two[:20])
	b.print(id, two[20:]+strings.TrimSpace(says("last")))
	if text, at := printed(t, events, "two"); text != "two\n" || at != strconv.Itoa(len(says("one"))+len(two)) {
		t.Errorf("got %q at %s, want the second line", text, at)
	}
	b.end(id, "done")
	if text, _ := printed(t, events, "last"); text != "last\n" {
		t.Errorf("got %q, want the last line, which has no end", text)
	}
}

func TestLogThatIsCutDown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.addTask("a", "code")
	_, id := b.fire("code")
	b.begin(id, "code", "a", "a long beginning\n")
	events := b.stream("/runs/" + string(id) + "/events")
	printed(t, events, "beginning")
	b.check(os.Truncate(fleet.FilesOf(b.config.State, id).Log, 2))
	next(t, events, "reset")
}

func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 64 {
		b.stream("/events")
	}
	answer, _ := b.get("/events")
	if got, want := answer.StatusCode, http.StatusServiceUnavailable; got != want {
		t.Errorf("the 65th: got status %d, want %d", got, want)
	}
	if answer, _ = b.get("/"); answer.StatusCode != http.StatusOK {
		t.Errorf("a page beside them: got status %d, want 200", answer.StatusCode)
	}
}

// TestStreamsEndWithTheServer is alone with its goroutines: it counts those that are of
// this package.
func TestStreamsEndWithTheServer(t *testing.T) { //nolint:paralleltest // others' goroutines would be counted
	b := emptyBench(t, web.Options{})
	b.open()
	b.addTask("a", "code")
	_, id := b.fire("code")
	streams := []<-chan event{b.stream("/events"), b.stream("/events"), b.stream("/runs/" + string(id) + "/events")}
	for _, s := range streams {
		next(t, s, "change")
	}
	b.stop()
	end, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.server.Config.Shutdown(end); err != nil {
		t.Errorf("shut down with streams open: %v", err)
	}
	for _, s := range streams {
		for range s {
		}
	}
	deadline := time.After(patience)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "stint/internal/web.") {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}
