package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
)

// change is what a page learns that asks.
type change struct {
	Version, Log string
	To           int64
	Reset        bool
}

// asks asks as a page does, two seconds after it did so last.
func (b *bench) asks(path string) (c change) {
	b.Helper()
	b.ahead.Add(int64(2 * time.Second))
	answer, text := b.get(path)
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: got %d: %s", path, answer.StatusCode, text)
	}
	b.check(json.Unmarshal([]byte(text), &c))
	return c
}

func TestChanges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.asks("/changes")
	_, page := b.get("/")
	contains(t, "page", page, `data-version="`+first.Version+`"`, `data-changes="/changes"`)
	b.addTask("a", "code")
	_, id := b.fire("code")
	if _, text := b.get("/changes"); !strings.Contains(text, first.Version) {
		t.Errorf("at once: got %s, want the version of a moment ago, for which nobody looked again", text)
	}
	seen := map[string]bool{first.Version: true, b.asks("/changes").Version: true}
	b.begin(id, "code", "a", "")
	seen[b.asks("/changes").Version] = true
	b.end(id, "")
	seen[b.asks("/changes").Version] = true
	if len(seen) != 4 {
		t.Errorf("got versions %v, want another one after the fire, the beginning and the end", seen)
	}
	if again := b.asks("/changes").Version; !seen[again] {
		t.Errorf("with nothing new: got version %s, want one of %v", again, seen)
	}
}

// TestChangeThatLapses waits for the end of a pause, of which the store learns nothing.
func TestChangeThatLapses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	now := clock()
	b.check(b.db.Pause(b.Context(), fleet.Pause{Since: now, Until: now.Add(time.Hour)}))
	paused := b.asks("/changes").Version
	b.ahead.Store(int64(2 * time.Hour))
	if over := b.asks("/changes").Version; paused == over {
		t.Errorf("after the pause: got the same version %s", over)
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
	path := "/runs/" + string(id) + "/changes"
	_, page := b.get("/runs/" + string(id))
	contains(t, "page", page, "one\ntwo\n</pre>", `data-to="8"`, `data-changes="`+path+`"`)
	if c := b.asks(path + "?from=8"); c.Log != "" || c.To != 8 {
		t.Errorf("got %+v, want nothing of a line that is not whole", c)
	}
	b.print(id, "ee\n"+hostileText+"\r\n\u20ac")
	c := b.asks(path + "?from=8")
	if !strings.HasPrefix(c.Log, "three\n</script><img") || strings.ContainsAny(c.Log, "\u202e\x1b\x07\x00") || !strings.HasSuffix(c.Log, "red\ufffd\ufffd\n") {
		t.Errorf("got %q, want the third line, and then text that does nothing", c.Log)
	}
	b.print(id, " more\nlast")
	for range 2 { // an answer that was lost is asked for again
		if got := b.asks(fmt.Sprintf("%s?from=%d", path, c.To)); got.Log != "\u20ac more\n" {
			t.Errorf("got %q, want one line", got.Log)
		}
	}
	before := b.asks(path + "?from=8").Version
	b.end(id, "done")
	if after := b.asks(path + "?from=8").Version; after == before {
		t.Errorf("after the end: got the same version %s", after)
	}
	_, page = b.get("/runs/" + string(id))
	contains(t, "page", page, "more\nlast\n</pre>", `data-changes=""`)
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
	one, two := says("one"), says("two")
	b.begin(id, "code", "a", one)
	_, page := b.get("/runs/" + string(id))
	contains(t, "page", page, "one\n</pre>", fmt.Sprintf(`data-to="%d"`, len(one)))
	b.print(id, two+strings.TrimSpace(says("last")))
	c := b.asks(fmt.Sprintf("/runs/%s/changes?from=%d", id, len(one)))
	if c.Log != "two\n" || c.To != int64(len(one)+len(two)) {
		t.Errorf("got %q to %d, want the second line", c.Log, c.To)
	}
}

// TestLogThatDoesNotGoOn has a page loaded anew, where its log was cut down or has grown by too much.
func TestLogThatDoesNotGoOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.addTask("a", "code")
	_, id := b.fire("code")
	b.begin(id, "code", "a", "a long beginning\n")
	path := "/runs/" + string(id) + "/changes?from=17"
	if c := b.asks(path); c.Reset || c.To != 17 {
		t.Errorf("got %+v, want nothing new", c)
	}
	b.check(os.Truncate(fleet.FilesOf(b.config.State, id).Log, 2))
	if c := b.asks(path); !c.Reset {
		t.Errorf("of a log that was cut down: got %+v", c)
	}
	b.print(id, strings.Repeat("much\n", 1<<18))
	if c := b.asks(path); !c.Reset || c.Log != "" {
		t.Errorf("of much: got reset %t and %d bytes", c.Reset, len(c.Log))
	}
	for _, from := range []string{"", "?from=-1", "?from=x"} {
		if answer, _ := b.get("/runs/" + string(id) + "/changes" + from); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: got %d, want 400", from, answer.StatusCode)
		}
	}
}
