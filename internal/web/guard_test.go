package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stint/internal/web"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	b := emptyBench(t, web.Options{Hosts: []string{"build.example.org"}})
	host := strings.TrimPrefix(b.server.URL, "http://")
	for name, c := range map[string]struct {
		method, path string
		headers      []string
		want         int
	}{
		"plain":                        {want: 200},
		"head":                         {method: http.MethodHead, want: 200},
		"post":                         {method: http.MethodPost, want: 405},
		"delete":                       {method: http.MethodDelete, want: 405},
		"options":                      {method: http.MethodOptions, want: 405},
		"localhost":                    {headers: []string{"Host", "localhost:7788"}, want: 200},
		"another port, as of ssh -L":   {headers: []string{"Host", "127.0.0.1:9"}, want: 200},
		"IPv6":                         {headers: []string{"Host", "[::1]:7788"}, want: 200},
		"allowed name":                 {headers: []string{"Host", "Build.Example.org"}, want: 200},
		"rebound name":                 {headers: []string{"Host", "evil.example"}, want: 421},
		"rebound name with port":       {headers: []string{"Host", "evil.example:7788"}, want: 421},
		"rebound below localhost":      {headers: []string{"Host", "localhost.evil.example"}, want: 421},
		"another address":              {headers: []string{"Host", "192.0.2.1:7788"}, want: 421},
		"rebound metrics":              {path: "/metrics", headers: []string{"Host", "evil.example"}, want: 421},
		"rebound healthz":              {path: "/healthz", headers: []string{"Host", "evil.example"}, want: 421},
		"own origin":                   {headers: []string{"Origin", "http://" + host}, want: 200},
		"other origin":                 {headers: []string{"Origin", "http://evil.example"}, want: 403},
		"origin of another port":       {headers: []string{"Origin", "http://127.0.0.1:1"}, want: 403},
		"null origin":                  {headers: []string{"Origin", "null"}, want: 403},
		"origin of a file":             {headers: []string{"Origin", "file://" + host}, want: 403},
		"own fetch":                    {headers: []string{"Sec-Fetch-Site", "same-origin"}, want: 200},
		"typed":                        {headers: []string{"Sec-Fetch-Site", "none"}, want: 200},
		"fetch of another site":        {headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, want: 403},
		"fetch of another port":        {headers: []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors"}, want: 403},
		"changes for another site":     {path: "/changes", headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}, want: 403},
		"link on another site":         {headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, want: 200},
		"frame on another site":        {headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, want: 403},
		"what is not there, rebound":   {path: "/nothing", headers: []string{"Host", "evil.example"}, want: 421},
		"what is not there":            {path: "/nothing", want: 404},
		"style from a page of another": {path: "/style.css", headers: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "style"}, want: 403},
	} {
		if c.method == "" {
			c.method = http.MethodGet
		}
		if c.path == "" {
			c.path = "/"
		}
		answer, text := b.ask(c.method, c.path, c.headers...)
		if answer.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d: %s", name, answer.StatusCode, c.want, text)
		}
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header.Get(header); got != want {
				t.Errorf("%s: %s: got %q, want %q", name, header, got, want)
			}
		}
	}
}

