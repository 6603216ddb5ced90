package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A model that asks for one command, which tries each way out of the box.
const escapes behaviour = "escapes"

// secret is in files that no session may read.
const secret = "not for sessions"

// tryEscapes writes the names of the ways that led out into the folder of the run, and then
// that it has tried them all.
const tryEscapes = `cd "$STINT_WORKSPACE"
try() { name=$1; shift; "$@" >/dev/null 2>&1 && echo "$name" >>"$STINT_RUN_DIR/escapes"; }
try 'reads a key for ssh' grep -q . ~/.ssh/id_test
try 'reads another login' grep -q . ~/.aws/credentials
try 'reads the store' grep -q . ~/.local/state/stint/workspace/stint.db
try 'lists other runs' ls ~/.local/state/stint/workspace/runs/../locks
try 'writes stint.toml' sh -c 'echo "# planted" >>stint.toml'
try 'replaces stint.toml' sh -c 'echo "# planted" >planted && mv planted stint.toml'
try 'plants a hook' sh -c 'echo "touch ~/planted" >.git/hooks/post-checkout'
try 'configures git' git config core.fsmonitor 'touch ~/planted'
try 'starts a unit' systemd-run --user --wait touch ~/planted
try 'asks the bus' sh -c 'echo | socat - UNIX-CONNECT:/run/user/$(id -u)/bus'
try 'uses sudo' sudo -n true
try 'reads a supervisor' sh -c 'for p in /proc/[0-9]*; do grep -q OPERATORS_OWN "$p/environ" && exit 0; done; exit 1'
touch ~/planted 2>/dev/null
mkdir -p ~/.ssh && echo planted >>~/.ssh/authorized_keys
echo tried >"$STINT_RUN_DIR/tried"
test ! -e planted || unlink planted`

// escaped says which ways led out: those that the session saw, and those that left something.
func (s session) escaped(run string) (faults []string, err error) {
	out := filepath.Join(s.runFiles(run), "out")
	if _, err := os.Stat(filepath.Join(out, "tried")); err != nil {
		return []string{fmt.Sprintf("the escapes were not tried to the end: %v", err)}, nil
	}
	if text, err := os.ReadFile(filepath.Join(out, "escapes")); err == nil {
		faults = append(faults, "led out of the box: "+strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), ", "))
	}
	for _, path := range []string{"planted", ".ssh/authorized_keys", "workspace/.git/hooks/post-checkout"} {
		if _, err := os.Stat(filepath.Join(s.home, path)); err == nil {
			faults = append(faults, "was planted: "+path)
		}
	}
	for _, path := range []string{"workspace/stint.toml", "workspace/.git/config"} {
		text, err := os.ReadFile(filepath.Join(s.home, path))
		if err != nil {
			return faults, err
		}
		if slices.Contains(strings.Fields(string(text)), "planted") || strings.Contains(string(text), "fsmonitor") {
			faults = append(faults, "was changed: "+path)
		}
	}
	return faults, nil
}
