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

// leftovers brings home what a session left uncommitted, as a commit beside its branch.
func (c Clone) leftovers(ctx context.Context, dir, tip, start string) error {
	s, err := c.source(ctx)
	if err != nil {
		return err
	}
	in := c.within(s, dir)
	in.env = append(asStint(), "GIT_INDEX_FILE="+filepath.Join(dir, ".git", "stint-index-"+rand.Text())) // a git that was killed leaves its lock
	tree := ""
	for _, args := range [][]string{{"read-tree", tip}, {"add", "--all"}, {"write-tree"}} {
		if tree, err = in.git(ctx, append([]string{"-c", noHooks}, args...)...); err != nil {
			return err
		}
	}
	id, err := in.git(ctx, "commit-tree", "-m", "stint: what a session left uncommitted", "-p", tip, tree)
	if err != nil {
		return err
	}
	if !isID(id) {
		return fmt.Errorf("git commit-tree: want an id, got %q", said(id))
	}
	if _, err := c.bring(ctx, s, dir, id, start, false); err != nil {
		return err
	}
	return c.setRef(ctx, "keep what was left", wipRef(dir), id)
}

const noHooks = "core.hooksPath=/dev/null"

// takeUp gives a new clone what the latest of some runs left uncommitted, as changes that nobody has committed there. From
// then on it is what this run left, until [Clone.Close] looks what is left of it. If it conflicts with what is there, it stays
// where it is.
//
// If we die before the mark, the ref stays, and what is in the folder by then comes home as what this run left. If we die
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
