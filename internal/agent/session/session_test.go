package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// patience bounds a test's wait for a process.
const patience = 2 * time.Minute

// testSpec is an agent of a character, with its files in folders of the test's
// own.
func testSpec(t *testing.T, mode string, args ...string) fleet.SessionSpec {
	t.Helper()
	self := must.Get(os.Executable())(t)
	state := t.TempDir()
	files := fleet.FilesOf(state, "0r1")
	must.Do(t, os.MkdirAll(files.Out, 0o700))
	alive := must.Get(os.OpenFile(files.Alive, os.O_RDWR|os.O_CREATE, 0o600))(t)
	t.Cleanup(func() { _ = alive.Close() })
	ready := filepath.Join(state, "ready")
	must.Do(t, syscall.Mkfifo(ready, 0o600))
	return fleet.SessionSpec{
		Run:         ownRun(state),
		Unit:        testUnit,
		Argv:        append([]string{self}, args...),
		Environment: []string{agentMode + "=" + mode, readyFile + "=" + ready, dumpFile + "=" + filepath.Join(state, "dump")},
		Dir:         t.TempDir(),
		Files:       files,
		PromptMode:  fleet.PromptStdin,
		Alive:       alive,
		Timeout:     patience,
		Grace:       20 * time.Millisecond,
	}
}

// ownRun is the id of a run of this test alone: two of one id would share a cgroup.
func ownRun(folder string) fleet.RunID {
	return fleet.RunID("0r" + strings.ReplaceAll(filepath.Base(filepath.Dir(folder)), "_", ""))
}

func (g given) environment(name string) string {
	for _, e := range g.Environment {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

func variable(s fleet.SessionSpec, name string) string {
	return given{Environment: s.Environment}.environment(name)
}

func mustRun(ctx context.Context, t *testing.T, s fleet.SessionSpec) fleet.SessionExit {
	t.Helper()
	exit := must.Get(Runner{Scopes: inScope{}}.Run(ctx, s))(t)
	return exit
}

// dumped returns the surroundings that an agent listed.
func dumped(t *testing.T, s fleet.SessionSpec) (g given) {
	t.Helper()
	data := must.Get(os.ReadFile(variable(s, dumpFile)))(t)
	must.Do(t, json.Unmarshal(data, &g))
	return g
}

// groupOf waits for an agent to be ready and returns its process group.
func groupOf(t *testing.T, s fleet.SessionSpec) int {
	t.Helper()
	line := make(chan string, 1)
	go func() {
		f, err := os.Open(variable(s, readyFile))
		if err != nil {
			line <- err.Error()
			return
		}
		defer f.Close()
		text, _ := bufio.NewReader(f).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		group := must.Get(strconv.Atoi(text))(t)
		return group
	case <-time.After(patience):
		t.Fatalf("got no agent ready within %s", patience)
		return 0
	}
}

// mustBeEmpty waits until no process of a group is left but, perhaps, zombies that
// are not ours to reap.
func mustBeEmpty(t *testing.T, group int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		left := members(t, group)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("got processes %v left in group %d, want none", left, group)
		}
	}
}

func members(t *testing.T, group int) (pids []string) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(paths) == 0 {
		t.Fatalf("got processes %v, %v, want some", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		_, rest, _ := strings.Cut(string(data), ") ") // pid (name) state parent group
		if f := strings.Fields(rest); f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			pids = append(pids, path)
		}
	}
	return pids
}

// said is the output of an agent whose every byte is in its log.
func said(bytes int) fleet.Output { return fleet.Output{Printed: int64(bytes)} }

func TestEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec func(*fleet.SessionSpec)
		mode string
		args []string
		want fleet.SessionExit
	}{
		{"by itself", nil, "exit", []string{"0"}, fleet.SessionExit{End: fleet.Exited, Output: said(20)}},
		{"with a status", nil, "exit", []string{"75"}, fleet.SessionExit{End: fleet.Exited, Status: 75, Output: said(20)}},
		{"by a signal", nil, "die", nil, fleet.SessionExit{End: fleet.Killed, Detail: "killed"}},
		{
			"not in the path", func(s *fleet.SessionSpec) { s.Argv[0] = "no such agent" },
			"exit", nil,
			fleet.SessionExit{End: fleet.NoProcess, Detail: `"no such agent": not found in its PATH ""`},
		},
		{
			"no program", func(s *fleet.SessionSpec) { s.Argv[0] = "/nonexistent/agent" },
			"exit", nil,
			fleet.SessionExit{End: fleet.NoProcess, Detail: `"/nonexistent/agent": no such file or directory`},
		},
		{
			"no folder", func(s *fleet.SessionSpec) { s.Dir = "/nonexistent" },
			"exit", nil,
			fleet.SessionExit{End: fleet.NoProcess, Detail: "stat /nonexistent: no such file or directory"},
		},
		{
			"NUL in the environment", func(s *fleet.SessionSpec) { s.Environment = append(s.Environment, "A=b\x00c") },
			"exit", nil,
			fleet.SessionExit{End: fleet.NoProcess, Detail: "exec: environment variable contains NUL"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testSpec(t, tt.mode, tt.args...)
			if tt.spec != nil {
				tt.spec(&s)
			}
			must.Equal(t, "exit", mustRun(t.Context(), t, s), tt.want)
		})
	}
}

