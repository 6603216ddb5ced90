package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// policy allows a page our own style sheet, script, pictures and data. If a name ever became markup, it could load and
// run nothing.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guard passes a request only if a page of ours made it, or a person who typed our address. Every account on this
// machine can connect to a loopback address, and so can every web page that is open in a browser here. The checks of
// Host (against DNS rebinding), Origin and Sec-Fetch-Site keep pages out; the token keeps people out.
func (s *site) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		switch {
		case !s.ours(r):
			refuse(w, http.StatusMisdirectedRequest, "this is not the host that was asked for: stint serve --host NAME allows a name")
		case !sameOrigin(r) || !reads(r) && !ownPage(r):
			refuse(w, http.StatusForbidden, "asked for by a page of another site")
		case reads(r) && r.URL.Path == "/" && s.isToken(r.URL.Query().Get("token")):
			s.enter(w, r)
		case reads(r) && saysNothing(r.URL.Path) || s.knows(r):
			next.ServeHTTP(w, r)
		default:
			s.askForToken(w, r)
		}
	})
}

// saysNothing reports whether a path tells only that the fleet exists: the health check, and the files of the page that
// asks for the token.
func saysNothing(path string) bool {
	return path == "/healthz" || path == "/style.css" || path == "/icon.svg"
}

func setHeaders(h http.Header) {
	for _, pair := range [][2]string{
		{"Content-Security-Policy", policy},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
		{"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
		{"Vary", "Accept"},
	} {
		h.Set(pair[0], pair[1])
	}
}

func refuse(w http.ResponseWriter, status int, reason string) { http.Error(w, reason, status) }

// ours reports whether a request names one of our names or addresses. Its port may differ: "ssh -L" gives it another.
func (s *site) ours(r *http.Request) bool {
	host := hostOf(r.Host)
	if host == "localhost" || slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return false // a stranger's name may point here
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return address.IsLoopback()
	}
	at, err := netip.ParseAddrPort(local.String())
	return address.IsLoopback() || err == nil && address.Unmap() == at.Addr().Unmap().WithZone("")
}

// hostOf returns a host without its port, and without the brackets of an IPv6 address.
func hostOf(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// sameOrigin reports whether no page of another site made the request. A link there may lead here: the browser then
// shows our page, and the other site learns nothing of it.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) || u.Scheme != "http" && u.Scheme != "https" {
			return false
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// ownPage reports whether a page of ours or a program made a request that changes something. A browser names the origin
// in each, and a page of another site cannot set a program's Authorization header.
func ownPage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Authorization") != "" || r.Header.Get("Origin") != "" && (site == "" || site == "same-origin")
}

// knows reports whether a request has the token, or the cookie made from it.
func (s *site) knows(r *http.Request) bool {
	if token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); found {
		return s.isToken(strings.TrimSpace(token))
	}
	cookie, err := r.Cookie(s.cookieName())
	return err == nil && s.o.Token != "" && same(cookie.Value, s.cookieValue())
}

// isToken reports whether a token is set and the text equals it.
func (s *site) isToken(token string) bool { return s.o.Token != "" && same(token, s.o.Token) }

// same compares two texts. Its time depends neither on the secret's length nor on the first difference.
func same(got, want string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookieName differs by fleet: a browser keeps cookies apart by host, not by port.
func (s *site) cookieName() string { return "stint_" + string(s.o.Fleet) }

// cookieValue stands for the token, which the browser then need not keep.
func (s *site) cookieValue() string {
	sum := sha256.Sum256([]byte("cookie of " + s.o.Token))
	return hex.EncodeToString(sum[:])
}

// stays is the life of a browser's cookie.
const stays = 30 * 24 * time.Hour

// enter turns the token in the address into a cookie, even if the request has one, and redirects: the browser forgets
// that address.
func (s *site) enter(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(), Value: s.cookieValue(), Path: "/", MaxAge: int(stays.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *site) askForToken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="stint"`)
	s.fail(w, r, failure{
		Status: http.StatusUnauthorized, Title: "Token wanted", Text: "this page requires its token: Authorization: Bearer TOKEN, or the form below",
		Hint: "cat " + fleet.ShellWord(s.o.TokenFile), Token: true,
	})
}
