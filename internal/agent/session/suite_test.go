package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// order has the session that a supervisor runs. A supervisor is the test binary again: it is the
// reaper of its descendants, which this process cannot be for tests side by side.
type order struct {
	Run       fleet.RunID
	Unit      string // in which the supervisor is; empty: it adopts what its agent leaves
	State     string
	Dir       string
	Script    string // run by bash
	PromptLen int
	Mode      fleet.PromptMode // empty: standard input
	Resumes   string
	Timeout   time.Duration
	Silence   time.Duration
	Grace     time.Duration
	LogLimit  int64
}

// told has a supervisor's report at its end.
type told struct {
	End      fleet.End
	Status   int
	Detail   string
	Fault    string
	Children []int // of the supervisor, zombies too
	Peak     int   // the most memory that it took, in KiB
	Printed  int64
	Missing  int64
}

// orderVariable holds a supervisor's order.
const orderVariable = "STINT_TEST_ORDER"

func supervise() error {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &o); err != nil {
		return err
	}
	files := fleet.FilesOf(o.State, o.Run)
	alive, err := os.OpenFile(files.Alive, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(alive.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	echo, err := os.Create(o.State + "/echo")
	if err != nil {
		return err
	}
	r := Runner{Scopes: inScope{}}
	if o.Unit == "" {
		r.Scopes = nil
	}
	exit, err := r.Run(context.Background(), fleet.SessionSpec{
		Run: o.Run, Unit: o.Unit, Argv: []string{"bash", "-c", o.Script}, Dir: o.Dir, Files: files, Alive: alive,
		Environment: []string{"PATH=" + os.Getenv("PATH"), "STINT_RUN_ID=" + string(o.Run)},
		Prompt:      strings.Repeat("p", o.PromptLen), PromptMode: cmp.Or(o.Mode, fleet.PromptStdin), Resumes: o.Resumes,
		Timeout: o.Timeout, Silence: o.Silence, Grace: o.Grace, LogLimit: o.LogLimit, Echo: echo,
	})
	if err != nil {
		return err
	}
	t := told{
		End: exit.End, Status: exit.Status, Detail: exit.Detail, Printed: exit.Output.Printed, Missing: exit.Output.Missing,
	}
	if err := errors.Join(exit.Left, exit.Output.Fault); err != nil {
		t.Fault = err.Error()
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &t.Peak); err != nil {
		return err
	}
	t.Children, err = children()
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(t))
}

