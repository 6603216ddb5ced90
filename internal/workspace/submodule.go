package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

// submodules returns the files that a landing changes. It is an error if it would set a submodule to a commit that the submodule of the
// workspace does not have: a session made it in its own clone, and it came from nowhere else. A submodule that is not checked out
// is not asked.
func (t *turn) submodules(ctx context.Context, s fleet.Stacked) (files []string, err error) {
	fields, err := t.names(ctx, "diff-tree", "-r", "-z", "--no-renames", s.Base, s.Commit)
	for i := 0; i+1 < len(fields) && err == nil; i += 2 {
		entry, path := strings.Fields(fields[i]), fields[i+1] // :mode mode id id status
		files = append(files, path)
		dir := filepath.Join(t.top, path)
		if len(entry) < 5 || entry[1] != "160000" || !exists(filepath.Join(dir, ".git")) {
			continue
		}
		g, _, unread := t.clone.git(ctx, dir)
		if unread != nil {
			return nil, unread
		}
		_, there, unread := g.revision(ctx, entry[3]+"^{commit}")
		if err = unread; unread == nil && !there {
			err = fleet.WithHint(errors.New("the submodule "+path+" has no commit "+entry[3]),
				fmt.Sprintf("fetch it, if the session has pushed it: git -C %s fetch origin %s", fleet.ShellWord(dir), entry[3]))
		}
	}
	return files, err
}
