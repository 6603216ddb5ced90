package notice_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/agent/command"
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

func TestSend(t *testing.T) {
	t.Parallel()
	s := notice.Sender{Fleet: "bob", Host: "one", Command: shell(t, "cat >told")}
	must.Do(t, s.Send(t.Context(), failed()))
	told := must.Get(os.ReadFile(filepath.Join(s.Command.Dir, "told")))(t)
	must.Equal(t, "input", string(told), failedText)
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
	hangs := shell(t, "exec sleep 300")
	hangs.Timeout = 100 * time.Millisecond
	for name, test := range map[string]struct {
		command command.Command
		want    string
	}{
		"fails": {shell(t, "echo no >&2; exit 4"), "run sh -c echo no >&2; exit 4: exit status 4: no"},
		"hangs": {hangs, "run sh -c exec sleep 300: stopped: time-out after 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := notice.Sender{Command: test.command}.Send(t.Context(), failed())
			if want := "send notice failed of code: " + test.want; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	if err := (notice.Sender{Command: shell(t, "exec sleep 300")}).Send(ctx, failed()); err == nil {
		t.Error("sent what was cut off when the time for all of them was up")
	}
}
