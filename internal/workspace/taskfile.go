package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
)

// Own is the copy of a file that is in a run's own clone; empty: there is none. The tasks may be in another repository than
// the sessions' work. A link there is the agent's, and may lead anywhere.
func (p Places) Own(ctx context.Context, run fleet.RunID, path string) (string, error) {
	dir := filepath.Join(p.Root, string(run))
	if run == "" || !exists(dir) {
		return "", nil
	}
	_, its, err := p.git(ctx, filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("find the copy of %s in the clone of run %s: %w", path, run, err)
	}
	_, l, err := p.git(ctx, string(p.Dir))
	if err != nil || its.common != l.common {
		return "", err
	}
	rel, err := filepath.Rel(l.top, resolvedFile(path))
	if err != nil || !filepath.IsLocal(rel) {
		return "", nil //nolint:nilerr // it is nowhere in the clone
	}
	own := filepath.Join(resolved(dir), rel)
	at, err := filepath.EvalSymlinks(own)
	if errors.Is(err, fs.ErrNotExist) {
		return own, p.copyIn(dir, path, rel)
	}
	if err != nil || at != own {
		return "", nil //nolint:nilerr // it is none that a session should write to
	}
	return own, nil
}

// copyIn gives a clone a file that nobody has committed, and has git overlook it there. No agent was in the folder yet, but a
// commit may have brought links.
func (p Places) copyIn(dir, path, rel string) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written by it
	if err := errors.Join(root.MkdirAll(filepath.Dir(rel), 0o755), root.WriteFile(rel, text, 0o644)); err != nil {
		return fmt.Errorf("copy %s into the clone: %w", path, err)
	}
	exclude := filepath.Join(".git", "info", "exclude")
	known, err := root.ReadFile(exclude)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	pattern := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(filepath.ToSlash(rel))
	return root.WriteFile(exclude, append(known, "\n/"+pattern+"\n"...), 0o600)
}

// resolvedFile resolves the links in the path of a file's folder; the file itself may be a link.
func resolvedFile(path string) string {
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}
