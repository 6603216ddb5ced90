package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// BenchmarkBox measures the way to an agent's first instruction with its box, which is tried
// before it is used, beside the same without one: with both layers, and with Landlock alone.
func BenchmarkBox(b *testing.B) {
	for name, box := range map[string]string{"landlock": "landlock", "both": "workspace"} {
		b.Run(name, func(b *testing.B) {
			ours, theirs := newBoxed(b, box), newBoxed(b, "open")
			measure(b,
				func() time.Duration { return ours.boxed(b) },
				func() time.Duration { return theirs.boxed(b) },
			).report(b)
		})
	}
}

// newBoxed is a fleet whose agent gives a sign in its workspace, with its state elsewhere.
func newBoxed(b *testing.B, box string) bench {
	b.Helper()
	f := newBench(b, "true")
	f.write(b, "stint.toml", fmt.Sprintf(`fleet = "bench"
workspace = "work"
state = %q
[agent.fake]
box = %q
command = ["sh", "-c", "echo >fifo"]
[category.code]
self_directed = true
cooldown = "0s"
`, f.dir+"/state", box))
	f.write(b, "work/README", "")
	must.Do(b, command("git", "-C", f.dir+"/work", "init", "-q"))
	must.Do(b, syscall.Mkfifo(f.dir+"/work/fifo", 0o600))
	return f
}

// boxed runs a session, and says how long it was to the agent's sign.
func (f bench) boxed(b *testing.B) time.Duration {
	b.Helper()
	signs := must.Get(os.OpenFile(f.dir+"/work/fifo", os.O_RDWR, 0))(b)
	defer signs.Close()
	cmd := f.command(f.binary, "run", "--category", "code")
	return f.first(b, signs, cmd)
}
