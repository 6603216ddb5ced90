package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"stint/internal/box/inside"
	"stint/internal/testkit/boxtest"
	"stint/internal/testkit/pgtest"
)

// patience bounds a script's wait for a process or a unit.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == inside.Word {
		os.Exit(inside.Main(os.Args[2:]))
	}
	testscript.Main(around{m}, map[string]func(){"stint": main, "crashstint": crashstint, "fakeagent": fakeagent, "escapes": boxtest.Escapes, "doors": boxtest.Doors, "without": boxtest.Without})
}

// TestScript runs what an operator types, with the real program, git and, where a
// script says "manager", the real service manager.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "../../testdata/script",
		RequireUniqueNames: true,
		Setup:              setupScript,
		Cmds:               scriptCommands(),
		Condition:          scriptCondition,
	})
}

// scriptCondition knows "root": whether a script can become root, if it is not; and "machine":
// whether this machine has a machine-id.
func scriptCondition(name string) (bool, error) {
	switch name {
	case "root":
		return os.Geteuid() == 0 || exec.Command("sudo", "-n", "true").Run() == nil, nil
	case "machine":
		id, err := os.ReadFile("/etc/machine-id")
		return err == nil && len(id) > 1, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// setupScript gives every script a home, a fleet name and a git identity of its
// own. In files named *.toml, @WORK@, @FLEET@ and @BIN@ stand for the script's
// folder, its fleet's name, and the folder of stint and fakeagent. The name has no sixteen letters or digits in a row,
// which would read as the id of a run. A stint.toml that names no fleet begins with that name, and with the state folder
// "state".
func setupScript(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	name := fmt.Sprintf("s%d_%x", os.Getpid(), crc32.ChecksumIEEE([]byte(env.WorkDir)))
	bin, _, _ := strings.Cut(env.Getenv("PATH"), string(filepath.ListSeparator))
	recorded, err := filepath.Abs("../../internal/agent/transcript/testdata") // what real agents printed
	if err != nil {
		return err
	}
	for _, pair := range [][2]string{
		{"HOME", home},
		{"XDG_CONFIG_HOME", filepath.Join(home, ".config")},
		{"XDG_STATE_HOME", filepath.Join(home, ".local/state")},
		{"XDG_RUNTIME_DIR", ""},
		{"DBUS_SESSION_BUS_ADDRESS", ""},
		{"USER", "tester"},
		{"LANG", "C.UTF-8"},
		{"FLEET", name},
		{"BIN", bin},
		{"RECORDED", recorded},
	} {
		env.Setenv(pair[0], pair[1])
	}
	env.Defer(func() { endProcesses(env.WorkDir + "/") }) // Their folder is about to be removed.
	env.Values[started{}] = map[string]*process{}
	env.Values[held{}] = map[string]*os.File{}
	env.Values[ownServer{}] = new(*pgtest.Cluster)
	env.Values[serving{}] = new(*forge)
	env.Values[remembered{}] = &map[string]string{}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	// An agent gets no GIT_ variables, so its identity has to be in a file.
	identity := "[user]\n\tname = tester\n\temail = tester@example.org\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(identity), 0o600); err != nil {
		return err
	}
	return fillIn(env.WorkDir, strings.NewReplacer("@WORK@", env.WorkDir, "@FLEET@", name, "@BIN@", bin))
}

func fillIn(dir string, fill *strings.Replacer) error {
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".toml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if path == filepath.Join(dir, "stint.toml") && !strings.HasPrefix(string(text), "fleet = ") {
			text = append([]byte("fleet = \"@FLEET@\"\nstate = \"@WORK@/state\"\n"), text...)
		}
		return os.WriteFile(path, []byte(fill.Replace(string(text))), 0o600)
	})
}

// scriptCommands are the words of the scripts beside testscript's own.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := map[string]func(*testscript.TestScript, bool, []string){}
	for _, c := range []struct {
		name, usage string
		least       int // arguments
		run         func(*testscript.TestScript, []string)
	}{
		{"exits", "STATUS COMMAND…", 2, scriptExits},
		{"refuses", "PATTERN COMMAND…", 2, scriptRefuses},
		{"until", "PATTERN COMMAND…", 2, scriptUntil},
		{"start", "NAME COMMAND…", 2, scriptStart},
		{"signal", "NAME INT|TERM", 2, scriptSignal},
		{"ended", "NAME STATUS", 2, scriptEnded},
		{"fifo", "FILE", 1, scriptFIFO},
		{"await", "FIFO", 1, scriptAwait},
		{"release", "FIFO", 1, scriptRelease},
		{"json", "FILE PATH [VALUE]", 2, scriptJSON},
		{"fields", "FILE PATH NAME…", 3, scriptFields},
		{"sql", "DATABASE STATEMENT", 2, scriptSQL},
		{"query", "DATABASE STATEMENT ROW…", 3, scriptQuery},
		{"workersgone", "DATABASE", 1, scriptWorkersGone},
		{"fetch", "STATUS FILE PATH [NAME VALUE]…", 3, scriptFetch},
		{"forge", "start|list|works|fails HOW|merge N|close N|comment N BY ASSOCIATION TEXT|check N CONCLUSION", 1, scriptForge},
		{"remember", "", 0, scriptRemember},
		{"unchanged", "", 0, scriptUnchanged},
		{"manager", "", 0, scriptManager},
		{"postgres", "NAME [own]", 1, scriptPostgres},
		{"cluster", "backup|restore", 1, scriptCluster},
	} {
		commands[c.name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < c.least {
				ts.Fatalf("usage: %s %s", c.name, c.usage)
			}
			c.run(ts, args)
		}
	}
	return commands
}
