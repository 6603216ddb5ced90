package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/agent/preset"
	"stint/internal/testkit/boxtest"
)

// A model that asks for one command, which tries each way out of the box, or plants what the person's next start of an agent would
// read or run.
const (
	escapes behaviour = "escapes"
	plants  behaviour = "plant"
)

// secret is in files that no session may read or write.
const secret = "not for sessions"

// This program is also the one that tries them, and one that starts another on a machine whose kernel refuses
// something.
const (
	trying   = "escapes"
	unspaced = "without"
)

func self() string {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return program
}

// tryEscapes is that command. It writes a line for each way into the folder of the run.
func tryEscapes() string {
	// The agents know of one another: each must not get at the other's login.
	return fmt.Sprintf(`login=.codex/auth.json settings=.codex/config.toml
case ${CODEX_HOME-} in ?*) login=.claude/.credentials.json settings=.claude/settings.json ;; esac
env WORK="$STINT_WORKSPACE" DOORS="$HOME/.doors" BUS="%s/bus" ROOT="$HOME" LOGIN=$login SETTINGS=$settings '%s' %s >"$STINT_RUN_DIR/escapes"`,
		os.Getenv("XDG_RUNTIME_DIR"), self(), trying)
}

// prepareEscapes builds what a session must not reach, in a fleet that is set up.
func (s session) prepareEscapes(ctx context.Context) error {
	state := filepath.Dir(filepath.Dir(s.runFiles("other")))
	files := []string{
		filepath.Join(s.workspace(), ".git/info/attributes"),
		filepath.Join(state, "clones/other/file"), filepath.Join(state, "runs/other/out/file"),
	}
	for _, name := range []string{".codex/auth.json", ".codex/config.toml", ".claude/.credentials.json", ".claude/settings.json"} {
		if own := s.account == codexKey == strings.HasPrefix(name, ".codex"); !own {
			files = append(files, filepath.Join(s.home, name))
		}
	}
	for _, name := range operators() {
		files = append(files, filepath.Join(s.home, name))
	}
	token := filepath.Join(s.home, ".gitconfig") // a token in an address
	if err := s.git(ctx, "config", "--file", token, "url.https://x:secret@example.org/.insteadOf", "https://example.org/"); err != nil {
		return err
	}
	for _, path := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(secret), 0o600)); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.workspace(), ".git/hooks/post-checkout"), []byte("#!/bin/sh\n"), 0o700),
		s.git(ctx, "worktree", "add", "--quiet", "--detach", "../other"), os.RemoveAll(filepath.Join(s.home, "other")),
		os.Mkdir(filepath.Join(s.home, ".doors"), 0o700),
	)
}

// openDoors opens the sockets that a session must not reach.
func (s session) openDoors() (shut func(), err error) {
	doors := filepath.Join(s.home, ".doors")
	return boxtest.Open("@stint-workspace", filepath.Join(doors, "ssh.sock"), filepath.Join(doors, "S.gpg-agent"), filepath.Join(doors, "docker.sock"))
}

// operators are files in the home folder.
func operators() []string {
	return []string{"theirs", ".real", ".bashrc", ".git-credentials", ".ssh/id", ".aws/credentials"}
}

// escaped says which ways led out: those that the session saw, and those that left something.
func (s session) escaped(ctx context.Context, run string) (faults []string, err error) {
	out := filepath.Join(s.runFiles(run), "out")
	text, err := os.ReadFile(filepath.Join(out, "escapes"))
	if err != nil {
		return []string{fmt.Sprintf("the escapes were not tried: %v", err)}, nil
	}
	held, missing := 0, 0
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "held: "):
			held++
		case s.refused && strings.HasSuffix(line, " (namespace)\n"):
			missing++
		default:
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	fmt.Printf("%s: %d ways out of the box are held, %d are said to be open\n", s, held, missing)
	if held < 30 || held+missing < 60 {
		faults = append(faults, "not all were tried")
	}
	for _, name := range operators() {
		if text, err := os.ReadFile(filepath.Join(s.home, name)); string(text) != secret {
			faults = append(faults, fmt.Sprintf("%s was changed: %q, %v", name, text, err))
		}
	}
	shown, err := s.command(ctx, "show", run)
	if layers := strings.Contains(string(shown), "by Landlock"); err != nil || !layers || strings.Contains(string(shown), "namespaces") == s.refused {
		faults = append(faults, fmt.Sprintf("the layers of the box are not shown: %v\n%s", err, shown))
	}
	planted := []string{"planted", ".ssh/authorized_keys"}
	if !s.refused { // else a unit of the user's has put it there
		planted = append(planted, "workspace/planted")
	}
	for _, path := range planted {
		if _, err := os.Lstat(filepath.Join(s.home, path)); err == nil {
			faults = append(faults, "was planted: "+path)
		}
	}
	if changed, err := s.ask(ctx, "status", "--porcelain"); !s.refused && (err != nil || changed != "") {
		faults = append(faults, fmt.Sprintf("the workspace was changed: %s, %v", changed, err))
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	alive := slices.ContainsFunc(processes, func(path string) bool {
		line, _ := os.ReadFile(path)
		return strings.HasPrefix(string(line), "outlive-")
	})
	if alive {
		faults = append(faults, "a process outlives its session")
	}
	return faults, err
}

// seed is in each file that is planted, and is not in the command, which the agent may keep.
const seed = "planted by a session"

// plant is that command: it writes into all that a table names in the program's own folders, and beside.
func plant() string {
	text := "for f in"
	for _, name := range preset.Names() {
		for _, f := range preset.Named(name).CLI.Folders {
			for _, inner := range append(f.ReadOnly, "planted") {
				text += fmt.Sprintf(" %s/%s", f.Path, strings.ReplaceAll(inner, "{dir}", `$(pwd | tr -c '[:alnum:]\n' -)`))
			}
		}
	}
	return text + fmt.Sprintf(`; do mkdir -p "${f%%/*}"; for p in "$f" "$f/planted"; do echo %s >>"$p"; done; done 2>/dev/null; true`, strings.Replace(seed, "p", "p''", 1))
}

// planted says which files of the home folder have it.
func (s session) planted() (faults []string, err error) {
	return faults, filepath.WalkDir(s.home, func(path string, _ fs.DirEntry, err error) error {
		if path == s.workspace() || path == filepath.Join(s.home, ".local/state/stint") {
			return fs.SkipDir
		}
		text, _ := os.ReadFile(path) // a folder has none
		if strings.Contains(string(text), seed) {
			faults = append(faults, "was planted: "+path)
		}
		return err
	})
}
