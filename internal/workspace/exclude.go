package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Excluding is the clone's own list of what git overlooks, which its worktrees share, and
// what is to be in it so that git overlooks these names in the workspace's folder. Present
// lines stay. Without a repository the path is empty.
func (c Clone) Excluding(ctx context.Context, comment string, names []string) (path, text string, err error) {
	_, l, err := c.git(ctx, string(c.Dir))
	if errors.Is(err, errNoRepository) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("look at workspace %s: %w", c.Dir, err)
	}
	path = filepath.Join(l.common, "info", "exclude")
	old, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	folder, err := filepath.EvalSymlinks(string(c.Dir))
	if err != nil {
		return "", "", err
	}
	if folder, err = filepath.Rel(l.top, folder); err != nil {
		return "", "", err
	}
	lines, missing := strings.Split(string(old), "\n"), []string{comment}
	for _, name := range names {
		if pattern := filepath.Join("/", folder, name); !slices.Contains(lines, pattern) {
			missing = append(missing, pattern)
		}
	}
	if text = string(old); len(missing) == 1 {
		return path, text, nil
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return path, text + strings.Join(missing, "\n") + "\n", nil
}