// TestStop stops agents of every character; nothing of their group stays.
func TestStop(t *testing.T) {
	t.Parallel()
	for mode, words := range map[string]string{"obey": "asked: terminated\n", "deaf": "", "family": ""} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := testSpec(t, mode)
			if mode == "obey" {
				s.Grace = patience // it needs none of it
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			group := make(chan int, 1)
			go func() {
				defer cancel()
				group <- groupOf(t, s)
			}()
			exit := mustRun(ctx, t, s)
			exit.Output = fleet.Output{} // the log is checked
			must.Equal(t, "exit", exit, fleet.SessionExit{End: fleet.Stopped})
			mustBeEmpty(t, <-group)
			got, err := os.ReadFile(s.Files.Log)
			if mode == "family" && strings.HasSuffix(string(got), "ready: broken pipe\n") {
				got = nil // the second to be ready found nobody listening
			}
			if err != nil || string(got) != words {
				t.Errorf("got log %q, %v, want %q", got, err, words)
			}
		})
	}
}

func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "dump")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Equal(t, "exit", mustRun(ctx, t, s), fleet.SessionExit{End: fleet.Stopped})
	if _, err := os.Stat(variable(s, dumpFile)); err == nil {
		t.Error("got an agent, want none started")
	}
}

// TestOverrun lets agents overrun. That one wrote a result before does not change
// what happened.
func TestOverrun(t *testing.T) {
	t.Parallel()
	for mode, tt := range map[string]struct {
		words string
		grace time.Duration
	}{
		"obey": {"asked: terminated\n", patience},
		"deaf": {"", 20 * time.Millisecond},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := testSpec(t, mode)
			s.Timeout, s.Grace = 3*time.Second, tt.grace                             // until then a loaded machine has begun it
			reader := must.Get(os.OpenFile(variable(s, readyFile), os.O_RDWR, 0))(t) // so that the agent need not wait for one
			defer reader.Close()
			must.Do(t, os.WriteFile(s.Files.Result, []byte("{}"), 0o600))
			must.Equal(t, "exit", mustRun(t.Context(), t, s), fleet.SessionExit{End: fleet.Overran, Result: []byte("{}"), Output: said(len(tt.words))})
		})
	}
}

// TestNobodyIsLeft has an agent leave a deaf child in its group: it ends with it,
// and does not hold up the end.
func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "parent")
	group := make(chan int, 1)
	go func() { group <- groupOf(t, s) }()
	must.Equal(t, "exit", mustRun(t.Context(), t, s), fleet.SessionExit{End: fleet.Exited})
	mustBeEmpty(t, <-group)
}

// TestByteForByte sends what shells, systemd and C have special words for.
func TestByteForByte(t *testing.T) {
	t.Parallel()
	hostile := []string{
		"", " ", "a b", `"double" 'single'`, "$HOME ${HOME} $(id) `id`", "%n %h %%", `back\slash`, "two\nlines\n", "\t\r\x1b[31m",
		"-rf", "--", "*", "~", ";&|<>", "ünïcode 任务 🎉", "not UTF-8: \xff\xfe",
	}
	for _, mode := range []fleet.PromptMode{fleet.PromptStdin, fleet.PromptArgument, fleet.PromptFile} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := testSpec(t, "dump", hostile...)
			s.Environment = slices.DeleteFunc(s.Environment, func(e string) bool { return strings.HasPrefix(e, readyFile) })
			for i, h := range hostile {
				s.Environment = append(s.Environment, fmt.Sprintf("HOSTILE_%d=%s", i, h))
			}
			s.Prompt, s.PromptMode = strings.Join(hostile, "\n"), mode
			if exit := mustRun(t.Context(), t, s); exit.End != fleet.Exited || exit.Status != 0 {
				t.Fatalf("got %+v, want a good end", exit)
			}
			var alive syscall.Stat_t
			must.Do(t, syscall.Stat(s.Files.Alive, &alive))
			dir := must.Get(filepath.EvalSymlinks(s.Dir))(t)
			want := given{Args: s.Argv, Environment: s.Environment, Dir: dir, Group: true, Session: true, Alive: alive.Ino}
			switch mode {
			case fleet.PromptStdin:
				want.Stdin = s.Prompt
			case fleet.PromptArgument:
				want.Args = append(slices.Clone(s.Argv), s.Prompt)
			case fleet.PromptFile, fleet.PromptACP:
			}
			got := dumped(t, s)
			for _, list := range [][]string{want.Args, want.Environment} { // JSON has no bytes that are not UTF-8
				for i := range list {
					list[i] = strings.ToValidUTF8(list[i], "\ufffd\ufffd")
				}
			}
			want.Stdin = strings.ToValidUTF8(want.Stdin, "\ufffd\ufffd")
			must.Equal(t, "given", got, want)
			if got, err := os.ReadFile(s.Files.Prompt); err != nil || string(got) != s.Prompt {
				t.Errorf("got prompt file %q, %v, want the prompt", got, err)
			}
		})
	}
}