// newOrder is an order for a script, with files in folders of the test's own.
func newOrder(t *testing.T, script string) order {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	o := order{
		Run: ownRun(dir), Unit: testUnit, State: t.TempDir(), Dir: dir, Script: script, Timeout: patience, Grace: 50 * time.Millisecond,
	}
	files := o.files()
	must.Do(t, os.MkdirAll(files.Dir, 0o700))
	must.Do(t, os.WriteFile(files.Alive, nil, 0o600))
	t.Cleanup(func() {
		for _, pid := range inFolder(t, dir) { // of a test that failed
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return o
}

func (o order) files() fleet.RunFiles { return fleet.FilesOf(o.State, o.Run) }

func (o order) command(t *testing.T) *exec.Cmd {
	t.Helper()
	self := must.Get(os.Executable())(t)
	data := must.Get(json.Marshal(o))(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), agentMode+"=supervise", orderVariable+"="+string(data),
		"GORACE=atexit_sleep_ms=0") // a race-enabled one waits a second else
	cmd.Stderr = os.Stderr
	return cmd
}

// inFolder are the processes that work in a folder. All of a session's do that, whatever
// else they changed: the code under test does not know them by it.
func inFolder(t *testing.T, dir string) (pids []int) {
	t.Helper()
	all := must.Get(filepath.Glob("/proc/[0-9]*"))(t)
	for _, process := range all {
		if at, err := os.Readlink(process + "/cwd"); err == nil && at == dir {
			pid := must.Get(strconv.Atoi(filepath.Base(process)))(t)
			pids = append(pids, pid)
		}
	}
	return pids
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return string(data)
}

// obeyed supervises an order to its end, after which nobody and nothing may be left.
func obeyed(t *testing.T, o order) told {
	t.Helper()
	data, err := o.command(t).Output()
	if left := inFolder(t, o.Dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if err != nil {
		t.Fatalf("supervisor: %v", err)
	}
	var got told
	must.Do(t, json.Unmarshal(data, &got))
	if most := 192 << 10; got.Peak > most {
		t.Errorf("the supervisor took %d KiB, want at most %d", got.Peak, most)
	}
	got.Peak = 0
	alive := must.Get(os.OpenFile(o.files().Alive, os.O_RDWR, 0))(t)
	defer alive.Close()
	if err := syscall.Flock(int(alive.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("lock of the run: %v", err)
	}
	return got
}

// Scripts of agents. A hidden process has left its parent, its session and its
// environment, keeps no descriptor, and is deaf.
const (
	wait   = `mkfifo ever$$; exec 9<>ever$$; : >ready; while :; do read -rt 0.05 -u 9; done` // no child to be signalled as well
	hidden = `env -i setsid -f /bin/bash -c 'exec 0<&- 1>&- 2>&- 3>&-; trap "" TERM; : >hidden; while :; do /bin/sleep 0.05; done'
		until [ -e hidden ]; do sleep 0.01; done; `
)

// TestCharacters runs agents of every character, in a cgroup and without one.
func TestCharacters(t *testing.T) {
	t.Parallel()
	exited := func(printed int64) told { return told{End: fleet.Exited, Printed: printed} }
	overran := func(printed int64) told { return told{End: fleet.Overran, Printed: printed} }
	short := func(o *order) { o.Timeout = 3 * time.Second } // until then a loaded machine has begun it
	for name, tt := range map[string]struct {
		script string
		change func(*order)
		want   told
		log    string
	}{
		"obedient": {`trap 'echo asked; exit 7' TERM; ` + wait, func(o *order) { short(o); o.Grace = patience }, overran(6), "asked\n"},
		"deaf":     {`trap '' TERM; echo deaf; ` + wait, short, overran(5), "deaf\n"},
		"slow": {
			`trap 'sleep 0.3; echo done; exit' TERM; ` + wait,
			func(o *order) { short(o); o.Grace = patience }, overran(5), "done\n",
		},
		"slow child": {
			`bash -c 'trap "sleep 0.3; echo cleaned; exit" TERM; ` + wait + `' & until [ -e ready ]; do sleep 0.01; done`,
			func(o *order) { o.Grace = patience }, exited(8), "cleaned\n",
		},
		"slow child elsewhere": {
			`setsid bash -c 'trap "sleep 0.3; echo cleaned; exit" TERM; ` + wait + `' & until [ -e ready ]; do sleep 0.01; done`,
			func(o *order) { o.Grace = patience }, exited(8), "cleaned\n",
		},
		"failing":      {`echo no; exit 75`, nil, told{End: fleet.Exited, Status: 75, Printed: 3}, "no\n"},
		"dying":        {`kill -SEGV $$`, nil, told{End: fleet.Killed, Detail: "segmentation fault"}, ""},
		"forking":      {`for i in {1..30}; do sleep 100 & done; exit 0`, nil, exited(0), ""},
		"deaf forking": {`trap '' TERM; while :; do sleep 0.05 & sleep 0.01; done`, short, overran(0), ""},
		"hidden":       {hidden, nil, exited(0), ""},
		"hidden many":  {hidden + strings.Repeat("rm hidden; "+hidden, 4), nil, exited(0), ""},
		"hidden, stopped": {
			hidden + wait, func(o *order) { o.Timeout = 2 * time.Second }, overran(0), "",
		},
		"orphaning": {`for i in {1..100}; do env -i setsid -f /bin/true; done; sleep 0.1`, nil, exited(0), ""},
		"orphaning for long": {
			`for i in {1..50}; do env -i setsid -f /bin/true; done
			while grep -qsE ") Z $PPID " /proc/[0-9]*/stat; do sleep 0.05; done; echo reaped`, nil, exited(7), "reaped\n",
		},
		"hidden parents": {`echo 'exec env -i /usr/bin/setsid -f /bin/bash chain' >chain; bash chain; sleep 0.3`, nil, exited(0), ""},
		"self-stopping":  {`echo stopping; kill -STOP $$; echo gone on`, short, overran(9), "stopping\n"},
		"self-stopping, obedient": {
			`trap 'echo asked; exit' TERM; kill -STOP $$; ` + wait,
			func(o *order) { short(o); o.Grace = patience }, overran(6), "asked\n",
		},
		"silent": {
			`echo hello; exec sleep 100`, func(o *order) { o.Silence = 3 * time.Second },
			told{End: fleet.Overran, Detail: "it printed nothing for 3s", Printed: 6},
			"hello\n",
		},
		"seldom":          {`for i in {1..12}; do printf .; sleep 0.2; done`, func(o *order) { o.Silence = 2 * time.Second }, exited(12), "............"},
		"without newline": {`printf 'no end'`, nil, exited(6), "no end"},
		"closing":         {`exec >&- 2>&-; sleep 0.2; exit 5`, nil, told{End: fleet.Exited, Status: 5}, ""},
		"holding":         {`echo held; env -i setsid -f /bin/sleep 100`, nil, exited(5), "held\n"},
		"not reading":     {`exit 0`, func(o *order) { o.PromptLen = 10 << 20 }, exited(0), ""},
		"reading":         {`wc -c`, func(o *order) { o.PromptLen = 10 << 20 }, exited(9), "10485760\n"},
	} {
		for how, unit := range map[string]string{"cgroup": testUnit, "adopted": ""} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				o := newOrder(t, tt.script)
				if o.Unit = unit; tt.change != nil {
					tt.change(&o)
				}
				must.Equal(t, "told", obeyed(t, o), tt.want)
				if got := readFile(t, o.files().Log); got != tt.log {
					t.Errorf("log %q, want %q", got, tt.log)
				}
			})
		}
	}
}

// TestChatty has an agent print a gigabyte.
func TestChatty(t *testing.T) {
	t.Parallel()
	const size = 1 << 30
	o := newOrder(t, fmt.Sprintf(`echo the beginning; yes 'and so it goes on' | head -c %d; echo; echo the end`, size))
	o.LogLimit, o.Timeout = 1<<20, 5*patience
	got := obeyed(t, o)
	want := told{End: fleet.Exited, Printed: size + int64(len("the beginning\n\nthe end\n")), Missing: got.Missing}
	must.Equal(t, "told", got, want)
	log := readFile(t, o.files().Log)
	if !strings.HasPrefix(log, "the beginning\nand so") || !strings.HasSuffix(log, "\nthe end\n") || len(log) > 1<<20 {
		t.Errorf("log of %d bytes %.20q, want both ends of it", len(log), log)
	}
	if line := gap(got.Missing); !strings.Contains(log, line) || int64(len(log)-len(line))+got.Missing != got.Printed {
		t.Errorf("%d of %d bytes missing, %d in the log: want that to add up, and %q in it", got.Missing, got.Printed, len(log), line)
	}
	if echo := readFile(t, o.State+"/echo"); len(echo) > 200*echoLine || !strings.HasSuffix(echo, "see the run's log]\n") {
		t.Errorf("echo of %d bytes, want little of it", len(echo))
	}
}

func TestBinary(t *testing.T) {
	t.Parallel()
	o := newOrder(t, `printf '<0>\033[2J\n'; head -c 100000 /dev/urandom | tee copy`)
	obeyed(t, o)
	if readFile(t, o.files().Log) != "<0>\x1b[2J\n"+readFile(t, o.Dir+"/copy") {
		t.Error("the log is not what the agent printed")
	}
	for line := range strings.Lines(readFile(t, o.State+"/echo")) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("echo has %q, want nothing that a terminal obeys", line)
		}
		if !strings.HasPrefix(line, echoMark) && !strings.HasPrefix(line, "[stint: ") {
			t.Errorf("echo has %q, want a mark before it", line)
		}
	}
}

