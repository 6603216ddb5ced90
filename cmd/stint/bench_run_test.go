package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// BenchmarkRun measures the way to an agent's first instruction, through "stint run"
// with its lane, its claim and its record, and through flock alone.
func BenchmarkRun(b *testing.B) {
	fifo := filepath.Join(b.TempDir(), "fifo")
	must.Do(b, syscall.Mkfifo(fifo, 0o600))
	// Open for both, so that opening waits for nobody and no reader sees an end.
	signs := must.Get(os.OpenFile(fifo, os.O_RDWR, 0))(b)
	defer signs.Close()
	script := "echo >" + fifo
	ours, theirs := newBench(b, script), newBench(b, script)
	measure(b,
		func() time.Duration {
			took := ours.first(b, signs, ours.command(ours.binary, "run", "--category", "code"))
			ours.stint(b, 0, "task", "retry", "fix") // Sessions without work would have it wait for a person.
			return took
		},
		func() time.Duration {
			return theirs.first(b, signs, theirs.command("flock", "lock", "sh", "-c", script))
		},
	).report(b)
}

// first starts a process and says how long it was to the sign that its agent gives
// first. It waits for the end, whose time does not count.
func (f bench) first(b *testing.B, signs *os.File, cmd *exec.Cmd) time.Duration {
	b.Helper()
	must.Do(b, signs.SetReadDeadline(time.Now().Add(patience)))
	start := time.Now()
	must.Do(b, cmd.Start())
	_, err := signs.Read(make([]byte, 1))
	took := time.Since(start)
	if err != nil {
		b.Fatalf("%v: no sign of its agent: %v", cmd.Args, err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%v: %v", cmd.Args, err)
	}
	return took
}