// TestNoToken is about pages that were given none: nobody sees them, whatever is brought.
func TestNoToken(t *testing.T) {
	t.Parallel()
	b := emptyBench(t, web.Options{Token: "0123456789abcdef"})
	b.server.Config.Handler = web.New(web.Options{Now: clock})
	sum := sha256.Sum256([]byte("cookie of "))
	for _, headers := range [][]string{nil, {"Authorization", "Bearer "}, {"Cookie", "stint_=" + hex.EncodeToString(sum[:])}} {
		if answer, _ := b.get("/", headers...); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: got status %d, want 401", headers, answer.StatusCode)
		}
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef"
	b := emptyBench(t, web.Options{Token: token, TokenFile: "/home/me/my state/token"})
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"none":               {"/", nil, 401},
		"none, a run's log":  {"/runs/0000000000000000/log", nil, 401},
		"none, metrics":      {"/metrics", nil, 401},
		"none, changes":      {"/changes", nil, 401},
		"none, style":        {"/style.css", nil, 200},
		"none, script":       {"/script.js", nil, 401},
		"none, healthz":      {"/healthz", nil, 200},
		"bearer":             {"/", []string{"Authorization", "Bearer " + token}, 200},
		"bearer, metrics":    {"/metrics", []string{"Authorization", "Bearer " + token}, 200},
		"another":            {"/", []string{"Authorization", "Bearer 0123456789abcdeF"}, 401},
		"beginning":          {"/", []string{"Authorization", "Bearer 0123456789abcde"}, 401},
		"empty":              {"/", []string{"Authorization", "Bearer "}, 401},
		"basic":              {"/", []string{"Authorization", "Basic " + token}, 401},
		"token for a cookie": {"/", []string{"Cookie", "stint_bob=" + token}, 401},
		"in the address":     {"/?token=" + token, nil, 303},
		"wrong in address":   {"/?token=x", nil, 401},
		"empty in address":   {"/?token=", nil, 401},
		"of another page":    {"/runs?token=" + token, nil, 401},
		"by another host":    {"/?token=" + token, []string{"Host", "evil.example"}, 421},
	} {
		if answer, text := b.get(c.path, c.headers...); answer.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d: %s", name, answer.StatusCode, c.want, text)
		}
	}
	answer, text := b.get("/")
	contains(t, "who asks without", answer.Header.Get("WWW-Authenticate"), "Bearer")
	contains(t, "who asks without", text, `type="password"`, "<code>cat &#39;/home/me/my state/token&#39;</code>")

	answer, _ = b.get("/?token=" + token)
	if got, want := answer.Header.Get("Location"), "/"; got != want {
		t.Errorf("with a token: sent to %q, want %q", got, want)
	}
	cookie := answer.Header.Get("Set-Cookie")
	contains(t, "cookie", cookie, "HttpOnly", "SameSite=Strict", "Path=/", "stint_bob=")
	if strings.Contains(cookie, token) {
		t.Errorf("the cookie holds the token: %s", cookie)
	}
	pair, _, _ := strings.Cut(cookie, ";")
	if answer, text := b.get("/", "Cookie", pair); answer.StatusCode != http.StatusOK {
		t.Errorf("with the cookie: got status %d, want 200: %s", answer.StatusCode, text)
	}
	if answer, _ := b.get("/?token="+token, "Cookie", pair); answer.Header.Get("Location") != "/" {
		t.Errorf("with cookie and token: got status %d, want to be sent on to where no token is in the address", answer.StatusCode)
	}
}

// TestWritesAreAPersons has pages of other sites, servers of other ports and requests without the token try to land work.
func TestWritesAreAPersons(t *testing.T) {
	t.Parallel()
	const token, run = "0123456789abcdef", "01jd8wz4v0k3m7qa"
	b := emptyBench(t, web.Options{Token: token})
	answer, _ := b.get("/?token=" + token)
	cookie, _, _ := strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	own := []string{"Cookie", cookie, "Origin", b.server.URL}
	for name, c := range map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"own page":                {"land", own, 303},
		"own page, as it says":    {"reject", append(own, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 303},
		"program":                 {"land", []string{"Authorization", "Bearer " + token}, 303},
		"no token":                {"land", []string{"Origin", b.server.URL}, 401},
		"wrong token":             {"land", []string{"Authorization", "Bearer x", "Cookie", cookie}, 401},
		"token in the address":    {"land?token=" + token, []string{"Origin", b.server.URL}, 401},
		"no origin":               {"land", []string{"Cookie", cookie}, 403},
		"other site":              {"land", []string{"Cookie", cookie, "Origin", "http://evil.example"}, 403},
		"no origin is known":      {"land", []string{"Cookie", cookie, "Origin", "null"}, 403},
		"other port":              {"land", []string{"Cookie", cookie, "Origin", "http://127.0.0.1:1", "Sec-Fetch-Site", "same-site"}, 403},
		"other port, by its word": {"land", append(own, "Sec-Fetch-Site", "same-site"), 403},
		"form of another site": {
			"land", append(own, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 403,
		},
		"rebound name": {"land", append(own, "Host", "evil.example"), 421},
		"no run":       {"../UPPER/land", own, 307},
		"not a page":   {"drop", own, 405},
	} {
		b.decided = ""
		answer, text := b.send(http.MethodPost, "/review/"+run+"/"+c.path, "tip=abc&reason=not+now", c.headers...)
		if answer.StatusCode != c.want {
			t.Errorf("%s: got status %d, want %d: %s", name, answer.StatusCode, c.want, text)
		}
		want := map[string]string{"land303": "land " + run + " abc", "reject303": "reject " + run + " abc not now"}[c.path+fmt.Sprint(c.want)]
		if b.decided != want {
			t.Errorf("%s: asked for %q, want %q", name, b.decided, want)
		}
	}
	b.decided = ""
	if answer, _ := b.send(http.MethodPost, "/review/"+run+"/reject", "tip=abc&reason="+strings.Repeat("x", 64<<10), own...); answer.StatusCode < 400 || b.decided != "" {
		t.Errorf("a form of more than 64 KiB: got status %d and %q, want it refused", answer.StatusCode, b.decided)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		if answer, _ := b.send(method, "/review/"+run+"/land", "", own...); answer.StatusCode == http.StatusSeeOther || b.decided != "" {
			t.Errorf("%s: got status %d and %q, want nothing done", method, answer.StatusCode, b.decided)
		}
	}
}
