package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// TestCrashImport kills an import after longer and longer times: all of its grades count, or none.
func TestCrashImport(t *testing.T) {
	t.Parallel()
	const grades = 4000
	f := newCrashFleet(t)
	var text strings.Builder
	for i := range grades {
		fmt.Fprintf(&text, "{\"category\": \"code\", \"grade\": 0.%d, \"at\": \"2026-01-01T%02d:00:00Z\"}\n", i%10, i%24)
	}
	file := filepath.Join(t.TempDir(), "grades")
	must.Do(t, os.WriteFile(file, []byte(text.String()), 0o600))
	f.exits(0, "init")
	count := func() string {
		return f.rows("select count(*) from events where event like '%imported%'")[0]
	}
	after, kills, none := 20*time.Millisecond, 0, 0
	for ; ; after += after / 4 {
		cmd, stderr := f.command("init", "--grades", file)
		must.Do(t, cmd.Start())
		kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if err == nil {
			break
		} else if cmd.ProcessState.Exited() {
			t.Fatalf("%v\n%s", err, stderr)
		}
		kills++
		if got := count(); got == "0" {
			none++
		} else if got != fmt.Sprint(grades) {
			t.Fatalf("got %s grades after a kill, want none or all", got)
		}
	}
	if got := count(); got != fmt.Sprint(grades) || none < 3 {
		t.Errorf("got %s grades after %d kills, %d of them in vain", got, kills, none)
	}
	f.exits(0, "audit")
}
