package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// shown is a fleet with a long past, whose tasks, notes, reasons, holders and logs are
// what an ill-meaning person would write into them; and the pages that show it.
type shown struct {
	testing.TB
	binary, dir string
	url         string // of the pages, without a slash at its end
}

// slowAgent says something hostile whenever a line comes through its gate, twice. It opens
// the gate once, for writing as well: else it could meet the end of what the last writer is
// about to close.
const slowAgent = `#!/bin/bash
exec 3<>gate
cat hostile.log
read -r line <&3; echo "$line"
read -r line <&3; echo "$line"
`

// program is this test binary, under the program's name.
func program(tb testing.TB) string {
	tb.Helper()
	path := must.Get(exec.LookPath("stint"))(tb)
	return path
}

// showFleet makes such a fleet, of so many runs in twenty categories and two.
func showFleet(tb testing.TB, binary string, runs int) *shown {
	tb.Helper()
	return showCategories(tb, binary, runs, 20)
}

func showCategories(tb testing.TB, binary string, runs, categories int) *shown {
	tb.Helper()
	dir := must.Get(filepath.EvalSymlinks(tb.TempDir()))(tb)
	f := &shown{TB: tb, binary: binary, dir: dir}
	f.write("agent", slowAgent, 0o700)
	f.write("hostile.log", strings.Join(hostileTexts(), "\n")+"\nready\n", 0o600)
	must.Do(tb, syscall.Mkfifo(f.path("gate"), 0o600))
	config := fmt.Sprintf("fleet = \"shown\"\nstate = %q\n[agent.claude]\ncommand = [\"true\"]\n[agent.slow]\ncommand = [%q]\n", f.path("state"), f.path("agent"))
	var fired []string
	for i := range categories {
		fired = append(fired, fmt.Sprintf(`"c%d"`, i))
		config += fmt.Sprintf("[category.c%d]\nagents = [\"claude\"]\nmax_chain = 0\n", i)
	}
	f.write("stint.toml", config+"[category.rare]\nagents = [\"claude\"]\n[category.slow]\nagents = [\"slow\"]\nself_directed = true\n[fanout]\nallow = ["+strings.Join(fired, ", ")+", \"rare\"]\n", 0o600)
	for i, text := range hostileTexts() {
		f.write(fmt.Sprintf("tasks/task-%d <img src=x onerror=alert(5)> \u202e.md", i), fmt.Sprintf("---\nstate: todo\ncategory: c%d\nnext_action: %q\n---\n# %s\n", i%categories, text, text), 0o600)
	}
	f.run(0, "claim", "mine", "--holder", "me", "--ttl", "24h", "--note", "<b>mine</b>") // makes the store
	past{runs: runs, categories: categories, hostile: true}.fill(tb, f.database())
	f.run(0, "fanout", "--exec", "-n", "3", "--seed", "7") // a ranking to show
	f.until("select count(*) = 0 from runs where ended_at is null")
	past{categories: categories, hostile: true}.trouble(tb, f.database())
	return f
}

func (f *shown) path(name string) string { return filepath.Join(f.dir, name) }

func (f *shown) database() string { return filepath.Join(f.path("state"), sqlite.File) }

func (f *shown) write(name, text string, mode os.FileMode) {
	f.Helper()
	write(f, f.path(name), text, mode)
}

// run runs a command of the fleet and returns all it printed.
func (f *shown) run(status int, args ...string) string {
	f.Helper()
	cmd := f.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		f.Fatalf("stint %s: %v, want status %d\n%s", strings.Join(args, " "), err, status, out)
	}
	return string(out)
}

func (f *shown) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.binary, append([]string{"--config", f.path("stint.toml")}, args...)...)
	cmd.Dir = f.dir
	return cmd
}

// one reads one value of the store.
func (f *shown) one(query string) string {
	f.Helper()
	rows, err := queryRows(f.Context(), f.database(), "ro", query)
	if err != nil || len(rows) != 1 || rows[0] == "<nil>" {
		f.Fatalf("%s: %q, %v", query, rows, err)
	}
	return rows[0]
}

// until waits for what a query asks.
func (f *shown) until(query string) {
	f.Helper()
	eventually(f, func() bool { return f.one(query) == "1" }, func() string { return query })
}

// pagesToken is that of every fleet's pages: a browser keeps it by the fleet's name, which they share.
const pagesToken = "0123456789abcdef"

// enter gives a browser the token, after which it has a cookie.
func (f *shown) enter(t *tab) { t.open(f.url + "/?token=" + pagesToken) }

