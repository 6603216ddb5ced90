// Package workspace finds out what a session committed. It reads what git itself
// reports of the commands that the session's processes run, and neither runs git nor
// looks into the repository: neighbours commit in the same clone at the same time, and
// only the command tells whose a commit is.
package workspace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Folder is the workspace's folder: in a work tree, or with work trees below it.
type Folder string

// Mark is an environment variable for the agent, by which every git command of the
// session reports into a file of the run: git's Trace2 event format, see
// api-trace2(7). Git behaves no differently for it, and writes nothing else.
func (Folder) Mark(files fleet.RunFiles) string { return "GIT_TRACE2_EVENT=" + files.Git }

// Commits counts the commits of a run in the workspace. Amending one's own commit makes
// no second one, and what a rebase, a merge or a pull writes is not counted.
func (f Folder) Commits(files fleet.RunFiles) (int, error) {
	file, err := os.Open(files.Git)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the session ran no git
	}
	if err != nil {
		return 0, fmt.Errorf("read what git reported: %w", err)
	}
	defer file.Close()
	commands, err := readCommands(file)
	if err != nil {
		return 0, fmt.Errorf("read what git reported: %w", err)
	}
	made, amended := 0, 0
	for _, c := range commands {
		switch {
		case !c.commits() || !f.meets(c.worktree):
		case c.has("--amend"):
			amended = 1
		default:
			made++
		}
	}
	return max(made, amended), nil
}

// meets reports whether a work tree is the workspace's, or below it.
func (f Folder) meets(worktree string) bool {
	workspace, err := filepath.EvalSymlinks(string(f)) // git reports real paths
	if err != nil {
		workspace = string(f)
	}
	return within(workspace, worktree) || within(worktree, workspace)
}

func within(outer, inner string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// command is one git command of a session.
type command struct {
	argv      []string
	hierarchy string // the command, below the git commands that called it
	worktree  string
	succeeded bool
}

// commits reports whether the command made a commit of the session's own.
func (c command) commits() bool {
	callers := strings.Split(c.hierarchy, "/")
	name, callers := callers[len(callers)-1], callers[:len(callers)-1]
	for _, caller := range callers {
		if !strings.HasPrefix(caller, "_run_") { // an alias is the session's own word
			return false
		}
	}
	return c.succeeded && !c.has("--dry-run") && slices.Contains([]string{"commit", "cherry-pick", "revert", "am"}, name)
}

func (c command) has(flag string) bool { return slices.Contains(c.argv, flag) }

// event is a line of git's report.
type event struct {
	Event     string   `json:"event"`
	SID       string   `json:"sid"` // of the process
	Argv      []string `json:"argv"`
	Hierarchy string   `json:"hierarchy"`
	Worktree  string   `json:"worktree"`
	Code      int      `json:"code"`
}

// maxEvent bounds a line: it holds a command line, of which the kernel takes 2 MiB.
const maxEvent = 16 << 20

// readCommands puts the events together by process. A line that cannot be read, such as
// the last of a process that was killed, is passed over.
func readCommands(r io.Reader) (map[string]*command, error) {
	commands := map[string]*command{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		c := commands[e.SID]
		if c == nil {
			c = &command{}
			commands[e.SID] = c
		}
		switch e.Event {
		case "start":
			c.argv = e.Argv
		case "cmd_name":
			c.hierarchy = e.Hierarchy
		case "def_repo":
			c.worktree = e.Worktree
		case "exit":
			c.succeeded = e.Code == 0
		}
	}
	return commands, lines.Err()
}
