package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// Own is a run's own clone and branch.
type Own struct {
	Run    fleet.RunID
	Dir    string
	Branch string // its short name
	Left   fleet.Leftover
	News   []string // see [fleet.Site]
}

// Open makes the run's clone in a folder that does not exist yet. It starts from the target, or from what that follows if that is ahead,
// and with what the latest of the earlier runs left uncommitted that left anything.
//
// If we die in it, there may be a folder that is not complete: [Clone.Prune] takes it away.
func (c Clone) Open(ctx context.Context, run fleet.RunID, dir string, earlier ...fleet.RunID) (w Own, err error) {
	w = Own{Run: run, Dir: dir}
	if err = c.open(ctx, &w); err == nil {
		w.Left, err = c.takeUp(ctx, w, earlier)
	}
	if err != nil {
		return Own{}, fmt.Errorf("open a clone of %s for run %s: %w", c.Dir, run, err)
	}
	return w, nil
}

func (c Clone) open(ctx context.Context, w *Own) error {
	s, err := c.source(ctx)
	if err != nil {
		return err
	}
	names := []string{heads + c.nested() + string(w.Run), heads + c.flat() + string(w.Run)}
	v, err := c.see(ctx, s.git, slices.Concat(c.above(), copied(), names)...)
	if err != nil {
		return err
	}
	start, err := c.first(ctx, s, v)
	if err != nil {
		return err
	}
	w.Branch = c.newBranch(v.refs, w.Run)
	if _, there := v.refs[heads+w.Branch]; there || exists(w.Dir) {
		return fmt.Errorf("branch %s or folder %s: %w", w.Branch, w.Dir, fs.ErrExist)
	}
	if err := c.makeOwn(ctx, s, v, w.Dir, w.Branch, start); err != nil {
		return err
	}
	c.remember(w.Dir, look{start: start, lasting: lasting{
		fresh: true, branch: w.Branch, packed: versionOf(filepath.Join(w.Dir, ".git", "packed-refs")),
	}})
	return nil
}

// first is the commit at which a new branch begins.
func (c Clone) first(ctx context.Context, s source, v sight) (commit string, err error) {
	if commit, err = v.latest(ctx); err == nil && commit == "" {
		commit, err = c.begin(ctx, s.git)
	}
	return commit, err
}

// looking is git in the workspace, for what changes nothing or one ref at a time.
func (c Clone) looking(ctx context.Context) (*turn, error) {
	g, l, err := c.git(ctx, string(c.Dir))
	return &turn{git: g, layout: l, clone: c}, err
}

// Reopen makes a clone in the folder of an earlier run, on that run's branch, for another to go on there, with what that run
// left uncommitted. The folder is a new one: what a session has had is not handed to another.
//
// With a time since when nobody went on there, the run goes on with a conversation: it has the path as well where there was no
// commit, and is told what landed.
func (c Clone) Reopen(ctx context.Context, run, earlier fleet.RunID, since time.Time) (w Own, err error) {
	w = Own{Run: run, Dir: filepath.Join(c.Root, string(earlier))}
	err = c.reopen(ctx, &w, earlier, since)
	if err != nil {
		return Own{}, fmt.Errorf("go on with the work of run %s in run %s: %w", earlier, run, err)
	}
	return w, nil
}