// serve starts the pages; they end with the test.
func (f *shown) serve() {
	f.Helper()
	must.Do(f, os.WriteFile(f.path("state/token"), []byte(pagesToken), 0o600))
	cmd := f.command("serve", "--listen", "127.0.0.1:0")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Do(f, err)
	var log bytes.Buffer
	address, done := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if m := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(lines.Text()); m != "" {
				select {
				case address <- m:
				default: // the address was sent before
				}
			}
		}
	}()
	f.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
			f.Errorf("serve: %v, want status 143", cmd.ProcessState)
		}
		if f.Failed() {
			f.Logf("serve said:\n%s", &log)
		}
	})
	select {
	case f.url = <-address:
	case <-time.After(patience):
		f.Fatal("serve names no address")
	}
}

// pages are the addresses of one page of each kind, and of those with most to show.
func (f *shown) pages() map[string]string {
	f.Helper()
	last := f.one("select max(id) from runs where ended_at is not null and task <> ''")
	open := f.one("select max(id) from runs where ended_at is null")
	fire := f.one("select coalesce(max(id), 1) from fires where id = 7000") // whose reasons are all hostile
	return map[string]string{
		"status": "/", "ranking": "/ranking", "review": "/review", "tasks": "/tasks", "claims": "/claims", "fires": "/fires", "fires-older": "/fires?before=20000",
		"fire": "/fires/" + fire, "runs": "/runs", "runs-rare": "/runs?category=rare", "runs-lost": "/runs?outcome=lost&agent=codex",
		"run": "/runs/" + last, "run-open": "/runs/" + open, "report": "/report", "report-all": "/report?since=all",
	}
}

// noteViolations is run in each page before anything of it.
const noteViolations = `window.violations = [];
	document.addEventListener('securitypolicyviolation', e => violations.push(e.violatedDirective + ' ' + e.blockedURI))`

// TestBrowser opens the pages of a fleet with a long and hostile past in a browser.
func TestBrowser(t *testing.T) {
	t.Parallel()
	f := showFleet(t, program(t), 100_000)
	f.serve()
	c := startChromium(t)
	tab := c.tab()
	f.enter(tab)
	tab.do("Page.addScriptToEvaluateOnNewDocument", object{"source": noteViolations}, nil)
	pages := f.pages()
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		f.testPage(tab, name, pages[name])
	}
	f.testLive(t, tab)
	f.testTabs(c)
	f.testWithoutScript(tab, pages)
}

// TestBrowserPhone opens the front of a fleet of twelve categories on a phone. It begins with
// one sentence, says what to type about each thing that is out of order, and is not longer
// than four screens.
func TestBrowserPhone(t *testing.T) {
	t.Parallel()
	f := showCategories(t, program(t), 5_000, 10) // and two
	f.run(0, "resume", "c0")
	f.run(0, "pause", "c0", "--reason", "the tracker is down")
	f.serve()
	tab := startChromium(t).tab()
	tab.look(390, "light")
	f.enter(tab)
	var front struct {
		Height, Lanes  int
		First, Summary string
		Alerts, Silent []string // of these the alerts without a command
	}
	tab.eval(`(() => {
		const alerts = [...document.querySelectorAll('#attention li')];
		return {
			height: document.documentElement.scrollHeight, lanes: document.querySelectorAll('.idle a, #lanes tbody tr').length,
			first: document.querySelector('main h1').nextElementSibling.id, summary: document.querySelector('#summary').innerText,
			alerts: alerts.map(a => a.innerText), silent: alerts.filter(a => !/^(stint|kill|systemctl) /.test(a.querySelector('code')?.innerText ?? '')).map(a => a.innerText),
		};
	})()`, &front)
	t.Logf("%d pixels: %s %q", front.Height, front.Summary, front.Alerts)
	tab.picture("front-phone")
	if screens := float64(front.Height) / 844; screens > 4 {
		t.Errorf("got a front of %.1f screens of 844 pixels, want at most 4", screens)
	}
	if want := regexp.MustCompile(`^(\d+ running|Nothing runs), (next fire|no timer) .*c0 paused, until it is resumed: the tracker is down, by \S+.*\.$`); front.First != "summary" || !want.MatchString(front.Summary) {
		t.Errorf("got %q first, %q; want the summary, like %s", front.First, front.Summary, want)
	}
	if len(front.Alerts) < 3 || len(front.Silent) > 0 {
		t.Errorf("got alerts %q, and without a command %q; want some, and each with one", front.Alerts, front.Silent)
	}
}

// testPage looks at a page as people do: on a screen and on a phone, by day and by night.
func (f *shown) testPage(tab *tab, name, path string) {
	f.Helper()
	f.Logf("%s: %v", path, tab.open(f.url+path).Round(time.Millisecond))
	for _, as := range []struct {
		name   string
		width  int
		scheme string
	}{{"phone", 390, "dark"}, {"dark", 1200, "dark"}, {"light", 1200, "light"}} {
		tab.look(as.width, as.scheme)
		var s seen
		tab.eval(lookAround, &s)
		f.checkPage(path+", "+as.name, s)
		f.checkLook(path+", "+as.name, s, as.scheme)
		tab.picture(name + "-" + as.name)
	}
	requests, trouble := tab.took()
	f.checkQuiet(path, requests, trouble)
}

// checkQuiet fails for what a page asked of others, and for whatever the browser complains of.
func (f *shown) checkQuiet(path string, requests, trouble []string) {
	f.Helper()
	for _, r := range requests {
		if !strings.HasPrefix(r, f.url+"/") {
			f.Errorf("%s: got a request to %s, want none but to %s", path, r, f.url)
		}
	}
	if len(requests) == 0 {
		f.Errorf("%s: got no request noted, want that of the page at least", path)
	}
	if diff := cmp.Diff(trouble, []string(nil)); diff != "" {
		f.Errorf("%s: trouble (-got +want):\n%s", path, diff)
	}
}

// seen has a page's own description.
type seen struct {
	Title, Text, Pwned string
	Scripts            []string // their addresses and texts
	Violations         []string // of the content-security policy
	Foreign            []string // elements and attributes that none of our pages has
	Links              []string
	Overflow           int // pixels that the page is wider than the screen
	Ground             string
	Contrast           float64 // the least of any text's, by WCAG 2
	Faint              string  // which text that is
}

// lookAround fills a [seen] in the page.
const lookAround = `(() => {
	const all = [...document.querySelectorAll('*')];
	const rgba = text => (text.match(/[\d.]+/g) || []).map(Number);
	const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b };
	const ground = e => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c.length == 3 || c[3] > 0.5) return c } 
		return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255] };
	let contrast = 21, faint = '';
	for (const e of document.body.querySelectorAll('*')) {
		if (e.ownerSVGElement || !e.getClientRects().length || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
		const [a, b] = [light(rgba(getComputedStyle(e).color)), light(ground(e))];
		const c = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (c < contrast) [contrast, faint] = [c, e.outerHTML.slice(0, 200)];
	}
	return {
		title: document.title, text: document.body.innerText, pwned: typeof window.pwned,
		scripts: [...document.scripts].map(s => (s.getAttribute('src') || '') + s.textContent),
		violations: window.violations || [],
		foreign: all.filter(e => ['IMG', 'IFRAME', 'OBJECT', 'EMBED', 'BASE', 'STYLE', 'MARQUEE'].includes(e.tagName.toUpperCase())
			|| e.getAttributeNames().some(n => n.startsWith('on') || n == 'style')).map(e => e.outerHTML.slice(0, 200)),
		links: [...document.querySelectorAll('a')].map(a => a.href.baseVal ?? a.href),
		overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
		ground: getComputedStyle(document.body).backgroundColor, contrast, faint,
	};
})()`