// TestSupervisorKilled kills the supervisor of an agent that talks: its next word ends it.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	o := newOrder(t, `while echo word; do echo >said; sleep 0.02; done`)
	cmd := o.command(t)
	must.Do(t, cmd.Start())
	eventually(t, "the agent talks", func() bool { _, err := os.Stat(o.Dir + "/said"); return err == nil })
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	eventually(t, "the agent is gone", func() bool { return len(inFolder(t, o.Dir)) == 0 })
}

// TestEndOfAnOrphan kills the supervisor of a session. What is left is known to live and is ended: in a cgroup
// whatever it is, without one the agent and its group.
func TestEndOfAnOrphan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ unit, script string }{
		"hidden":       {testUnit, hidden + `: >talked; exec sleep 100`},
		"hidden alone": {testUnit, hidden + `: >talked; kill -KILL $$`},
		"many":         {testUnit, `trap '' TERM; : >talked; while :; do setsid sleep 100 & sleep 0.001; done`},
		"below":        {testUnit, `d=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/own; mkdir $d; echo $$ >$d/cgroup.procs; : >talked; exec sleep 100`},
		"adopted":      {"", `trap '' TERM HUP; sleep 100 & : >talked; exec 3>&-; wait`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrder(t, tt.script)
			o.Unit, o.Grace = tt.unit, patience
			cmd := o.command(t)
			must.Do(t, cmd.Start())
			eventually(t, "the agent at work", func() bool { _, err := os.Stat(o.Dir + "/talked"); return err == nil })
			eventually(t, "where it is is written down", func() bool { return traceOf(o.State, o.Run) != trace{} })
			if name == "hidden alone" { // asked to end, and deaf
				eventually(t, "the agent gone", func() bool { return len(inFolder(t, o.Dir)) == 2 })
			}
			must.Do(t, cmd.Process.Kill())
			_ = cmd.Wait() // it was killed
			s, r := Sessions{State: o.State, Locks: unlocked{}, Log: slog.New(slog.DiscardHandler)}, fleet.Run{ID: o.Run}
			r.StartedAt = time.Unix(1, 0)
			must.Equal(t, "liveness", s.Liveness(t.Context(), r), fleet.Lives)
			must.Do(t, s.End(t.Context(), r))
			must.Equal(t, "liveness", s.Liveness(t.Context(), r), fleet.Gone)
			eventually(t, "nothing left", func() bool { return len(inFolder(t, o.Dir)) == 0 })
			must.Do(t, s.End(t.Context(), r)) // there is nothing to end
		})
	}
}

