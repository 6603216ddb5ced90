package gate_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/gate"
	"stint/internal/testkit/must"
)

// shell is a gate of 3 whose command is a script.
func shell(t *testing.T, script string) gate.Gate {
	t.Helper()
	return gate.Gate{Limit: 3, Command: command.Command{
		Argv: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: time.Minute,
	}}
}

func TestFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		full   string
		failed string
	}{
		"none":      {"echo 0", "", ""},
		"below":     {"printf ' 2\\r\\n\\n'", "", ""},
		"at":        {"echo 3", "3 of its results wait for review, and the limit is 3", ""},
		"above":     {"echo 1000", "1000 of its results wait for review, and the limit is 3", ""},
		"nothing":   {"true", "", `it printed "", want one whole number`},
		"negative":  {"echo -1", "", `it printed "-1", want one whole number`},
		"fraction":  {"echo 3.0", "", `it printed "3.0", want one whole number`},
		"list":      {"echo 1; echo 2", "", `it printed "1 2", want one whole number`},
		"word":      {"printf '\\033[1mnone' ", "", `it printed "�[1mnone", want one whole number`},
		"long":      {"printf %050d 0; echo x", "", `it printed "` + strings.Repeat("0", 40) + `", want one whole number`},
		"overflow":  {"echo 99999999999999999999", "", `it printed "99999999999999999999", want one whole number`},
		"failed":    {"echo 9; exit 1", "", "run sh -c echo 9; exit 1: exit status 1"},
		"too much":  {"trap '' PIPE; yes 1 2>/dev/null", "", "run sh -c trap '' PIPE; yes 1 2>/dev/null: stopped: it printed more than 4096 bytes"},
		"not there": {"exec ./none 2>/dev/null", "", "run sh -c exec ./none 2>/dev/null: exit status 127"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			full, failed := gate.Gates{"code": shell(t, test.script)}.Full(t.Context())
			if got := full["code"]; got != test.full {
				t.Errorf("full: got %q, want %q", got, test.full)
			}
			got := ""
			if err := failed["code"]; err != nil {
				got = strings.TrimPrefix(err.Error(), "count what waits in code: ")
			}
			if got != test.failed {
				t.Errorf("failed: got %q, want %q", got, test.failed)
			}
		})
	}
}

// TestFullAsksEach finds that one gate's fault is not another's, and that they do not
// wait for one another: each waits for the file that the other makes.
func TestFullAsksEach(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	meet := func(own, other string) gate.Gate {
		g := shell(t, "touch "+own+"; until [ -e "+other+" ]; do sleep 0.01; done; echo 5")
		g.Command.Dir = dir
		return g
	}
	gates := gate.Gates{"code": meet("a", "b"), "docs": meet("b", "a"), "broken": shell(t, "exit 1"), "open": shell(t, "echo 2")}
	full, failed := gates.Full(t.Context())
	const reason = "5 of its results wait for review, and the limit is 3"
	must.Equal(t, "full", full, map[fleet.Category]string{"code": reason, "docs": reason})
	if len(failed) != 1 || failed["broken"] == nil {
		t.Errorf("failed: got %v, want broken alone", failed)
	}
}

func TestFullEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	full, failed := gate.Gates{"code": shell(t, "exec sleep 300")}.Full(ctx)
	if len(full) != 0 || failed["code"] == nil {
		t.Errorf("got %v and %v, want an open gate and its error", full, failed)
	}
}

func TestFullOfNoGates(t *testing.T) {
	t.Parallel()
	full, failed := gate.Gates(nil).Full(t.Context())
	if diff := cmp.Diff(full, map[fleet.Category]string{}, cmpopts.EquateEmpty()); diff != "" || len(failed) != 0 {
		t.Errorf("got %v and %v, want nothing", full, failed)
	}
}
