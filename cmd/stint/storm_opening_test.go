package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"stint/internal/testkit/must"
)

// opening is one process that waits at the gate.
type opening struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// TestStormOpening lets twelve processes open a store that does not exist, at the same
// instant, and take one claim: one gets it, all others get the holder's name.
func TestStormOpening(t *testing.T) {
	t.Parallel()
	for range stormSizeAsked().openings {
		if openTogether(t); t.Failed() {
			return
		}
	}
}

func openTogether(t *testing.T) {
	t.Helper()
	s := newStorm(t, 1)
	gate, open, err := os.Pipe()
	must.Do(t, err)
	var list [12]opening
	for i := range list {
		o := &list[i]
		o.Cmd = exec.CommandContext(t.Context(), "crashstint", "--config", s.configs[0], "claim", "k", "--json", "--holder", "p"+strconv.Itoa(i))
		o.Env = append(os.Environ(), crashGate+"=3")
		o.ExtraFiles, o.Stdout, o.Stderr = []*os.File{gate}, &o.stdout, &o.stderr
		must.Do(t, o.Start())
	}
	_ = gate.Close()
	_ = open.Close()
	answers := map[string]int{}
	for i := range list {
		o := &list[i]
		_ = o.Wait() // The answer says how it ended.
		a := parseStormAnswer(o.stdout.Bytes())
		if answers[a.Status]++; o.ProcessState.ExitCode() != stormExit("take", a.Status) || o.stderr.Len() > 0 || a.Epoch != 1 {
			t.Errorf("status %d\n%s%s", o.ProcessState.ExitCode(), &o.stdout, &o.stderr)
		}
	}
	if answers["granted"] != 1 || answers["denied"] != len(list)-1 {
		t.Errorf("answers %v, want one grant", answers)
	}
}
