package session

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"stint/internal/box"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// boxed gives an agent a box, and says what that is tried with. Without namespaces, bubblewrap is
// not found.
func boxed(t *testing.T, s fleet.SessionSpec) (Runner, fleet.SessionSpec) {
	t.Helper()
	home, state := t.TempDir(), filepath.Dir(filepath.Dir(s.Files.Dir))
	config := filepath.Join(s.Dir, "stint.toml")
	must.Do(t, os.WriteFile(config, nil, 0o600))
	s.Prompt = "the prompt"
	s.Environment = []string{s.Environment[0], dumpFile + "=" + filepath.Join(s.Dir, "dump")}
	s.Box = box.For(fleet.BoxWorkspace, box.Places{
		Home: home, State: state, Config: config, Dir: s.Dir, Files: s.Files, Programs: s.Argv[:1],
	})
	s.Trial = fleet.BoxTrial{Files: s.Files, Home: home, State: state, Dir: s.Dir}
	return Runner{Stint: s.Argv[0]}, s
}

// proven is the box, and who waits in it.
func proven(t *testing.T, r Runner, s fleet.SessionSpec) (fleet.ProvenBox, *waiting) {
	t.Helper()
	b := must.Get(r.Prove(t.Context(), s.Box, s.Trial))(t)
	w := b.Waiting.(*waiting)
	t.Cleanup(w.end)
	return b, w
}

// TestProve has the process that tried a box become the agent, with each of the layers.
func TestProve(t *testing.T) {
	for name, path := range map[string]string{"both layers": os.Getenv("PATH"), "Landlock": "/nowhere"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			r, s := boxed(t, testSpec(t, "dump", "an argument", "", "a\nb"))
			b, w := proven(t, r, s)
			if spaces := b.Layers.Namespaces != ""; b.Layers.Landlock == 0 || spaces != (name == "both layers") {
				t.Fatalf("got %+v for layers", b.Layers)
			}
			if _, err := os.Lstat(s.Files.Canary); !os.IsNotExist(err) {
				t.Errorf("the canary is still there: %v", err)
			}
			s.Waiting = w
			exit, err := r.Run(t.Context(), s)
			if err != nil || exit.End != fleet.Exited || exit.Status != 0 {
				t.Fatalf("got %+v, %v", exit, err)
			}
			if state := w.cmd.ProcessState; state == nil || state.ExitCode() != 0 {
				t.Errorf("the process that tried the box ended by %v: another one was the agent", state)
			}
			g := dumped(t, s)
			if !slices.Equal(g.Environment, s.Environment) || !slices.Equal(g.Args, s.Argv) || g.Dir != s.Dir || g.Stdin != s.Prompt {
				t.Errorf("got %+v, want what the spec says", g)
			}
			var alive unix.Stat_t
			if err := unix.Fstat(int(s.Alive.Fd()), &alive); err != nil || g.Alive != alive.Ino {
				t.Errorf("the agent's third descriptor is the file %d, want its run's lock: %v", g.Alive, err)
			}
			if left, err := os.ReadDir(s.Files.Tmp); err != nil || slices.ContainsFunc(left, isTrial) {
				t.Errorf("the trial left %v in /tmp: %v", left, err)
			}
		})
	}
}

func isTrial(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "stint-trial") }

// TestProveAnother tries the box again when another file has come into the place of one that it lists:
// what is mounted is the old one.
//
//nolint:paralleltest // one process tries one box at a time: its socket is named by the process
func TestProveAnother(t *testing.T) {
	r, s := boxed(t, testSpec(t, "dump"))
	_, w := proven(t, r, s)
	if !w.stands(s.Box) {
		t.Error("nothing changed, and the box is another one")
	}
	config := filepath.Join(s.Dir, "stint.toml")
	must.Do(t, os.WriteFile(config+".new", nil, 0o600))
	must.Do(t, os.Rename(config+".new", config))
	if w.stands(s.Box) {
		t.Error("a file was replaced, and the box is the same")
	}
	s.Waiting = w
	exit, err := r.Run(t.Context(), s)
	if err != nil || exit.End != fleet.Exited || !w.over {
		t.Errorf("got %+v, %v", exit, err)
	}
	if g := dumped(t, s); g.Stdin != s.Prompt {
		t.Errorf("got %+v from the agent in the other box", g)
	}
	more := s.Box
	more.Write = append(slices.Clone(more.Write), "/srv")
	if _, w := proven(t, r, s); w.stands(more) {
		t.Error("a box with another folder is the same")
	}
}

// TestLayersRefused hears at once that bubblewrap fails, and why: each session of a machine that refuses
// namespaces asks.
func TestLayersRefused(t *testing.T) {
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "bwrap"), []byte("#!/bin/sh\necho no such luck >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	t.Setenv("PATH", tools)
	ctx, cancel := context.WithTimeout(t.Context(), trialTime/2)
	defer cancel()
	r, _ := boxed(t, testSpec(t, "dump"))
	layers, err := r.Layers(ctx)
	if err != nil || layers.Refused != "no such luck" || layers.Namespaces != "" {
		t.Errorf("got %+v, %v", layers, err)
	}
}

// TestWaitingEnds ends a process that waits when its line is shut: before it hears of a program, in the
// middle of one, and as it does when the supervisor dies. It has begun nothing.
//
//nolint:paralleltest // one process tries one box at a time
func TestWaitingEnds(t *testing.T) {
	for name, hear := range map[string]func(w *waiting, text []byte) error{
		"at once": func(*waiting, []byte) error { return nil },
		"in the middle": func(w *waiting, text []byte) error {
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer null.Close()
			_, _, err = w.line.WriteMsgUnix([]byte{0}, unix.UnixRights(int(null.Fd()), int(null.Fd()), int(null.Fd())), nil)
			if err == nil {
				_, err = w.line.Write(text[:len(text)-1])
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := boxed(t, testSpec(t, "dump"))
			_, w := proven(t, r, s)
			must.Do(t, hear(w, box.Program{Path: s.Argv[0], Dir: s.Dir, Args: s.Argv, Env: s.Environment}.Encode()))
			w.end()
			if state := w.cmd.ProcessState; state == nil || state.ExitCode() != 0 {
				t.Errorf("it ended by %v: %s", state, w.said)
			}
			if _, err := os.Lstat(variable(s, dumpFile)); !os.IsNotExist(err) {
				t.Errorf("it became the agent: %v", err)
			}
		})
	}
}
