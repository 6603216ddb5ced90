package workspace

import (
	"context"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

// Changed are the files that a run has changed in its own clone, committed or not, since it began. Its index is not
// refreshed, which a session at work would find locked; a file that was only touched may count.
func (p Places) Changed(ctx context.Context, run fleet.RunID) ([]string, error) {
	dir := filepath.Join(p.Root, string(run))
	if run == "" || !exists(dir) {
		return nil, nil
	}
	s, err := p.source(ctx)
	if err != nil {
		return nil, err
	}
	began, err := s.beginnings(ctx, dir)
	if err != nil {
		return nil, err
	}
	in := p.within(s, dir)
	changed, err := in.git(ctx, "--no-optional-locks", "diff-index", "--name-only", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=dirty", "-z", began[0], "--")
	if err != nil {
		return nil, err
	}
	added, err := in.git(ctx, "--no-optional-locks", "ls-files", "--others", "--exclude-standard", "-z")
	return strings.FieldsFunc(changed+"\x00"+added, func(r rune) bool { return r == 0 }), err
}
