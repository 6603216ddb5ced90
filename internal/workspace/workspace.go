// Package workspace keeps the clone that sessions work in: it brings the clone up to
// date, gives a session a worktree of its own, takes that away again, and finds out what
// the session committed. Real git does all of it.
//
// Sessions, people and other fleets use the same clone at the same time. Stint's changes to it
// happen in turn, under a lock in the clone ([Clone.Sync], [Clone.Open], [Clone.Close],
// [Clone.Prune]); others are waited for, and an error leaves the clone as it was. In a workspace
// that sessions share, the reflogs show whose a commit is: git of a session marks its entries.
//
// Nothing that a repository contains is run, and no program that its own configuration names:
// hooks, filters, transports and the like. Git runs those of the operator's own configuration
// only, see [overrides]. Each command has a time-out.
package workspace

import (
	"path/filepath"
	"strings"
)

// Folder is the workspace's folder: in a work tree, or with work trees below it.
type Folder string

func within(outer, inner string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
