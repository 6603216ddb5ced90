// Package workspace reads from git what a session did. It never writes to the
// repository.
package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
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
	cmd := exec.CommandContext(ctx, "git", "-C", string(f), "log", "--walk-reflogs", "--format=%H%x09%gs%x09%s",
		"--fixed-strings", "--grep-reflog="+action(run)+":", "HEAD", "--")
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && f.noHistory(ctx):
		return 0, nil
	case errors.As(err, &exit):
		return 0, fmt.Errorf("read reflog of %s: %w: %s", f, err, bytes.TrimSpace(exit.Stderr))
	case err != nil:
		return 0, fmt.Errorf("read reflog of %s: %w", f, err)
	}
	return made(out, action(run)), nil
}

// noHistory reports whether there is no commit to look at.
func (f Folder) noHistory(ctx context.Context) bool {
	return exec.CommandContext(ctx, "git", "-C", string(f), "rev-parse", "--verify", "--quiet", "HEAD").Run() != nil
}

// made counts the commits among reflog entries of hash, action and subject. A
// commit's entry is the action and the commit's subject; what a pull or a reset
// writes is not. A commit that is named twice counts once.
func made(log []byte, action string) int {
	seen := map[string]bool{}
	for line := range strings.Lines(string(log)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) == 3 && fields[1] == action+": "+fields[2] {
			seen[fields[0]] = true
		}
	}
	return len(seen)
}