func (c Clone) reopen(ctx context.Context, w *Own, earlier fleet.RunID, since time.Time) error {
	t, err := c.looking(ctx)
	if err != nil {
		return err
	}
	if exists(w.Dir) {
		branch, err := t.branchOf(ctx, earlier)
		if err != nil {
			return err
		}
		if s, err := c.Close(ctx, Own{Run: earlier, Dir: w.Dir, Branch: branch}); err != nil || s.Kept != "" {
			return errors.Join(err, fmt.Errorf("%s has work that cannot be taken away: look at it, and remove it", w.Dir))
		}
	}
	branches, err := t.branches(ctx)
	if err != nil {
		return err
	}
	b := branches[earlier]
	if b.name == "" && since.IsZero() {
		return fmt.Errorf("no branch of run %s: %w", earlier, fleet.ErrNotFound)
	}
	s, err := c.source(ctx)
	if err != nil {
		return err
	}
	v, err := c.see(ctx, s.git, slices.Concat(c.above(), copied())...)
	if err != nil {
		return err
	}
	start := b.tip
	if w.Branch = b.name; b.name == "" {
		w.Branch = c.newBranch(v.refs, earlier)
		if start, err = c.first(ctx, s, v); err != nil {
			return err
		}
	}
	if err := c.makeOwn(ctx, s, v, w.Dir, w.Branch, start); err != nil {
		return err
	}
	if w.Left, err = c.takeUp(ctx, *w, []fleet.RunID{earlier}); err != nil || since.IsZero() {
		return err
	}
	had := []string{"^" + b.tip}
	switch {
	case b.tip != "":
	case w.Left.Commit != "":
		had = []string{"^" + w.Left.Commit + "^"}
	default: // no commit tells with what it began
		had = []string{"--since=" + since.Format(time.RFC3339)}
	}
	latest, err := c.first(ctx, s, v)
	if err != nil {
		return err
	}
	text, err := s.run(ctx, append([]string{"log", "--format=%h %s", "-n", strconv.Itoa(maxNews + 1), latest}, had...)...)
	if w.News = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }); len(w.News) > maxNews {
		w.News[maxNews] = "and more"
	}
	return err
}

// maxNews bounds the commits that a session is told of: git knows the others.
const maxNews = 20

// beginning is the commit on top of which sessions work, and work lands, while the workspace's branch has none.
const beginning = "refs/stint/beginning"

// begin is that commit, which is made for the first session: one without files.
func (c Clone) begin(ctx context.Context, g git) (commit string, err error) {
	tree, err := g.run(ctx, "hash-object", "-t", "tree", "-w", "--stdin")
	if err != nil {
		return "", err
	}
	stints := g
	stints.env = append(slices.Clone(g.env), asStint()...)
	if commit, err = stints.run(ctx, "commit-tree", "-m", "Begin", tree); err != nil {
		return "", err
	}
	if err := c.setRef(ctx, "begin", beginning, commit, strings.Repeat("0", len(commit))); err != nil {
		other, there, unread := g.revision(ctx, beginning) // another session was quicker
		if unread != nil || !there {
			return "", errors.Join(err, unread)
		}
		commit = other
	}
	return commit, nil
}

// tip returns the commit of a branch, or [beginning] for a branch without a commit that the workspace has checked out.
func (g git) tip(ctx context.Context, ref string) (commit string, there bool, err error) {
	if commit, there, err = g.revision(ctx, ref+"^{commit}"); err != nil || there {
		return commit, there, err
	}
	if head, _, err := g.on(ctx); err != nil || head != ref {
		return "", false, err
	}
	return g.revision(ctx, beginning)
}

// State has the remains of a run that are not merged.
type State struct {
	Unmerged int    // commits that the workspace's branch and its upstream lack
	Dirty    bool   // changes that nobody committed, files that nobody added
	Kept     string // the folder of its clone, where that has what cannot come home; empty: it is gone
}

// Reason says what was left, or "".
func (s State) Reason() string {
	switch {
	case s.Unmerged == 1:
		return "1 unmerged commit"
	case s.Unmerged > 1:
		return strconv.Itoa(s.Unmerged) + " unmerged commits"
	case s.Dirty:
		return uncommitted
	}
	return ""
}