// TestEnvironmentIsAllThereIs guards against the parent's environment, which os/exec
// passes on when it is given none.
func TestEnvironmentIsAllThereIs(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "")
	s.Argv = []string{"/usr/bin/env"}
	s.Environment = nil
	mustRun(t.Context(), t, s)
	if got, err := os.ReadFile(s.Files.Log); err != nil || len(got) > 0 {
		t.Errorf("got environment %q, %v, want none", got, err)
	}
}

func TestEnvironmentLastWins(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "")
	s.Argv = []string{"/usr/bin/env"}
	s.Environment = []string{"STINT_EPOCH=99", "A=1", "STINT_EPOCH=3"}
	mustRun(t.Context(), t, s)
	if got, err := os.ReadFile(s.Files.Log); err != nil || string(got) != "A=1\nSTINT_EPOCH=3\n" {
		t.Errorf("got environment %q, %v, want the last of each name", got, err)
	}
}

// TestPromptArgument tries both sides of the kernel's limit.
func TestPromptArgument(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]fleet.SessionExit{
		128<<10 - 1: {End: fleet.Exited, Output: said(20)},
		128 << 10:   {End: fleet.NoProcess, Detail: "the prompt is 131072 bytes; an argument holds at most 131071"},
	} {
		s := testSpec(t, "exit", "0")
		s.Prompt, s.PromptMode = strings.Repeat("p", size), fleet.PromptArgument
		if diff := cmp.Diff(mustRun(t.Context(), t, s), want); diff != "" {
			t.Errorf("%d bytes (-got +want):\n%s", size, diff)
		}
	}
	s := testSpec(t, "exit", "0")
	s.Prompt, s.PromptMode = "a\x00b", fleet.PromptArgument
	want := fleet.SessionExit{End: fleet.NoProcess, Detail: "the prompt holds a NUL byte, which no argument can"}
	must.Equal(t, "NUL", mustRun(t.Context(), t, s), want)
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, nil, mode))
		return path
	}
	first, second := file("1/agent", 0o700), file("2/agent", 0o700)
	file("3/agent", 0o600)
	file("4/agent/x", 0o600)
	here := must.Get(os.Getwd())(t)
	relative := must.Get(filepath.Rel(here, filepath.Dir(first)))(t)
	tests := []struct{ name, program, path, want string }{
		{"the first", "agent", "PATH=$/1:$/2", first},
		{"the last PATH", "agent", "PATH=$/1\nPATH=$/2", second},
		{"not a program", "agent", "PATH=$/3:$/2", second},
		{"a folder", "agent", "PATH=$/4:$/2", second},
		{"a missing folder", "agent", "PATH=$/0:$/2", second},
		{"a relative entry", "agent", "PATH=" + relative, ""},
		{"an empty entry", "agent", "PATH=:", ""},
		{"no entry", "agent", "PATH=", ""},
		{"no PATH", "agent", "OTHERPATH=$/1", ""},
		{"a path", "./agent", "PATH=$/1", "./agent"},
		{"an absolute path", "/x/agent", "", "/x/agent"},
	}
	for _, tt := range tests {
		got, err := command.LookPath(tt.program, strings.Split(strings.ReplaceAll(tt.path, "$", dir), "\n"))
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	s := testSpec(t, "exit", "1")
	for _, run := range []fleet.RunID{s.Run, s.Run + "0"} {
		s.Run = run // each has a cgroup of its own
		mustRun(t.Context(), t, s)
	}
	if got, err := os.ReadFile(s.Files.Log); err != nil || string(got) != strings.Repeat("to stdout\nto stderr\n", 2) {
		t.Errorf("got log %q, %v, want both outputs of both", got, err)
	}
	for _, path := range []string{s.Files.Log, s.Files.Prompt} {
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
		}
	}
}

func TestFilesCannotBePrepared(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fleet.SessionSpec){
		"prompt": func(s *fleet.SessionSpec) { s.Files.Prompt += "/x" },
		"log":    func(s *fleet.SessionSpec) { s.Files.Log += "/x" },
	} {
		s := testSpec(t, "dump")
		spoil(&s)
		if exit, err := (Runner{Scopes: inScope{}}).Run(t.Context(), s); err == nil {
			t.Errorf("%s: got %+v, want an error", name, exit)
		}
		if _, err := os.Stat(variable(s, dumpFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: got an agent (%v), want none started", name, err)
		}
	}
}
