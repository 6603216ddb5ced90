package notice_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/command"
	"stint/internal/fleet"
	"stint/internal/notice"
	"stint/internal/testkit/must"
)

func failed() fleet.Notice {
	return fleet.Notice{
		Event: fleet.EventFailed, Category: "code", Task: `fix "it" $HOME`, Run: "0r1", Agent: "claude",
		Reason: "exit status 1", At: time.Date(2026, 6, 26, 2, 25, 19, 5, time.FixedZone("", 7200)),
	}
}

const failedText = `{"schema":"stint/notice@1","event":"failed","fleet":"bob","host":"one","category":"code","task":"fix \"it\" $HOME",` +
	`"run":"0r1","agent":"claude","scope":"","source":"","reason":"exit status 1","at":"2026-06-26T00:25:19Z"}` + "\n"

func shell(t *testing.T, script string) command.Command {
	t.Helper()
	return command.Command{Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// server answers with the handler and hands on what it was posted.
func server(t *testing.T, answer http.HandlerFunc) (address string, posted <-chan string) {
	t.Helper()
	bodies := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s of %q, %v, want a post of JSON", r.Method, r.Header.Get("Content-Type"), err)
		}
		bodies <- string(body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook/SECRET?key=SECRET", bodies
}

func TestSendByAllWays(t *testing.T) {
	t.Parallel()
	address, posted := server(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s := notice.Sender{Fleet: "bob", Host: "one", Command: shell(t, "cat >told"), Webhook: address}
	must.Do(t, s.Send(t.Context(), failed()))
	told := must.Get(os.ReadFile(filepath.Join(s.Command.Dir, "told")))(t)
	for way, got := range map[string]string{"command": string(told), "webhook": <-posted} {
		must.Equal(t, way, got, failedText)
	}
}

func TestSendByNoWay(t *testing.T) {
	t.Parallel()
	if err := (notice.Sender{}).Send(t.Context(), failed()); err != nil {
		t.Error(err)
	}
}

// TestEncodeOfAnyText checks that what an agent put into a reason stays one line of JSON.
func TestEncodeOfAnyText(t *testing.T) {
	t.Parallel()
	n := failed()
	n.Reason = "a\nb\x00\x1b[1m\xff\u2028\"}\n{"
	text := must.Get(notice.Sender{Fleet: "bob", Host: "one"}.Encode(n))(t)
	var back map[string]string
	if err := json.Unmarshal(text, &back); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Fatalf("got %q, %v, want one line of JSON", text, err)
	}
	if got, want := back["reason"], strings.ToValidUTF8(n.Reason, "\ufffd"); got != want {
		t.Errorf("reason: got %q, want %q", got, want)
	}
}

func TestSendErrors(t *testing.T) {
	t.Parallel()
	const prefix = "send notice failed of code: "
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "SECRET", http.StatusForbidden) }, "it answered 403 Forbidden"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, "it answered 302 Found, and a redirect is not followed"},
		"moved": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}, "it answered 307 Temporary Redirect, and a redirect is not followed"},
		"dropped": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, posted := server(t, test.answer)
			host := strings.TrimPrefix(strings.SplitN(address, "/hook", 2)[0], "http://")
			err := notice.Sender{Webhook: address}.Send(t.Context(), failed())
			if err == nil || err.Error() != prefix+"post to the webhook at "+host+": "+test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if len(posted) != 1 {
				t.Errorf("posted %d times, want once", len(posted))
			}
		})
	}
	for name, test := range map[string]struct {
		s    notice.Sender
		want string
	}{
		"command":            {notice.Sender{Command: shell(t, "echo no >&2; exit 4")}, "run sh -c echo no >&2; exit 4: exit status 4: no"},
		"command that hangs": {notice.Sender{Command: shell(t, "exec sleep 300"), Timeout: 100 * time.Millisecond}, "run sh -c exec sleep 300: stopped: time-out after 100ms"},
		"in the clear":       {notice.Sender{Webhook: "http://example.org/SECRET"}, "the webhook at example.org is not encrypted, and not on this machine"},
		"unreadable":         {notice.Sender{Webhook: "https://example.org/%zzSECRET"}, "the webhook is no address"},
		"both":               {notice.Sender{Command: shell(t, "exit 4"), Webhook: "ftp://SECRET"}, "run sh -c exit 4: exit status 4\nthe webhook is neither https nor http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.s.Send(t.Context(), failed())
			if err == nil || err.Error() != prefix+test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestSendEndsInTime has a server that takes the connection and says nothing.
func TestSendEndsInTime(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	silent := must.Get(config.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer func() { _ = silent.Close() }()
	s := notice.Sender{Webhook: "http://" + silent.Addr().String() + "/SECRET", Timeout: 100 * time.Millisecond}
	want := "post to the webhook at " + silent.Addr().String() + ": time-out after 100ms"
	if err := s.Send(t.Context(), failed()); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ctx, failed()); err == nil || !strings.HasSuffix(err.Error(), "context canceled") {
		t.Errorf("cancelled: got %v, want so", err)
	}
}

// TestSendTrustsNoStranger has a server whose certificate nobody signed.
func TestSendTrustsNoStranger(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was told") }))
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	err := notice.Sender{Webhook: s.URL + "/SECRET"}.Send(t.Context(), failed())
	if err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v, want a fault of the certificate", err)
	}
}

func TestCheckWebhook(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{
		"https://example.org": true, "https://user:word@example.org:8443/a?b": true, "HTTPS://example.org": true,
		"http://localhost:1/a": true, "http://127.0.0.9": true, "http://[::1]:80/": true,
		"http://example.org": false, "http://localhost.example.org": false, "http://127.0.0.1.example.org": false,
		"http://0.0.0.0": false, "http://10.0.0.1": false, "http://localhost@example.org/": false,
		"": false, "example.org": false, "/hook": false, "https:///hook": false, "https://:80": false, "https://a b": false,
		"file:///etc/passwd": false, "ftp://localhost": false, "https://example.org/\n": false,
	} {
		err := notice.CheckWebhook(address)
		if (err == nil) != good {
			t.Errorf("%q: got %v, want accepted: %v", address, err, good)
		}
		if err != nil && fleet.Hint(err) == "" {
			t.Errorf("%q: no hint", address)
		}
	}
}
