package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// Record changes a file of the workspace in a way that stands in no merge's way: as a commit
// of its own, of that file alone. A run that has commits on a branch of its own gets it
// there, and a merge of its branch brings it; its name is returned. Else it goes where the file
// is. The change is only written, and not committed, where git does not know the file, or where
// it has changes that somebody has not committed: it is committed with these. A branch that
// moves the file, or takes it away, is left as it is.
//
// If we die before the file is written, nothing has changed. If we die before it is
// committed, or cannot commit it, it is there, and the next call finds that it differs
// from the last commit in nothing but this change, and commits it.
func (p Places) Record(ctx context.Context, run fleet.RunID, e fleet.FileEdit) (branch string, err error) {
	c := p.Clone
	c.Dir = Folder(filepath.Dir(e.Path))
	c.Environment = append(slices.Clone(c.Environment), "GIT_LITERAL_PATHSPECS=1")
	if _, _, err := c.git(ctx, string(c.Dir)); err != nil { // there is no repository, or no git to ask
		_, err = e.Write(e.Path)
		return "", err
	}
	err = c.inTurn(ctx, run, "record", func(ctx context.Context, t *turn) error {
		branches, err := t.branches(ctx)
		name := branches[run].name
		if err != nil || name == "" {
			return errors.Join(err, t.record(ctx, e.Path, e))
		}
		unmerged, err := t.countUnmerged(ctx, []string{heads + name})
		if err != nil {
			return err
		}
		if unmerged == 0 {
			return t.record(ctx, e.Path, e)
		}
		recorded, err := t.recordOn(ctx, name, branches[run].tip, e)
		if err != nil || recorded {
			branch = name
			return err
		}
		_, same, err := t.asks(ctx, diff("--quiet", "HEAD..."+heads+name, "--", e.Path)...)
		if err == nil && !same { // the branch moves the file, or takes it away: a change here would be in the way of that
			branch = name
			return nil
		}
		return t.record(ctx, e.Path, e)
	})
	if err != nil {
		return "", fmt.Errorf("record %q: %w", e.Subject, err)
	}
	return branch, nil
}

// recordOn changes a file on a branch that is checked out nowhere, as a commit of its own. False: the branch does not have it as a
// file.
//
// If we die in it, there are objects that nothing names, and a file that the next call writes over.
func (t *turn) recordOn(ctx context.Context, branch, tip string, e fleet.FileEdit) (recorded bool, err error) {
	rel, err := filepath.Rel(t.top, resolvedFile(e.Path))
	if err != nil || !filepath.IsLocal(rel) {
		return false, err
	}
	listed, err := t.run(ctx, "ls-tree", "--full-tree", tip, "--", rel)
	mode, rest, _ := strings.Cut(listed, " ")
	if err != nil || !strings.HasPrefix(mode, "100") {
		return false, err
	}
	var blob bytes.Buffer
	if err := t.git.write(ctx, &blob, "cat-file", "blob", strings.Fields(rest)[1]); err != nil {
		return false, err
	}
	edited, err := e.Edit(e.Path, blob.Bytes())
	if err != nil || bytes.Equal(edited, blob.Bytes()) {
		return err == nil, err
	}
	id, err := t.feed(bytes.NewReader(edited)).run(ctx, "hash-object", "-w", "--stdin")
	if err != nil {
		return false, err
	}
	g := t.git
	g.env = append(slices.Clone(g.env), append(asStint(), "GIT_INDEX_FILE="+filepath.Join(t.common, "stint-index"))...)
	entry, tree := mode+","+id+","+filepath.ToSlash(rel), ""
	for _, args := range [][]string{{"read-tree", tip}, {"update-index", "--cacheinfo", entry}, {"write-tree"}} {
		if tree, err = g.run(ctx, args...); err != nil {
			return false, err
		}
	}
	commit, err := g.run(ctx, "commit-tree", "-m", e.Subject, "-p", tip, tree)
	if err != nil {
		return false, err
	}
	_, err = g.run(ctx, "update-ref", "--no-deref", "-m", "stint: "+e.Subject, heads+branch, commit, tip)
	return err == nil, errors.Join(err, os.Remove(filepath.Join(t.common, "stint-index")))
}

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

// resolvedFile is where a file's folder really is; the file itself may be a link.
func resolvedFile(path string) string {
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

func (t *turn) record(ctx context.Context, path string, e fleet.FileEdit) error {
	// In the middle of a merge no single file can be committed, and a change would be in
	// the way of it. A commit in the middle of a bisection would be judged by it.
	if err := insist(ctx, func() error { return unfinished(t.layout) }); err != nil {
		return err
	}
	if midway(t.gitDir) == bisection {
		return fleet.WithHint(unfinishedError{"bisection", t.top}, fmt.Sprintf("git -C %s bisect reset", t.top))
	}
	alone, err := t.alone(ctx, path, e)
	if err != nil {
		return err
	}
	if _, err := e.Write(path); err != nil || !alone {
		return err
	}
	return insist(ctx, func() error { return t.commitAlone(ctx, path, e.Subject) })
}

// alone reports whether the change would be the file's only difference from its last commit.
func (t *turn) alone(ctx context.Context, path string, e fleet.FileEdit) (bool, error) {
	rel, err := filepath.Rel(t.top, resolvedFile(path))
	if err != nil {
		return false, err
	}
	listed, tracked, err := t.asks(ctx, "ls-files", "--error-unmatch", "--stage", "--", path)
	if err != nil || !tracked || !strings.HasPrefix(listed, "100") { // a link is not changed with what it leads to
		return false, err
	}
	_, clean, err := t.asks(ctx, diff("--quiet", "HEAD", "--", path)...)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.status == 128 {
		return false, nil // there is no commit yet
	}
	if err != nil || clean {
		return clean, err
	}
	// A staged change of it would go along.
	if _, same, err := t.asks(ctx, diff("--quiet", "--cached", "HEAD", "--", path)...); err != nil || !same {
		return false, err
	}
	committed, err := t.run(ctx, "cat-file", "blob", "HEAD:"+filepath.ToSlash(rel))
	if _, ok := errors.AsType[*gitError](err); ok {
		return false, nil // it is not in the commit
	}
	if err != nil {
		return false, err
	}
	now, err := readFile(path)
	if err != nil {
		return false, err
	}
	// Git's output comes without the last line's end.
	for _, end := range []string{"\n", ""} {
		if edited, err := e.Edit(path, []byte(committed+end)); err == nil && bytes.Equal(edited, now) {
			return true, nil
		}
	}
	return false, nil
}

// commitAlone commits one file. The commit is stint's, and nobody's work: nothing signs it. The log of HEAD names it so that it is
// never taken for a session's.
func (t *turn) commitAlone(ctx context.Context, path, subject string) error {
	g := t.git
	g.env = append(slices.Clone(g.env), append(asStint(), "GIT_REFLOG_ACTION=stint")...)
	if _, clean, err := g.asks(ctx, diff("--quiet", "HEAD", "--", path)...); err != nil || clean {
		return err // it is what it is to be
	}
	_, err := g.run(ctx, "commit", "--quiet", "--only", "--no-gpg-sign", "--cleanup=verbatim", "--message", subject, "--", path)
	return err
}
