package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHostileTerminal prints the same fleet's record: whatever it holds, a terminal gets
// nothing but text.
func TestHostileTerminal(t *testing.T) {
	t.Parallel()
	f := showFleet(t, program(t), 2_000)
	last := f.one("select max(id) from runs where ended_at is not null and task <> ''")
	denied := f.one("select max(run) from denials")
	open := f.one("select max(id) from runs where ended_at is null")
	task := f.one("select max(task) from runs where task like 'right %'")
	held := f.one("select max(key) from claims where released_at is null and key like 'held right %'")
	f.write("state/runs/"+last+"/log", strings.Join(hostileTexts(), "\n"), 0o600)
	for _, args := range [][]string{
		{"status"},
		{"status", "--last", "200"},
		{"runs", "-n", "300"},
		{"runs", "--outcome", "lost"},
		{"show", last},
		{"show", denied},
		{"show", open},
		{"show", "c3"},
		{"logs", last},
		{"logs", "-n", "1000", last},
		{"claim", "list"},
		{"claim", "list", "--all"},
		{"task", "list"},
		{"report"},
		{"report", "--csv"},
		{"audit"},
		{"why", "last"},
		{"why", last},
		{"why", denied},
		{"why", "c1"},
		{"why", "c2"},
		{"why", "--task", task},
		{"why", "--task", held},
		{"why", "--task", "task-3 <img src=x onerror=alert(5)> \u202e"},
		{"select", "--explain"},
	} {
		said := strings.ReplaceAll(f.run(0, args...), "\r\n", "\n") // the end of a line in CSV
		if bad := unsafeText.FindString(said); bad != "" {
			at := strings.Index(said, bad)
			t.Errorf("stint %s: got %q in %q, want none such", strings.Join(args, " "), bad, said[max(0, at-80):min(len(said), at+80)])
		}
		if len(said) < 40 {
			t.Errorf("stint %s: got %q, want what it is for", strings.Join(args, " "), said)
		}
	}
}

// TestBrowserComplains opens a page with all that the other pages must not have: the
// test of those is worth no more than what it notices.
func TestBrowserComplains(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/strict" {
			w.Header().Set("Content-Security-Policy", "default-src 'none'")
		}
		_, _ = w.Write([]byte(`<!doctype html><title>bad</title><body style="background: rgb(250, 250, 250)">
			<script>window.pwned = 1; alert(1); throw new Error('x')</script><img src="http://evil.example/x">
			<p style="color: #ddd; width: 3000px">` + "faint \u202e" + `</p>`))
	}))
	defer server.Close()
	tab := startChromium(t).tab()
	tab.do("Page.addScriptToEvaluateOnNewDocument", object{"source": noteViolations}, nil)
	tab.look(1200, "light")
	tab.open(server.URL)
	var s seen
	tab.eval(lookAround, &s)
	if s.Pwned != "number" || len(s.Scripts) != 1 || len(s.Foreign) < 2 || s.Overflow < 1000 || s.Contrast > 2 || !unsafeText.MatchString(s.Text) {
		t.Errorf("got %+v, want every fault of it noted", s)
	}
	requests, trouble := tab.took()
	if all := strings.Join(requests, " "); !strings.Contains(all, "http://evil.example/x") {
		t.Errorf("got requests %s, want the one to elsewhere among them", all)
	}
	if all := strings.Join(trouble, "\n"); !strings.Contains(all, "dialog: 1") || !strings.Contains(all, "exception: ") {
		t.Errorf("got the trouble %s, want a dialog and an exception", all)
	}
	tab.open(server.URL + "/strict")
	tab.until("violations.length >= 2")
	tab.eval(lookAround, &s)
	if s.Pwned != "undefined" || len(s.Violations) < 2 {
		t.Errorf("got %+v, want the policy to have kept its script and picture away", s)
	}
	if _, trouble := tab.took(); !strings.Contains(strings.Join(trouble, "\n"), "Content Security Policy") {
		t.Errorf("got the trouble %q, want what the policy refused", trouble)
	}
}