// Close brings the run's work home and removes its clone. What is uncommitted comes home beside the branch. The folder stays
// only where there is work that cannot come home: the error or the state says so.
//
// If we die in it, the run is over soon, and [Clone.Prune] goes on.
func (c Clone) Close(ctx context.Context, w Own) (s State, err error) {
	l := c.seen(w.Dir) // its check may have left files there since: they are nobody's work
	nests := strings.Contains(l.made.shown, "\n+Subproject commit ")
	if s.Unmerged = l.own; !l.home || !l.fresh {
		if l, err = c.bringHome(ctx, w.Dir, w.Branch); err != nil {
			return s, fmt.Errorf("close the clone of run %s: %w", w.Run, err)
		}
		t, err := c.looking(ctx)
		if err != nil {
			return s, err
		}
		if s.Unmerged, err = t.countUnmerged(ctx, []string{heads + w.Branch}); err != nil {
			return s, err
		}
		if l.tip != l.start {
			changed, err := t.run(ctx, "diff-tree", "-r", l.start, l.tip)
			if err != nil {
				return s, err
			}
			nests = strings.Contains(changed, " 160000 ")
		}
	}
	var over []string // that it began with
	if exists(tookMark(w.Dir)) {
		over = append(over, wipRef(w.Dir))
	}
	nests = nests || l.linked
	if s.Dirty = l.changed; s.Dirty {
		over = nil
		more, err := c.leftovers(ctx, w.Dir, l.head, l.start)
		if err != nil {
			return s, fmt.Errorf("keep what run %s left uncommitted: %w", w.Run, err)
		}
		nests = nests || more
	}
	beside, submodules := l.stashed || len(l.aside) > 0, exists(filepath.Join(w.Dir, ".git", "modules"))
	if s.Dirty = s.Dirty || beside; !beside && !submodules && !nests {
		return s, c.discard(ctx, w.Dir, over...)
	}
	left := l.left(w.Dir, w.Branch)
	switch {
	case submodules:
		left = append(left, "submodules are in "+w.Dir)
	case nests:
		left = append(left, "what git adds to no commit is in "+w.Dir)
	}
	// If we die before the mark, the next to come looks again.
	s.Kept = w.Dir
	return s, errors.Join(c.dropRefs(ctx, over...), os.WriteFile(keptMark(w.Dir), []byte(strings.Join(left, "; ")), 0o600))
}

// keptMark is a file beside a clone whose work is home, and in which there is more: nobody need look again.
func keptMark(dir string) string { return dir + ".kept" }

// discard removes a clone, and then its pin and other refs.
func (c Clone) discard(ctx context.Context, dir string, refs ...string) error {
	c.forget(dir)
	if err := errors.Join(removeAll(dir), os.RemoveAll(keptMark(dir))); err != nil {
		return err
	}
	return c.dropRefs(ctx, append(refs, keepRef(dir))...)
}

func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// countUnmerged counts the commits of the tips that are neither reachable from the
// workspace's branch or its upstream, nor there under another name: the same change on
// another parent. A merge counts, for what it resolved is nowhere else.
func (t *turn) countUnmerged(ctx context.Context, tips []string) (int, error) {
	v, err := t.clone.see(ctx, t.git)
	if err != nil {
		return 0, err
	}
	bases, err := v.bases(ctx)
	if err != nil {
		return 0, err
	}
	unmerged := map[string]bool{}
	for _, tip := range tips {
		tip, there, err := t.revision(ctx, tip+"^{commit}")
		if err != nil {
			return 0, err
		}
		if !there {
			continue
		}
		own, err := t.run(ctx, append([]string{"rev-list", tip, "--not"}, bases...)...)
		if err != nil {
			return 0, err
		}
		for _, commit := range strings.Fields(own) {
			unmerged[commit] = true
		}
		if own == "" {
			continue
		}
		for _, base := range bases {
			cherries, err := t.run(ctx, "cherry", base, tip)
			if err != nil {
				return 0, err
			}
			for line := range strings.Lines(cherries) {
				if same, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
					delete(unmerged, same)
				}
			}
		}
	}
	return len(unmerged), nil
}

// removeAll removes a folder, also what is in folders that may not be written, as a cache
// of Go's modules makes them, and while git writes there whose stint was killed: without its files that fails soon.
func removeAll(dir string) error {
	const outlast = 5 * time.Second
	again := time.NewTicker(poll)
	defer again.Stop()
	err := os.RemoveAll(dir)
	for n := time.Duration(0); errors.Is(err, unix.ENOTEMPTY) && n < outlast; n += poll {
		<-again.C
		err = os.RemoveAll(dir)
	}
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700) //nolint:gosec // a folder, on its way out
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// tree is a worktree as git lists it.
type tree struct{ dir, branch string }

func (t *turn) trees(ctx context.Context) (trees []tree, err error) {
	fields, err := t.names(ctx, "worktree", "list", "--porcelain", "-z")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, " ")
		switch {
		case name == "worktree":
			trees = append(trees, tree{dir: value})
		case name == "branch" && len(trees) > 0:
			trees[len(trees)-1].branch = value
		}
	}
	return trees, err
}