// unsafeText matches text that no page and no terminal may be given: control characters but the end
// of a line, and marks that reorder text.
var unsafeText = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}\x{feff}]`)

func (f *shown) checkPage(name string, s seen) {
	f.Helper()
	if s.Pwned != "undefined" {
		f.Errorf("%s: got a script run that came from other people's words, want it inert", name)
	}
	if diff := cmp.Diff(s.Scripts, []string{"/script.js"}); diff != "" {
		f.Errorf("%s: scripts (-got +want):\n%s", name, diff)
	}
	if len(s.Foreign)+len(s.Violations) > 0 {
		f.Errorf("%s: got elements %q and violations %q, want none", name, s.Foreign, s.Violations)
	}
	for _, link := range s.Links {
		if !strings.HasPrefix(link, f.url+"/") && !strings.HasPrefix(link, "/") {
			f.Errorf("%s: got a link to %s, want none but to %s", name, link, f.url)
		}
	}
	if bad := unsafeText.FindString(s.Text); bad != "" {
		f.Errorf("%s: got %q in its text, want none such", name, bad)
	}
	if !strings.Contains(s.Title, "shown") || len(s.Text) < 200 {
		f.Errorf("%s: got the title %q and the text %q, want a page of the fleet", name, s.Title, s.Text)
	}
	page, _, _ := strings.Cut(name, ",")
	if slices.Contains([]string{"/", "/runs", "/claims", "/fires/7000"}, page) && !strings.Contains(s.Text, "<") {
		f.Errorf("%s: got no hostile text shown as what it is:\n%s", name, s.Text)
	}
}

// checkLook holds a page to what eyes need.
func (f *shown) checkLook(name string, s seen, scheme string) {
	f.Helper()
	if s.Overflow > 0 {
		f.Errorf("%s: got it %d pixels wider than the screen, want it to fit", name, s.Overflow)
	}
	// WCAG 2 asks 4.5 of text at level AA.
	if s.Contrast < 4.5 {
		f.Errorf("%s: got a contrast of %.1f, want 4.5 or more: %s", name, s.Contrast, s.Faint)
	}
	if isDark(s.Ground) != (scheme == "dark") {
		f.Errorf("%s: got the ground %s, want a %s one", name, s.Ground, scheme)
	}
}

// isDark reports whether a colour as browsers compute it, rgb(1, 2, 3), is a dark one.
func isDark(colour string) bool {
	var r, g, b int
	_, err := fmt.Sscanf(colour, "rgb(%d, %d, %d)", &r, &g, &b)
	return err == nil && r+g+b < 3*128
}

// testLive follows a session on its page: what its agent prints arrives there, and its end,
// and the page is never loaded again.
func (f *shown) testLive(t *testing.T, tab *tab) {
	t.Helper()
	run := f.command("run", "--category", "slow")
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	must.Do(t, run.Start())
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() { _ = run.Process.Signal(syscall.SIGTERM) }) // it may have ended
	f.until("select count(*) = 1 from runs where category = 'slow' and key <> ''")
	id := f.one("select id from runs where category = 'slow'")

	tab.look(1200, "light")
	tab.open(f.url + "/runs/" + id)
	tab.until("document.querySelector('#log').textContent.includes('ready')")
	tab.eval("window.same = 'page'", new(string))
	f.say("<script>window.pwned=3</script> \x1b[31mfirst line\u202e")
	tab.until("document.querySelector('#log').textContent.includes('first line')")
	var s seen
	tab.eval(lookAround, &s)
	f.checkPage("/runs/"+id+", live", s)
	if !strings.Contains(s.Text, "<script>window.pwned=3</script>") {
		t.Errorf("got a log without what the agent said:\n%s", s.Text)
	}
	tab.picture("run-live")
	f.say("last line")
	tab.until("document.querySelector('#log').textContent.includes('last line')")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the session: %v: %s", err, &said)
		}
	case <-time.After(patience):
		t.Fatalf("the session goes on: %s", &said)
	}
	outcome := f.one("select outcome from runs where id = '" + id + "'")
	tab.until(fmt.Sprintf("document.querySelector('main').innerText.includes(%q)", outcome))
	tab.until("window.same == 'page'")
	_, trouble := tab.took()
	must.Equal(t, "trouble while it was followed", trouble, []string(nil))
	tab.picture("run-ended")
}

// testTabs opens more pages than a browser has connections for a site, of which but the
// last is seen, and goes back to the first.
func (f *shown) testTabs(c *chromium) {
	f.Helper()
	var tabs []*tab
	for range 8 {
		t := c.tab()
		t.open(f.url + "/claims") // or it fails: a page that waits for a connection is never complete
		t.see(false)
		tabs = append(tabs, t)
	}
	f.run(0, "claim", "unseen", "--holder", "me")
	tabs[0].see(true)
	tabs[0].until("document.querySelector('#claims').innerText.includes('unseen')")
}

// see has a page think that it is in a tab that is seen, or is not: to a browser without a
// screen all are.
func (t *tab) see(seen bool) {
	t.Helper()
	t.eval(fmt.Sprintf(`(() => {
		Object.defineProperty(document, 'hidden', {value: %t, configurable: true});
		return document.dispatchEvent(new Event('visibilitychange'));
	})()`, !seen), new(bool))
}

// say has the slow agent print a line, once it waits for one.
func (f *shown) say(line string) {
	f.Helper()
	said := make(chan error, 1)
	go func() {
		gate, err := os.OpenFile(f.path("gate"), os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			_, err = fmt.Fprintln(gate, line)
			err = errors.Join(err, gate.Close())
		}
		said <- err
	}()
	select {
	case err := <-said:
		must.Do(f, err)
	case <-time.After(patience):
		f.Fatal("the agent does not come to its gate")
	}
}

// testWithoutScript reads the pages as a browser does that runs no scripts.
func (f *shown) testWithoutScript(tab *tab, pages map[string]string) {
	f.Helper()
	tab.do("Emulation.setScriptExecutionDisabled", object{"value": true}, nil)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		tab.open(f.url + pages[name])
		var text string
		tab.eval("document.querySelector('main').innerText", &text)
		if len(text) < 20 || unsafeText.MatchString(text) {
			f.Errorf("%s without script: got %q, want what it shows with one", pages[name], text)
		}
		var reloads bool
		tab.eval("!!document.querySelector('meta[http-equiv=refresh]')", &reloads)
		if live := slices.Contains([]string{"status", "claims", "run-open"}, name); live && !reloads {
			f.Errorf("%s without script: got no reload, want it to follow what changes", pages[name])
		}
		requests, trouble := tab.took()
		f.checkQuiet(pages[name]+" without script", requests, trouble)
	}
}
