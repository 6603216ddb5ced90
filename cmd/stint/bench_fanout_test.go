package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/testkit/must"
)

// BenchmarkFanout measures a fire that starts six workers, ranking and record included,
// beside as many calls of systemd-run, which start the same workers or "true". A service's work
// after its start counts only as far as it slows those that are still to start: on few
// processors that is much, and less of it when the service is "true".
func BenchmarkFanout(b *testing.B) {
	const workers = 6
	f := newBench(b, "true")
	f.write(b, "stint.toml", f.selfDirected(workers))
	beside := func(name string, argv func(i int) []string) {
		rounds := 0
		b.Run(name, func(b *testing.B) {
			measure(b,
				func() time.Duration { return f.fire(b, workers) },
				func() time.Duration {
					rounds++
					return f.startEach(b, workers, fmt.Sprintf("stint-bench-%d-%s-%d", os.Getpid(), name, rounds), argv)
				},
			).report(b)
		})
	}
	beside("workers", func(i int) []string {
		return []string{f.binary, "--config", filepath.Join(f.dir, "stint.toml"), "run", "--category", fmt.Sprintf("c%d", i)}
	})
	beside("true", func(int) []string { return []string{"true"} })
}

// fire starts n workers, and waits until they are gone, which does not count.
func (f bench) fire(b *testing.B, n int) time.Duration {
	b.Helper()
	took := f.timed(b, 0, f.managed(f.binary, "fanout", "-n", fmt.Sprint(n)))
	f.settle(b, f.lastUnits(b, n))
	return took
}

// startEach starts n services by a process each, and waits likewise.
func (f bench) startEach(b *testing.B, n int, name string, argv func(i int) []string) time.Duration {
	b.Helper()
	var units []string
	start := time.Now()
	for i := range n {
		unit := fmt.Sprintf("%s-%d.service", name, i)
		units = append(units, unit)
		args := []string{"--user", "--quiet", "--collect", "--service-type=exec", "--slice=stint-bench.slice", "--unit=" + unit}
		f.timed(b, 0, f.managed("systemd-run", append(args, argv(i)...)...))
	}
	took := time.Since(start)
	f.settle(b, units)
	return took
}

// selfDirected is a configuration with n categories that every fire may start, since
// their sessions need no task, take no rest and always achieve something.
func (f bench) selfDirected(n int) string {
	const script = `echo '{"outcome": "productive", "grade": 0.5}' >"$STINT_RESULT"`
	config := fmt.Sprintf("fleet = \"bench\"\nstate = %q\n[agent.fake]\ntrust = true\ncommand = [\"sh\", \"-c\", %q]\n", f.state(), script)
	for i := range n {
		config += fmt.Sprintf("[category.c%d]\nself_directed = true\ncooldown = \"0s\"\nmax_chain = 0\n", i)
	}
	return config
}

// managed is a process that finds the service manager.
func (f bench) managed(name string, args ...string) *exec.Cmd {
	cmd := f.command(name, args...)
	for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	return cmd
}

// lastUnits are those of the last fire, which must have started n.
func (f bench) lastUnits(b *testing.B, n int) []string {
	b.Helper()
	out := must.Get(f.command("sqlite3", "-readonly", f.database(),
		"select c.value ->> 'unit' from fires, json_each(choices) c where fires.id = (select max(id) from fires) and c.value ->> 'decision' = 'spawn'").Output())(b)
	units := strings.Fields(string(out))
	if len(units) != n {
		said, _ := os.ReadFile(f.output())
		b.Fatalf("the fire started %d workers, want %d:\n%s", len(units), n, said)
	}
	return units
}

// settle waits until the manager knows none of these units any more.
func (f bench) settle(b *testing.B, units []string) {
	b.Helper()
	var out []byte
	eventually(b, func() bool {
		var err error
		out, err = f.managed("systemctl", append([]string{"--user", "--all", "--plain", "--no-legend", "list-units"}, units...)...).Output()
		if err != nil {
			b.Fatalf("no service manager to ask: %v; run: scripts/bench", err)
		}
		return len(out) == 0
	}, func() string { return "the end of these units:\n" + string(out) })
}
