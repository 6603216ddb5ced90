// Package workspace keeps the clone that sessions work in: it brings the clone up to
// date, gives a session a worktree of its own, takes that away again, and finds out what
// the session committed. Real git does all of it.
//
// Sessions, people and other fleets use the same clone at the same time. Stint's changes to it
// happen in turn, under a lock in the clone ([Clone.Sync], [Clone.Open], [Clone.Close],
// [Clone.Prune]); others are waited for, and an error leaves the clone as it was. Only the
// command that made a commit shows whose it is: git reports the commands of a session's
// processes ([Folder.Mark]).
//
// Nothing that a repository contains is run, and no program that its own configuration names:
// hooks, filters, transports and the like. Git runs those of the operator's own configuration
// only, see [overrides]. Each command has a time-out.
package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Folder is the workspace's folder: in a work tree, or with work trees below it.
type Folder string

// Mark is an environment variable for the agent, by which every git command of the
// session reports into a file of the run: git's Trace2 event format, see
// api-trace2(7). Git behaves no differently for it, and writes nothing else.
func (Folder) Mark(files fleet.RunFiles) string { return "GIT_TRACE2_EVENT=" + files.Git }

// Commits counts the commits of a run in the workspace. Amending one's own commit makes
// no second one, and commits by a rebase, a merge or a pull are not counted.
func (f Folder) Commits(files fleet.RunFiles) (int, error) {
	commands, err := readTrace(files)
	if err != nil {
		return 0, err
	}
	made, amended := 0, 0
	for _, c := range commands {
		switch {
		case !c.commits() || !f.meets(c.worktree):
		case c.amends:
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
	amends    bool   // its own commit
	tries     bool   // without doing it
	subject   string // of its message, if the command line has one
	hierarchy string // the command, below the git commands that called it
	worktree  string
	succeeded bool
	began     time.Time
	ended     time.Time
}

// commits reports whether the command made a commit of the session's own.
func (c command) commits() bool {
	callers := strings.Split(c.hierarchy, "/")
	for _, caller := range callers[:len(callers)-1] {
		if !strings.HasPrefix(caller, "_run_") { // an alias is the session's own word
			return false
		}
	}
	return c.succeeded && !c.tries && slices.Contains([]string{"commit", "cherry-pick", "revert", "am"}, c.name())
}

func (c command) name() string { return c.hierarchy[strings.LastIndexByte(c.hierarchy, '/')+1:] }
