package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// The benchmarks measure stint beside what it is compared with, in pairs: what slows
// the machine slows both halves of a pair, and the median of the pairs' ratios says
// more than the ratio of two averages. Nothing here passes or fails by a time.
//
//	make bench
//
// runs them with the program that it builds, and prints their figures as a table.

// way is one of the two ways of a pair. It returns what it took.
type way func() time.Duration

// pairs are the durations of two ways of doing one thing.
type pairs struct{ ours, theirs []time.Duration }

// measure runs both ways, one right after the other, until the benchmark's time is up.
// They take turns at being first. The first pair warms up and is not counted.
func measure(b *testing.B, ours, theirs way) pairs {
	b.Helper()
	ours()
	theirs()
	var p pairs
	for b.Loop() {
		if len(p.ours)%2 == 0 {
			p.ours = append(p.ours, ours())
			p.theirs = append(p.theirs, theirs())
		} else {
			p.theirs = append(p.theirs, theirs())
			p.ours = append(p.ours, ours())
		}
	}
	return p
}

// report gives the medians of both ways in milliseconds, and of what ours takes in
// theirs as a ratio and as a difference, each with its quartiles.
func (p pairs) report(b *testing.B) {
	b.Helper()
	var ratios, extra, ours, theirs []float64
	for i := range p.ours {
		o, t := p.ours[i].Seconds()*1e3, p.theirs[i].Seconds()*1e3
		ours, theirs = append(ours, o), append(theirs, t)
		ratios, extra = append(ratios, o/t), append(extra, o-t)
	}
	b.ReportMetric(0, "ns/op") // of a pair, which means nothing
	b.ReportMetric(quantile(ours, 0.5), "ms")
	b.ReportMetric(quantile(theirs, 0.5), "other-ms")
	for name, q := range map[string]float64{"": 0.5, "-q1": 0.25, "-q3": 0.75} {
		b.ReportMetric(quantile(ratios, q), "ratio"+name)
		b.ReportMetric(quantile(extra, q), "extra-ms"+name)
	}
}

// reportRates adds how many of what each half of a pair does n times are done a second.
func (p pairs) reportRates(b *testing.B, n int) {
	b.Helper()
	rate := func(list []time.Duration) float64 {
		var seconds []float64
		for _, d := range list {
			seconds = append(seconds, d.Seconds())
		}
		return float64(n) / quantile(seconds, 0.5)
	}
	b.ReportMetric(rate(p.ours), "rate/s")
	b.ReportMetric(rate(p.theirs), "other-rate/s")
}

func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// bench is a fleet in a folder of its own.
type bench struct {
	binary  string
	sqlite3 string // the shell, if it is not the one of $PATH
	dir     string // the workspace
}

// newBench makes a fleet with one category, whose agent runs a script. The program is
// the one that "make build" made, or $STINT_BENCH.
func newBench(b *testing.B, script string) bench {
	b.Helper()
	binary, err := filepath.Abs(cmp.Or(os.Getenv("STINT_BENCH"), "../../bin/stint"))
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		b.Fatalf("nothing to measure: %v; run: make bench", err)
	}
	f := bench{binary: binary, dir: b.TempDir()}
	f.write(b, "stint.toml", fmt.Sprintf(`fleet = "bench"
state = %q
[agent.fake]
box = "open"
command = ["sh", "-c", %q]
[category.code]
`, f.state(), script))
	f.write(b, "tasks/fix.md", "---\nstate: todo\n---\n# Fix it\n")
	must.Do(b, command("git", "-C", f.dir, "init", "-q"))
	f.stint(b, 0, "claim", "held", "--holder", "somebody", "--ttl", "24h")
	return f
}

func (f bench) state() string { return filepath.Join(f.dir, ".state") }

func (f bench) database() string { return filepath.Join(f.state(), sqlite.File) }

// output names the file with the last process's output.
func (f bench) output() string { return filepath.Join(f.dir, "output") }

func (f bench) write(b *testing.B, name, text string) {
	b.Helper()
	write(b, filepath.Join(f.dir, name), text, 0o600)
}

// stint runs the program and says how long that took as a whole process.
func (f bench) stint(b *testing.B, status int, args ...string) time.Duration {
	b.Helper()
	return f.timed(b, status, f.command(f.binary, args...))
}

// command is a process in the fleet's folder, with little in its environment.
func (f bench) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = f.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "LANG=C.UTF-8", "USER=bench"}
	return cmd
}

// timed runs a process to its end. Its output goes to a file, as there is no time to
// lose on a pipe.
func (f bench) timed(b *testing.B, status int, cmd *exec.Cmd) time.Duration {
	b.Helper()
	out := must.Get(os.OpenFile(f.output(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600))(b)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		said, _ := os.ReadFile(out.Name())
		b.Fatalf("%v: %v, want status %d: %s", cmd.Args, err, status, bytes.TrimSpace(said))
	}
	return took
}

// openStore opens the fleet's store as the program does.
func (f bench) openStore(b *testing.B) *sqlite.DB {
	b.Helper()
	workspace := must.Get(filepath.EvalSymlinks(f.dir))(b)
	d := must.Get(sqlite.Open(b.Context(), sqlite.Options{Dir: f.state(), Fleet: "bench", Workspace: workspace, Now: time.Now}))(b)
	return d
}

// fill stores so many claims that were given back.
func (f bench) fill(b *testing.B, n int) {
	b.Helper()
	f.execute(b, fmt.Sprintf(`insert into claims (key, holder, epoch, acquired_at, expires_at, released_at, ending)
		with recursive n(i) as (select 0 union all select i + 1 from n where i < %d)
		select printf('stored-%%06d', i * 1000000 / %[2]d), 'somebody', 1, 1, 2, 2, 'done' from n`, n-1, n))
}

// execute changes the store behind the program's back, and leaves nothing in the log.
func (f bench) execute(b *testing.B, statement string) {
	b.Helper()
	must.Do(b, execute(b.Context(), f.database(), statement))
}
