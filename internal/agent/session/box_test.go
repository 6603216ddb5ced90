package session

import (
	"context"
	"os"
	"os/exec"
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
	return Runner{Stint: s.Argv[0], Scopes: inScope{}}, s
}

// TestProve has an agent in a box that was proven, with each of the layers. What carries it gets nothing of its
// environment.
func TestProve(t *testing.T) {
	for name, path := range map[string]string{"both layers": os.Getenv("PATH"), "Landlock": "/nowhere"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			seen := filepath.Join(t.TempDir(), "seen")
			if bubblewrap, err := exec.LookPath("bwrap"); err == nil {
				t.Setenv("PATH", filepath.Dir(bwrap(t, "/usr/bin/env >>"+seen+`; exec `+bubblewrap+` "$@"`)))
			}
			r, s := boxed(t, testSpec(t, "dump", "an argument", "", "a\nb"))
			if name == "Landlock" {
				s.Box.Profile = fleet.BoxLandlock
			}
			s.Environment = append(s.Environment, "latin=\xe9")
			s.Box = must.Get(r.Prove(t.Context(), s.Box, s.Trial))(t)
			if l := s.Box.Layers; l.Landlock == 0 || (l.Namespaces != "") != (name == "both layers") {
				t.Fatalf("got %+v for layers", l)
			}
			exit, err := r.Run(t.Context(), s)
			if err != nil || exit.End != fleet.Exited || exit.Status != 0 {
				t.Fatalf("got %+v, %v", exit, err)
			}
			if carrier, _ := os.ReadFile(seen); strings.Contains(string(carrier), "latin=") || len(carrier) > 0 != (name == "both layers") {
				t.Errorf("what carries the agent has %q in its environment", carrier)
			}
			g := dumped(t, s)
			s.Environment[2] = "latin=\ufffd" // in JSON
			if !slices.Equal(g.Environment, s.Environment) || !slices.Equal(g.Args, s.Argv) || g.Dir != s.Dir || g.Stdin != s.Prompt {
				t.Errorf("got %+v, want what the spec says", g)
			}
			if log := readFile(t, s.Files.Log); !strings.HasSuffix(log, "to stderr\n") {
				t.Errorf("the log has %q", log)
			}
			var alive unix.Stat_t
			if err := unix.Fstat(int(s.Alive.Fd()), &alive); err != nil || g.Alive != alive.Ino {
				t.Errorf("the agent's third descriptor is the file %d, want its run's lock: %v", g.Alive, err)
			}
			left, err := os.ReadDir(s.Files.Tmp)
			if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "stint-trial") }) {
				t.Errorf("the trials left %v in /tmp: %v", left, err)
			}
			if _, err := os.Lstat(s.Files.Canary); !os.IsNotExist(err) {
				t.Errorf("the canary is still there: %v", err)
			}
		})
	}
}

// TestBegin starts no agent in a box that does not hold any more, and says why.
func TestBegin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ bubblewrap, want string }{
		"makes nothing": {`while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, "the box does not hold: from inside, a process can leave its namespaces"},
		"fails":         {"echo no such luck >&2; exit 1", "no such luck"},
		"dies":          {"kill -9 $$", "its box is gone"},
		"is gone":       {"", "neither Landlock nor namespaces: so it is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := boxed(t, testSpec(t, "dump"))
			s.Box = must.Get(r.Prove(t.Context(), s.Box, s.Trial))(t)
			s.Box.Layers.Namespaces = bwrap(t, tt.bubblewrap)
			if tt.bubblewrap == "" {
				s.Box.Layers = fleet.BoxLayers{Refused: "so it is"}
			}
			exit, err := r.Run(t.Context(), s)
			if err != nil || exit.End != fleet.NoProcess || exit.Detail != tt.want {
				t.Errorf("got %+v, %v, want no process: %s", exit, err, tt.want)
			}
			if _, err := os.Lstat(variable(s, dumpFile)); !os.IsNotExist(err) {
				t.Errorf("there was an agent: %v", err)
			}
		})
	}
}

// TestSignals blocks no signal of the agent's, unlike those of what carries it.
func TestSignals(t *testing.T) {
	t.Parallel()
	r, s := boxed(t, testSpec(t, "dump"))
	s.Argv, s.Environment = []string{"/bin/grep", "SigBlk", "/proc/self/status"}, nil
	s.Box = must.Get(r.Prove(t.Context(), s.Box, s.Trial))(t)
	must.Get(r.Run(t.Context(), s))(t)
	must.Equal(t, "log", readFile(t, s.Files.Log), "SigBlk:\t0000000000000000\n")
}

// bwrap is a program in the place of bubblewrap.
func bwrap(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bwrap")
	must.Do(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // it is a program
	return path
}

// TestLayersRefused hears at once that bubblewrap fails, and why: each session of a machine that refuses
// namespaces asks.
func TestLayersRefused(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(bwrap(t, "echo no such luck >&2; exit 1")))
	ctx, cancel := context.WithTimeout(t.Context(), trialTime/2)
	defer cancel()
	if layers := Layers(ctx); layers.Refused != "no such luck" || layers.Namespaces != "" {
		t.Errorf("got %+v", layers)
	}
}

// TestUnboxed tells the exit statuses of a box's first process that stand for a signal from those of an agent.
func TestUnboxed(t *testing.T) {
	t.Parallel()
	in := fleet.Box{Layers: fleet.BoxLayers{Namespaces: "bwrap"}}
	for status, detail := range map[int]string{0: "", 75: "", 128: "", 137: "killed", 139: "segmentation fault", 144: "", 145: "", 146: "", 255: ""} {
		want := fleet.SessionExit{End: fleet.Exited, Status: status}
		if detail != "" {
			want = fleet.SessionExit{End: fleet.Killed, Detail: detail}
		}
		must.Equal(t, "exit", unboxed(in, fleet.SessionExit{End: fleet.Exited, Status: status}), want)
	}
}
