package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// What a session leaves beside the commits of its branch: changes that it did not commit come home as one commit, which the
// next session at the task begins with. Stashes and other branches stay in its clone, which is kept for them.

// wip is the folder of the refs of what was left uncommitted, each named like the folder that it was in.
const wip = "refs/stint/wip/"

func wipRef(dir string) string { return wip + filepath.Base(dir) }

// tookMark is in a clone that began with what an earlier run left: what of it is not there any more need not be kept.
func tookMark(dir string) string { return filepath.Join(dir, ".git", "stint-took") }

const uncommitted = "uncommitted changes"

// left says what a session left beside the commits of its branch, and where its commits were, if that was elsewhere.
func (l look) left(dir, branch string) (list []string) {
	if l.changed {
		list = append(list, uncommitted) // which are nowhere else yet
	}
	if l.stashed {
		list = append(list, "a stash is in "+dir)
	}
	if len(l.aside) > 0 {
		list = append(list, "commits that are not in review are on "+strings.Join(l.aside, " and "))
	}
	if l.tip != "" && l.tip != l.start && l.on != branch {
		list = append(list, "its commits were on "+cmp.Or(l.on, "no branch"))
	}
	return list
}

// leftovers brings home what a session left uncommitted, as a commit beside its branch. Beside reports whether there is more,
// which git does not put into a commit: a repository in a folder of this one, and what cannot be read.
func (c Clone) leftovers(ctx context.Context, dir, head, start string) (beside bool, err error) {
	s, err := c.source(ctx)
	if err != nil {
		return false, err
	}
	in := c.within(s, dir)
	if beside, err = in.nests(ctx); err != nil {
		return false, err
	}
	from := head
	if staged, err := in.git(ctx, "write-tree"); err == nil && isID(staged) { // ignored files that it added, too
		from = staged
	}
	in.env = append(asStint(), "GIT_INDEX_FILE="+filepath.Join(dir, ".git", "stint-index-"+rand.Text())) // a git that was killed leaves its lock
	tree := ""
	for _, args := range [][]string{{"read-tree", from}, {"add", "--all", "--ignore-errors"}, {"write-tree"}} {
		tree, err = in.git(ctx, append([]string{"-c", noHooks}, args...)...)
		if failed, ok := errors.AsType[*gitError](err); ok && args[0] == "add" && failed.status == 1 {
			beside, err = true, nil // all but some files
		}
		if err != nil {
			return false, err
		}
	}
	message := "stint: what a session left uncommitted\n\nStint-Run: " + filepath.Base(dir)
	id, err := in.git(ctx, "commit-tree", "-m", message, "-p", head, tree)
	if err != nil {
		return false, err
	}
	if !isID(id) {
		return false, fmt.Errorf("git commit-tree: want an id, got %q", said(id))
	}
	if _, err := c.bring(ctx, s, dir, id, start, false); err != nil {
		return false, err
	}
	return beside, c.setRef(ctx, "keep what was left", wipRef(dir), id)
}

// nests reports whether a clone has a repository in a folder that nobody added: git lists it as a folder, and enters it never.
func (i inner) nests(ctx context.Context) (bool, error) {
	folders := &folders{}
	err := i.write(ctx, folders, "ls-files", "--others", "--exclude-standard", "-z")
	return folders.any, err
}

// folders looks for one among the names that are written to it.
type folders struct {
	last byte
	any  bool
}

func (f *folders) Write(p []byte) (int, error) {
	for _, b := range p {
		f.any = f.any || b == 0 && f.last == '/'
		f.last = b
	}
	return len(p), nil
}

const noHooks = "core.hooksPath=/dev/null"

// takeUp gives a new clone what the latest of some runs left uncommitted, as changes that nobody has committed there. From
// then on it belongs to this run, until [Clone.Close] looks how much is left of it. Leftovers that conflict stay in their ref.
//
// If we die before the mark, the ref stays, and the files that are in the folder by then come home as this run's leftovers. If we die
// before the ref has its new name, it is kept twice.
func (c Clone) takeUp(ctx context.Context, w Own, runs []fleet.RunID) (l fleet.Leftover, err error) {
	if len(runs) == 0 {
		return l, nil
	}
	s, err := c.source(ctx)
	if err != nil {
		return l, err
	}
	text, err := s.run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", wip)
	if err != nil {
		return l, err
	}
	commits := map[string]string{}
	for line := range strings.Lines(text) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		commits[name] = id
	}
	for _, run := range runs {
		if l.Commit = commits[wipRef(string(run))]; l.Commit != "" {
			l.Run = run
			break
		}
	}
	if l.Commit == "" {
		return l, nil
	}
	in := c.within(s, w.Dir)
	if _, failed := in.git(ctx, "-c", noHooks, "cherry-pick", "--no-commit", l.Commit); failed != nil {
		_, err := in.git(ctx, "-c", noHooks, "reset", "--quiet", "--hard")
		return l, err
	}
	if _, err := in.git(ctx, "-c", noHooks, "reset", "--quiet"); err != nil {
		return l, err
	}
	l.There = true
	if err := os.WriteFile(tookMark(w.Dir), nil, 0o600); err != nil {
		return l, err
	}
	if from, to := wipRef(string(l.Run)), wipRef(w.Dir); from != to {
		err = c.inTurn(ctx, w.Run, "take up what was left", func(ctx context.Context, t *turn) error {
			return insist(ctx, func() error {
				renames := lines([]string{"update " + to + " " + l.Commit, "delete " + from})
				_, err := t.feed(renames).run(ctx, "update-ref", "--no-deref", "--stdin")
				return err
			})
		})
	}
	return l, err
}

// Leftovers say what runs left that their branches do not have, by the run in whose folder it was.
func (c Clone) Leftovers(ctx context.Context) (map[fleet.RunID]string, error) {
	t, err := c.looking(ctx)
	if errors.Is(err, errNoRepository) {
		return map[fleet.RunID]string{}, nil
	} else if err != nil {
		return nil, err
	}
	text, err := t.run(ctx, "for-each-ref", "--format=%(refname)", wip)
	if err != nil {
		return nil, err
	}
	left := map[fleet.RunID]string{}
	for name := range strings.Lines(text) {
		if run, err := fleet.ParseRunID(filepath.Base(strings.TrimSpace(name))); err == nil {
			left[run] = uncommitted + " are at " + wipRef(string(run))
		}
	}
	marks, _ := filepath.Glob(plain.GlobIn(c.Root, "*"+keptMark("")))
	for _, path := range marks {
		run, err := fleet.ParseRunID(strings.TrimSuffix(filepath.Base(path), keptMark("")))
		if text, unread := readFile(path); err == nil && unread == nil {
			left[run] = string(text) // all of it
		}
	}
	return left, nil
}