// TestEndOfNowhere ends a session of which nobody wrote down where it is. The file of no cgroup is that of all of them, which
// is not asked: a container may have one that can be written.
func TestEndOfNowhere(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "/", "/other", "half"} {
		must.Do(t, readTrace(text, "0run").end())
	}
}

// unlocked are the locks of runs that nobody holds any more.
type unlocked struct{}

func (unlocked) Lives(fleet.RunID) (bool, error) { return false, nil }

// TestContain refuses a cgroup in which the session's unit has no part.
func TestContain(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Runner{"another unit": {Scopes: inScope{}}, "no manager": {}} {
		if c, err := r.contain(t.Context(), "0r1", "another.service"); err == nil {
			t.Errorf("%s: got cgroup %s, want an error", name, c)
		}
	}
	c := must.Get(Runner{Scopes: inScope{}}.contain(t.Context(), "0rcontain", testUnit))(t)
	must.Do(t, c.kill()) // nothing is in it
	must.Do(t, os.Remove(c.file("")))
	must.Do(t, c.kill())
	if left, err := c.populated(); err != nil || left {
		t.Errorf("a cgroup that is gone: %t, %v", left, err)
	}
}

func TestReadOOM(t *testing.T) {
	t.Parallel()
	must.Equal(t, "kills", readOOM("low 0\nhigh 7\nmax 9\noom 2\noom_kill 3\noom_group_kill 1\n"), 3)
	must.Equal(t, "kills without a controller", readOOM(""), 0)
}

// TestReadTrace takes no cgroup but that of the run, and no group of every process there is.
func TestReadTrace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]trace{
		"/user.slice/a.service/0r1":    {group: "/user.slice/a.service/0r1"},
		"/user.slice/a.service":        {},
		"/user.slice/a.service/0r2":    {},
		"/user.slice/../a.service/0r1": {},
		"0r1":                          {},
		"71 12345":                     {agent: 71, start: 12345},
		"1 12345":                      {},
		"-1 12345":                     {},
		"71":                           {},
		"":                             {},
	} {
		if got := readTrace(text, "0r1"); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
		if want != (trace{}) {
			must.Equal(t, "text", want.String(), text)
		}
	}
}

func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !fn(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
