package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Synced is the result of a sync.
type Synced struct {
	Branch   string // the one checked out, by its short name
	Upstream string // the ref it follows
	Idle     string // why there was nothing to sync; empty: it was synced
	Stuck    error  // why the target was not brought to what it follows
}

// ConflictError is an update that cannot be done without a person. The work tree is as
// it was before.
type ConflictError struct {
	Branch, Upstream string
	Files            []string
	Uncommitted      bool // it is the changes that nobody committed which conflict
	Untracked        bool // it is files that would be overwritten, of which git tells nothing: see [turn.unseen]
}

func (e *ConflictError) Error() string {
	switch {
	case e.Untracked:
		return fmt.Sprintf("rebase %s onto %s: it would overwrite %s, which git does not track here", e.Branch, e.Upstream, list(e.Files))
	case e.Uncommitted:
		return fmt.Sprintf("rebase uncommitted changes on %s onto %s: conflict in %s", e.Branch, e.Upstream, list(e.Files))
	}
	return fmt.Sprintf("rebase %s onto %s: conflict in %s", e.Branch, e.Upstream, list(e.Files))
}

// list is the names, as many as a person reads.
func list(names []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		if plain.Line(name) != name {
			name = fmt.Sprintf("%q", name)
		}
		quoted = append(quoted, name)
	}
	if more := len(names) - most; more > 0 {
		quoted = append(quoted, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(quoted, ", ")
}

// Sync brings the branch that is checked out onto its upstream: a fetch to the ref that
// follows it, then a rebase as `git pull --rebase=merges --autostash` makes it: merges stay, a commit
// that upstream dropped goes, uncommitted changes are put aside meanwhile. A step that meets
// a momentary obstacle is tried again. After an error the work tree is as before: commits,
// uncommitted changes and what was staged of them. A conflict is a [*ConflictError].
//
// Without a repository, branch, upstream or commit there is nothing to do.
func (c Clone) Sync(ctx context.Context, run fleet.RunID) (Synced, error) {
	return c.synced(ctx, run, "sync", "sync", (*turn).sync)
}

// Fetch brings the ref that the target follows up to date, which is all that a clone needs, and then the target where the clone
// [Clone.Forwards]. What is in the way of that is no error of the fetch.
func (c Clone) Fetch(ctx context.Context, run fleet.RunID) (Synced, error) {
	return c.synced(ctx, run, "fetch", "fetch into", func(t *turn, ctx context.Context) (Synced, error) {
		v, err := c.see(ctx, t.git)
		if err != nil {
			return Synced{}, err
		}
		s, err := t.fetch(ctx, v.aim.ref)
		if err != nil || s.Idle != "" || !c.Forwards {
			return s, err
		}
		if s.Stuck = t.forward(ctx, run); errors.Is(s.Stuck, errLeft) {
			return s, s.Stuck
		}
		return s, nil
	})
}

// synced does the sync within a turn. Without a repository there is nothing to do.
func (c Clone) synced(
	ctx context.Context, run fleet.RunID, doing, failed string, do func(*turn, context.Context) (Synced, error),
) (s Synced, err error) {
	err = c.inTurn(ctx, run, doing, func(ctx context.Context, t *turn) error {
		s, err = do(t, ctx)
		return err
	})
	if errors.Is(err, errNoRepository) {
		return Synced{Idle: err.Error()}, nil
	}
	if err != nil {
		return s, fmt.Errorf("%s %s: %w", failed, c.Dir, err)
	}
	return s, nil
}

func (t *turn) sync(ctx context.Context) (Synced, error) {
	// In the middle of a rebase HEAD is detached, and there would be nothing to do.
	if err := insist(ctx, func() error { return unfinished(t.layout) }); err != nil {
		return Synced{}, err
	}
	ref, _, err := t.on(ctx)
	if err != nil {
		return Synced{}, err
	}
	s, err := t.fetch(ctx, ref)
	if err != nil || s.Idle != "" {
		return s, err
	}
	onto, err := t.run(ctx, "rev-parse", "--verify", s.Upstream+"^{commit}")
	if err != nil {
		return s, err
	}
	return s, insist(ctx, func() error { return t.pull(ctx, s, onto) })
}

// pull moves the branch onto a commit, once.
func (t *turn) pull(ctx context.Context, s Synced, onto string) error {
	if err := unfinished(t.layout); err != nil {
		return err
	}
	from, born, err := t.revision(ctx, "HEAD^{commit}")
	if err != nil {
		return err
	}
	if !born {
		_, err := t.run(ctx, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", onto)
		return err
	}
	if _, there, err := t.asks(ctx, "merge-base", "--is-ancestor", onto, from); err != nil || there {
		return err // not even a refresh of the index in a tree that others work in
	}
	changed, err := t.names(ctx, diff("--name-only", "--no-renames", "-z", from, onto)...)
	if err != nil {
		return err
	}
	files, err := t.unseen(ctx, from, changed)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		return fleet.WithHint(&ConflictError{Branch: s.Branch, Upstream: s.Upstream, Files: files, Untracked: true},
			"move them out of "+fleet.ShellWord(t.top))
	}
	return t.rebase(ctx, s, from, onto)
}

// unseen are the files of the work tree, among those that an update of a commit changes, of which git tells nothing. Git does not track
// them, or ignores them, or was told to skip them and they are changed. A rebase spares the ones that are not ignored, a restore none.
func (t *turn) unseen(ctx context.Context, from string, changed []string) (files []string, err error) {
	var there []string
	for _, file := range changed {
		if exists(filepath.Join(t.top, file)) {
			there = append(there, file)
		}
		for above := filepath.Dir(file); above != "."; above = filepath.Dir(above) {
			if info, err := os.Lstat(filepath.Join(t.top, above)); err == nil && !info.IsDir() {
				there = append(there, above)
			}
		}
	}
	for part := range slices.Chunk(there, maxPinned) {
		listed, err := t.names(ctx, append([]string{"ls-files", "-v", "--cached", "--others", "-z", "--"}, literal(part)...)...)
		if err != nil {
			return nil, err
		}
		for _, entry := range listed {
			switch tag, file := entry[0], entry[2:]; {
			case tag == '?', (tag == 'S' || tag >= 'a') && t.textOf(ctx, filepath.Join(t.top, file), file, from) == "":
				files = append(files, file)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// overwritten is an error if there are files that a step of the target would overwrite.
func (t *turn) overwritten(target string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("%s is checked out in %s: it would overwrite %s, which git does not track there, or was told to skip",
		target, t.top, list(files)), "move them out of "+fleet.ShellWord(t.top))
}

// fetch finds what a branch follows and brings the ref of that up to date.
func (t *turn) fetch(ctx context.Context, ref string) (s Synced, err error) {
	if ref == "" {
		return Synced{Idle: "HEAD is detached"}, nil
	}
	s.Branch = strings.TrimPrefix(ref, heads)
	remote, followed, err := t.asks(ctx, "config", "--get", "branch."+s.Branch+".remote")
	if err != nil {
		return s, err
	}
	theirs, named, err := t.asks(ctx, "config", "--get", "branch."+s.Branch+".merge")
	if err != nil || !followed || !named {
		s.Idle = s.Branch + " has no upstream"
		return s, err
	}
	if s.Upstream, err = t.tracking(ctx, ref, remote, theirs); err != nil || remote == "." {
		return s, err
	}
	g := t.git
	g.turn = nil // what a transport leaves behind, such as a keeper of passwords, must not keep the turn
	err = g.insist(ctx, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--upload-pack=git-upload-pack", "--", remote, "+"+theirs+":"+s.Upstream)
	if failed, ok := errors.AsType[*gitError](err); ok && strings.Contains(failed.said, "couldn't find remote ref") {
		s.Idle = fmt.Sprintf("%s has no %s", remote, theirs)
		return s, nil
	}
	return s, err
}

// tracking is the local ref for a branch of a remote. FETCH_HEAD, which all processes
// write, is never looked at.
func (t *turn) tracking(ctx context.Context, branch, remote, theirs string) (string, error) {
	if remote == "." {
		return theirs, nil
	}
	configured, err := t.run(ctx, "for-each-ref", "--format=%(upstream)", branch)
	if err != nil || configured != "" {
		return configured, err
	}
	remotes, err := t.run(ctx, "remote")
	short := strings.TrimPrefix(theirs, heads)
	if slices.Contains(strings.Split(remotes, "\n"), remote) {
		return "refs/remotes/" + remote + "/" + short, err
	}
	return "refs/stint/upstream/" + short, err // the remote is an address, without a name
}

// rebaseDirs are the folders in which git keeps a rebase.
func rebaseDirs(gitDir string) []string {
	return []string{filepath.Join(gitDir, "rebase-merge"), filepath.Join(gitDir, "rebase-apply")}
}

func rebasing(gitDir string) bool { return slices.ContainsFunc(rebaseDirs(gitDir), exists) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// unfinished is an error if somebody is in the middle of something in the work tree. A bisection
// is in the way of commits alone, see [turn.record].
func unfinished(l layout) error {
	what := midway(l.gitDir)
	if what == "" || what == bisection {
		return nil
	}
	return fleet.WithHint(unfinishedError{what, l.top}, ending(what, l.top))
}

// rebase rebases the branch, or leaves everything as it was.
//
// If we die before the note is written, nothing has changed. If we die after it, the
// rebase is under way or about to be: git goes on, and keeps the turn until it is done
// or was stopped; if it died with us, the next turn's [turn.recover] takes the rebase back.
func (t *turn) rebase(ctx context.Context, s Synced, from, onto string) error {
	saved, err := t.run(ctx, "stash", "create", "stint sync")
	if err != nil {
		return err
	}
	stash, _, err := t.revision(ctx, "refs/stash")
	if err != nil {
		return err
	}
	n := t.note
	n.GitDir, n.Top, n.Branch, n.From, n.Saved, n.Stash = t.gitDir, t.top, heads+s.Branch, from, saved, stash
	if err := t.write(n); err != nil {
		return err
	}
	_, failed := t.run(ctx, "rebase", "--quiet", "--rebase-merges", "--autostash", "--fork-point", "--onto", onto, s.Upstream)
	ctx, cancel := tidying(ctx)
	defer cancel()
	conflicts, err := t.unmerged(ctx)
	if err != nil {
		return errors.Join(failed, err)
	}
	if failed == nil && len(conflicts) == 0 {
		return t.write(t.note)
	}
	conflict := &ConflictError{Branch: s.Branch, Upstream: s.Upstream, Files: conflicts, Uncommitted: failed == nil}
	if failed == nil {
		// If we die here, files are in conflict; if we die later, the branch is still there.
		if n.Back, err = t.run(ctx, "rev-parse", "--verify", "HEAD"); err != nil {
			return err
		}
		if err := t.write(n); err != nil {
			return err
		}
	}
	if err := t.takeBack(ctx, n); err != nil {
		return fmt.Errorf("take back the rebase of %s: %w", s.Branch, errors.Join(failed, err))
	}
	if err := t.write(t.note); err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return fleet.WithHint(conflict, fmt.Sprintf("git -C %s rebase --rebase-merges --autostash %s", fleet.ShellWord(t.top), s.Upstream))
	}
	return failed
}

func (t *turn) unmerged(ctx context.Context) ([]string, error) {
	return t.names(ctx, diff("--name-only", "--diff-filter=U", "-z")...)
}

// takeBack undoes a rebase that was stopped, or one that was done and on which git could
// not put the uncommitted changes back: these it then has put on the list of stashes.
func (t *turn) takeBack(ctx context.Context, n note) error {
	if rebasing(t.gitDir) {
		err := t.insist(ctx, "rebase", "--abort")
		if err != nil {
			return err
		}
	} else if head, err := t.run(ctx, "rev-parse", "--verify", "HEAD"); err != nil {
		return err
	} else if head != n.From {
		if _, err := t.run(ctx, "reset", "--quiet", "--hard", n.From); err != nil {
			return err
		}
	}
	return t.reinstate(ctx, n)
}

// dropStash takes git's own copy of the changes off the list of stashes.
func (t *turn) dropStash(ctx context.Context, n note) error {
	last, there, err := t.revision(ctx, "refs/stash")
	if err != nil || !there || last == n.Stash || last == n.Saved {
		return err
	}
	if _, same, err := t.asks(ctx, diff("--quiet", last, n.Saved)...); err != nil || !same {
		return err
	}
	_, err = t.run(ctx, "stash", "drop", "--quiet")
	return err
}

// reinstate sees to it that changes which were put aside are in the work tree, staged as
// they were. If somebody has changed the tree meanwhile they are kept as a stash instead,
// for nothing is ever overwritten.
func (t *turn) reinstate(ctx context.Context, n note) error {
	if n.Saved == "" {
		return nil
	}
	there, clean, err := t.holds(ctx, n.Saved)
	switch {
	case err != nil:
		return err
	case there:
		if err := t.restage(ctx, n.Saved); err != nil {
			return err
		}
		return t.dropStash(ctx, n)
	case clean:
		if _, err := t.run(ctx, "stash", "apply", "--quiet", "--index", n.Saved); err == nil {
			return t.dropStash(ctx, n)
		}
	}
	_, err = t.run(ctx, "stash", "store", "--message", "stint: uncommitted changes before a sync", n.Saved)
	return err
}

// holds reports whether the work tree's files are those that were saved, and whether
// they are those of its commit.
func (t *turn) holds(ctx context.Context, saved string) (there, clean bool, err error) {
	if _, there, err = t.asks(ctx, diff("--quiet", "--ignore-submodules", saved)...); err != nil {
		return false, false, err
	}
	_, clean, err = t.asks(ctx, diff("--quiet", "--ignore-submodules", "HEAD")...)
	return there, clean, err
}

// restage makes the index what it was when the changes were saved: the second parent.
func (t *turn) restage(ctx context.Context, saved string) error {
	if _, err := t.run(ctx, "read-tree", saved+"^2"); err != nil {
		return err
	}
	_, _, err := t.asks(ctx, "update-index", "-q", "--refresh") // 1: there are changes
	return err
}
