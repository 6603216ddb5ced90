// Package workspace reads from git what a session did. It never writes to the
// repository.
package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Folder is the workspace's folder.
type Folder string

// Mark is an environment variable for the agent by which git calls a run's
// actions after it in the reflog: it tells this run's commits from those that
// neighbours make in the same clone at the same time.
func (Folder) Mark(run fleet.RunID) string { return "GIT_REFLOG_ACTION=" + action(run) }

func action(run fleet.RunID) string { return "stint run " + string(run) }

// Commits counts the commits of a run by the entries it left in the reflog of
// HEAD. A folder that is not in a git repository, or has no commit yet, has none.
func (f Folder) Commits(ctx context.Context, run fleet.RunID) (int, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", string(f), "log", "--walk-reflogs", "--no-show-signature",
		"-z", "--format=%P%x00%gs%x00%B", "--fixed-strings", "--grep-reflog="+action(run)+":", "HEAD", "--")
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.Exited() && f.noHistory(ctx):
		return 0, nil
	case errors.As(err, &exit):
		return 0, fmt.Errorf("read reflog of %s: %w: %s", f, err, bytes.TrimSpace(exit.Stderr))
	case err != nil:
		return 0, fmt.Errorf("read reflog of %s: %w", f, err)
	}
	return made(string(out), action(run)), nil
}

// noHistory reports whether there is no commit to look at: git looked, and says
// so.
func (f Folder) noHistory(ctx context.Context) bool {
	err := exec.CommandContext(ctx, "git", "-C", string(f), "rev-parse", "--verify", "--quiet", "HEAD").Run()
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Exited()
}

// made counts the commits among reflog entries of parents, entry and message. A
// commit's entry is the action and the message's first line; what a pull or a
// reset writes is not. One that was amended has the parents of the one it replaces
// and counts once with it.
func made(log, action string) int {
	seen := map[string]bool{}
	for e := range slices.Chunk(strings.Split(log, "\x00"), 3) {
		if len(e) < 3 {
			break // what follows the last NUL
		}
		line, _, _ := strings.Cut(e[2], "\n")
		if words(e[1]) == words(action+": "+line) {
			seen[e[0]] = true
		}
	}
	return len(seen)
}

// words is a text with single spaces, which are the only ones that a reflog keeps.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }
