package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// chromium is a browser without a screen, driven over a pipe by the DevTools protocol:
// https://chromedevtools.github.io/devtools-protocol. Each message is JSON and ends with a
// zero byte. The part used here takes fewer lines than the choice of a library.
type chromium struct {
	testing.TB
	to *os.File

	mu      sync.Mutex
	number  int
	waiting map[int]chan message
	tabs    map[string]*tab // by session
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// startChromium starts a browser that knows nobody and reaches nothing but this machine.
func startChromium(tb testing.TB) *chromium {
	tb.Helper()
	args := []string{
		"--headless", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-extensions", "--hide-scrollbars",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir=" + tb.TempDir(), "--remote-debugging-pipe",
	}
	if os.Getuid() == 0 {
		args = append(args, "--no-sandbox") // its sandbox wants a user to confine
	}
	theirs, to := pipe(tb)
	from, back := pipe(tb)
	cmd := exec.Command("chromium", append(args, "about:blank")...)
	cmd.ExtraFiles = []*os.File{theirs, back} // descriptors 3 and 4, as it expects
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tb.TempDir(), "LANG=C.UTF-8"}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("%v; scripts/setup test installs it", err)
	}
	_, _ = theirs.Close(), back.Close() // the browser has its own
	c := &chromium{TB: tb, to: to, waiting: map[int]chan message{}, tabs: map[string]*tab{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.listen(from)
	}()
	tb.Cleanup(func() {
		_ = to.Close() // which ends it
		<-done
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // and whatever it has left
		_ = cmd.Wait()
		_ = from.Close()
	})
	return c
}

func pipe(tb testing.TB) (r, w *os.File) {
	tb.Helper()
	r, w, err := os.Pipe()
	must.Do(tb, err)
	return r, w
}

// listen hands out what the browser says until it ends.
func (c *chromium) listen(from *os.File) {
	lines := bufio.NewReader(from)
	for {
		text, err := lines.ReadBytes(0)
		if err != nil {
			break
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			c.Errorf("the browser says %q: %v", text, err)
			continue
		}
		c.mu.Lock()
		reply, t := c.waiting[m.ID], c.tabs[m.Session]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		switch {
		case reply != nil:
			reply <- m
		case t != nil:
			t.heard(m)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, reply := range c.waiting {
		delete(c.waiting, id)
		close(reply)
	}
}

// send asks the browser something and returns where its answer will be.
func (c *chromium) send(session, method string, params any) (<-chan message, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	reply := make(chan message, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	if text, err = json.Marshal(message{ID: c.number, Session: session, Method: method, Params: text}); err != nil {
		return nil, err
	}
	c.waiting[c.number] = reply
	_, err = c.to.Write(append(text, 0))
	return reply, err
}

// call asks the browser something and waits for the answer.
func (c *chromium) call(session, method string, params, result any) {
	c.Helper()
	reply, err := c.send(session, method, params)
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	select {
	case m, ok := <-reply:
		switch {
		case !ok:
			err = errors.New("the browser has ended")
		case m.Error != nil:
			err = errors.New(m.Error.Message)
		case result != nil:
			err = json.Unmarshal(m.Result, result)
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
}

type object map[string]any

// tab is a page of the browser, and what it did that it should not.
type tab struct {
	*chromium
	session string

	mu       sync.Mutex
	requests []string // addresses it asked for
	trouble  []string
}

// tab opens an empty page.
func (c *chromium) tab() *tab {
	c.Helper()
	var target struct{ TargetID string }
	c.call("", "Target.createTarget", object{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("", "Target.attachToTarget", object{"targetId": target.TargetID, "flatten": true}, &attached)
	t := &tab{chromium: c, session: attached.SessionID}
	c.mu.Lock()
	c.tabs[t.session] = t
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		t.do(domain+".enable", object{}, nil)
	}
	return t
}

func (t *tab) do(method string, params, result any) {
	t.Helper()
	t.call(t.session, method, params, result)
}

// heard notes what the page does. A dialog would hold it up for ever, so it is closed.
func (t *tab) heard(m message) {
	var p struct {
		Message string
		Request struct{ URL string }
		Entry   struct{ Level, Text, URL string }
		Details json.RawMessage `json:"exceptionDetails"`
		Type    string
		Args    json.RawMessage
	}
	_ = json.Unmarshal(m.Params, &p) // other events have other fields, which nobody reads
	t.mu.Lock()
	defer t.mu.Unlock()
	switch m.Method {
	case "Page.javascriptDialogOpening":
		t.trouble = append(t.trouble, "dialog: "+p.Message)
		_, _ = t.send(t.session, "Page.handleJavaScriptDialog", object{"accept": false}) // nobody waits for the answer
	case "Network.requestWillBeSent":
		t.requests = append(t.requests, p.Request.URL)
	case "Log.entryAdded":
		if p.Entry.Level == "error" { // among them what the content-security policy refused
			t.trouble = append(t.trouble, "log: "+p.Entry.Text+" "+p.Entry.URL)
		}
	case "Runtime.exceptionThrown":
		t.trouble = append(t.trouble, "exception: "+string(p.Details))
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "assert" {
			t.trouble = append(t.trouble, "console: "+string(p.Args))
		}
	}
}

// took returns what was noted since the last time.
func (t *tab) took() (requests, trouble []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	requests, trouble, t.requests, t.trouble = t.requests, t.trouble, nil, nil
	return requests, trouble
}

// eval computes an expression in the page.
func (t *tab) eval(expression string, value any) {
	t.Helper()
	var r struct {
		Result  struct{ Value json.RawMessage }
		Details *struct{ Exception struct{ Description string } } `json:"exceptionDetails"`
	}
	t.do("Runtime.evaluate", object{"expression": expression, "returnByValue": true}, &r)
	if r.Details != nil {
		t.Fatalf("%s: %s", expression, r.Details.Exception.Description)
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
	}
}

// until waits for a condition of the page.
func (t *tab) until(condition string) {
	t.Helper()
	eventually(t, func() (met bool) {
		t.eval("!!("+condition+")", &met)
		return met
	}, func() string {
		var text string
		t.eval("document.documentElement.outerHTML", &text)
		return condition + "; the page is:\n" + text
	})
}

// open loads a page and returns how long that took, as the page itself measured it.
func (t *tab) open(url string) time.Duration {
	t.Helper()
	var r struct{ ErrorText string }
	t.do("Page.navigate", object{"url": url}, &r)
	if r.ErrorText != "" {
		t.Fatalf("%s: %s", url, r.ErrorText)
	}
	t.until("document.readyState == 'complete' && performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
	var millis float64
	t.eval("performance.getEntriesByType('navigation')[0].domComplete", &millis)
	return time.Duration(millis * float64(time.Millisecond))
}

// look makes the page as wide as a screen, in light or dark.
func (t *tab) look(width int, scheme string) {
	t.Helper()
	t.do("Emulation.setDeviceMetricsOverride", object{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	t.do("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// picture keeps what the page looks like in $STINT_SCREENSHOTS, if that is set.
func (t *tab) picture(name string) {
	t.Helper()
	dir := os.Getenv("STINT_SCREENSHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	t.do("Page.captureScreenshot", object{"captureBeyondViewport": true}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(fmt.Sprint(name, ".png"), "/", "_")), data, 0o600)
	}
	must.Do(t, err)
}
