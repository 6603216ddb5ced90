package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Landings takes the right to land work in the clone, and returns what gives it back. It ends with
// the process at the latest. Doing is a few words for others who want it meanwhile: their error has
// them, and wraps [fleet.ErrBusy].
func (c Clone) Landings(doing string) (end func() error, err error) {
	if err := os.MkdirAll(c.Root, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(c.Root, "landing.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			said, _ := io.ReadAll(io.LimitReader(f, mostDoing)) // else nobody knows what it does
			err = landingError{string(said)}
		}
		return nil, errors.Join(err, f.Close())
	}
	// If we die before the end, the words stay, and nobody reads them: the next landing has others.
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := fmt.Fprintf(f, "process %d %s", os.Getpid(), doing); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(f.Truncate(0), f.Close()) }, nil
}

// mostDoing is how much of the words of another landing is shown.
const mostDoing = 400

// landingError is that another process lands something.
type landingError struct{ doing string }

func (e landingError) Error() string {
	if e.doing == "" {
		return "another process lands work"
	}
	return "another process lands work: " + e.doing
}

// Unwrap is [fleet.ErrBusy].
func (e landingError) Unwrap() error { return fleet.ErrBusy }

// landingDir is where work is tried on the target. Git names its entry for a worktree by the
// folder, so that its name is no other fleet's.
func (c Clone) landingDir() string { return filepath.Join(c.Root, "landing-"+string(c.Fleet)) }

// Stack puts a run's work on top of the target in a folder of its own, for which the caller has
// the right to land. The author of each commit stays, and the committer is the operator. A target
// that is checked out has to be clean.
//
// If we die in it, or before [Clone.Unstack], the folder is left; the next to land, or
// [Clone.Prune], removes it.
func (c Clone) Stack(ctx context.Context, l fleet.Landing) (s fleet.Stacked, err error) {
	s = fleet.Stacked{Landing: l, Dir: c.landingDir()}
	err = c.inTurn(ctx, l.Run, "stack", func(ctx context.Context, t *turn) error { return t.stack(ctx, &s) })
	if err != nil {
		return s, fmt.Errorf("put the work of run %s on %s: %w", l.Run, l.Target, err)
	}
	return s, nil
}

func (t *turn) stack(ctx context.Context, s *fleet.Stacked) (err error) {
	t.git = t.asItIs() // what was looked through is what lands
	if err := t.remove(ctx, s.Dir); err != nil {
		return err
	}
	base, there, err := t.tip(ctx, heads+s.Target)
	if err == nil && !there {
		err = fleet.WithHint(fmt.Errorf("%s is no branch of the clone", s.Target), "name one of git branch in [review] target, or use: stint review publish")
	}
	if err != nil {
		return err
	}
	if _, err := t.receptive(ctx, s.Target); err != nil {
		return err
	}
	s.Base, s.Commit, s.Conflicts = base, base, nil
	if _, merged, err := t.asks(ctx, "merge-base", "--is-ancestor", s.Tip, base); err != nil || merged {
		return err
	}
	start := s.Tip
	if s.Merge {
		start = base
	}
	if err := os.MkdirAll(filepath.Dir(s.Dir), 0o700); err != nil {
		return err
	}
	if err := t.insist(ctx, "worktree", "add", "--quiet", "--force", "--detach", "--", s.Dir, start); err != nil {
		return refused(s, err)
	}
	tree, err := t.worktree(ctx, s.Dir)
	if err != nil {
		return err
	}
	command := []string{"rebase", "--quiet", "--no-autostash", base}
	if s.Merge {
		command = []string{"merge", "--quiet", "--no-ff", "--no-edit", "-m", fmt.Sprintf("Merge branch '%s'", s.Branch), s.Tip}
	}
	if _, err := tree.run(ctx, command...); err != nil {
		conflicts, unread := tree.unmerged(ctx)
		if unread != nil {
			return errors.Join(err, unread)
		}
		if len(conflicts) == 0 {
			return refused(s, err)
		}
		s.Conflicts = conflicts
		return nil
	}
	s.Commit, err = tree.run(ctx, "rev-parse", "--verify", "HEAD")
	return err
}

// refused notes what git said of the work, which need not be true of other work. A command that did not end
// by itself, or passes, says nothing of it.
func refused(s *fleet.Stacked, err error) error {
	if failed, ok := errors.AsType[*gitError](err); !ok || failed.status < 0 || passes(err) {
		return err
	}
	s.Refused = err.Error()
	return nil
}

// receptive reports whether the target is what the workspace has checked out. It is an error if
// a landing would change files there that somebody changed, or files in another folder.
func (t *turn) receptive(ctx context.Context, target string) (out bool, err error) {
	used, err := t.usedIn(ctx, target)
	if err != nil || used == "" {
		return false, err
	}
	if used != t.top && used != t.common {
		return false, fleet.WithHint(fmt.Errorf("%s is checked out in %s", target, used), "git -C "+fleet.ShellWord(used)+" switch --detach")
	}
	if err := insist(ctx, func() error { return unfinished(t.layout) }); err != nil {
		return false, err
	}
	base, _, err := t.tip(ctx, heads+target)
	if err != nil {
		return false, err
	}
	changed, err := t.names(ctx, diff("--name-only", "-z", base)...)
	if err == nil && len(changed) > 0 {
		err = fleet.WithHint(fmt.Errorf("%s is checked out in %s, with changes that nobody committed in %s", target, t.top, list(changed)),
			fmt.Sprintf("commit them, or put them aside: git -C %s stash", fleet.ShellWord(t.top)))
	}
	return true, err
}

// Unstack removes the folder in which work was tried on the target.
func (c Clone) Unstack(ctx context.Context) error {
	if !exists(c.landingDir()) {
		return nil
	}
	return c.inTurn(ctx, "", "unstack", func(ctx context.Context, t *turn) error { return t.remove(ctx, c.landingDir()) })
}

// unstackLeft removes the folder of a landing whose process died.
func (c Clone) unstackLeft(ctx context.Context) error {
	if !exists(c.landingDir()) {
		return nil
	}
	end, err := c.Landings("removes what a landing left")
	if errors.Is(err, fleet.ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(c.Unstack(ctx), end())
}

// Advance moves the target from the commit that work was stacked on to that work, and reports
// false if the target is not there any more. A work tree that has the target checked out gets the files.
//
// If we die before the target has moved, it is where it was; in a work tree that has it, files may
// be changed by then. The next turn goes on from the note, so that the target has all of it.
func (c Clone) Advance(ctx context.Context, s fleet.Stacked) (moved bool, err error) {
	err = c.inTurn(ctx, s.Run, "land", func(ctx context.Context, t *turn) error {
		moved, err = t.advance(ctx, s)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("land the work of run %s on %s: %w", s.Run, s.Target, err)
	}
	return moved, nil
}

func (t *turn) advance(ctx context.Context, s fleet.Stacked) (moved bool, err error) {
	t.git = t.asItIs()
	ref := heads + s.Target
	still := func() (bool, error) {
		at, _, err := t.tip(ctx, ref)
		return at == s.Base, err
	}
	if same, err := still(); err != nil || !same {
		return false, err
	}
	out, err := t.receptive(ctx, s.Target)
	if err != nil {
		return false, err
	}
	if !out {
		err := t.insist(ctx, "update-ref", "-m", "stint: land run "+string(s.Run), ref, s.Commit, s.Base)
		if err == nil {
			return true, nil
		}
		if same, unread := still(); unread != nil || same {
			return false, errors.Join(err, unread)
		}
		return false, nil
	}
	n := t.note
	n.GitDir, n.Top, n.Branch, n.From, n.Land = t.gitDir, t.top, ref, s.Base, s.Commit
	if err := t.write(n); err != nil {
		return false, err
	}
	// Git holds the index while it writes the files, and moves the branch last. It refuses, and
	// touches nothing, if somebody was quicker to change one of them, or the branch, or has a file of that name that git
	// ignores.
	_, failed := t.run(ctx, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", s.Commit)
	ctx, cancel := tidying(ctx)
	defer cancel()
	if failed != nil {
		if err := t.recoverLanding(ctx, n); err != nil {
			return false, errors.Join(failed, err)
		}
	}
	at, _, err := t.tip(ctx, ref)
	if err != nil {
		return false, errors.Join(failed, err)
	}
	if err := t.write(t.note); err != nil {
		return false, err
	}
	if at == s.Base {
		return false, failed
	}
	return failed == nil || at == s.Commit, nil
}

// recoverLanding brings a landing to its end that was cut short in a work tree: once git has
// begun to write the files, the rest follows. Other changes of these files since are kept as a stash.
//
// If we die in it, the note still stands, and the branch or the files show how far it came.
func (t *turn) recoverLanding(ctx context.Context, dead note) error {
	t.git = t.asItIs()
	if on, attached, err := t.asks(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil || !attached || on != dead.Branch {
		return err
	}
	at, _, err := t.tip(ctx, dead.Branch)
	if err != nil || at != dead.From && at != dead.Land {
		return err // somebody has moved it since
	}
	if _, staged, err := t.asks(ctx, diff("--quiet", "--cached", dead.Land)...); err != nil || staged && at == dead.Land {
		return err // git did all of it
	}
	files, err := t.names(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", dead.From, dead.Land)
	if err != nil || len(files) == 0 {
		return err
	}
	if at == dead.From {
		begun, err := t.begun(ctx, dead, files)
		if err != nil || !begun {
			return err
		}
		// A branch without a commit gets its first one here: nothing can be stashed before.
		if _, err := t.run(ctx, "update-ref", "-m", "stint: begin", dead.Branch, dead.From); err != nil {
			return err
		}
		if err := t.keepOthers(ctx, dead); err != nil {
			return err
		}
		if _, err := t.run(ctx, "update-ref", "-m", "stint: land run "+string(dead.Run), dead.Branch, dead.Land, dead.From); err != nil {
			return err
		}
	}
	_, err = t.run(ctx, "reset", "--quiet", "--hard", dead.Land)
	return err
}

// begun reports whether git has begun to write the files of a landing: one of them is not what it
// was, and is a beginning of what it is to be. Any other change is somebody's own.
func (t *turn) begun(ctx context.Context, dead note, files []string) (bool, error) {
	changed, err := t.names(ctx, append(diff("--name-only", "-z", dead.From, "--"), literal(files)...)...)
	if err != nil {
		return false, err
	}
	others, err := t.names(ctx, append([]string{"ls-files", "--others", "-z", "--"}, literal(files)...)...)
	for _, file := range append(changed, others...) {
		_, there, unread := t.revision(ctx, dead.Land+":"+file)
		if unread != nil {
			return false, unread
		}
		now, unread := readFile(filepath.Join(t.top, file))
		switch {
		case errors.Is(unread, fs.ErrNotExist):
			return true, err
		case unread != nil || !there:
			continue
		}
		whole, _, unread := t.head(ctx, len(now), "cat-file", "blob", dead.Land+":"+file)
		if unread == nil && whole == string(now) {
			return true, err
		}
	}
	return false, err
}

// literal are paths that git takes for no patterns.
func literal(files []string) []string {
	return plain.Each(files, func(file string) string { return ":(top,literal)" + file })
}

// keepOthers stashes what is in the work tree if some file there is neither as it was before the
// landing nor as it is to be.
func (t *turn) keepOthers(ctx context.Context, dead note) error {
	saved, err := t.run(ctx, "stash", "create", "stint: changes at a landing that was cut short")
	if err != nil || saved == "" {
		return err
	}
	var differ [2][]string
	for i, commit := range []string{dead.From, dead.Land} {
		if differ[i], err = t.names(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", commit, saved); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(differ[0], func(file string) bool { return slices.Contains(differ[1], file) }) {
		return nil
	}
	_, err = t.run(ctx, "stash", "store", "--message", "stint: changes at a landing that was cut short", saved)
	return err
}

// Drop removes the folder and the branch of a run whose work the target has, and says why it
// kept them: something in them is not what landed, or somebody works on the branch.
func (c Clone) Drop(ctx context.Context, l fleet.Landing) (kept string, err error) {
	err = c.inTurn(ctx, l.Run, "drop", func(ctx context.Context, t *turn) error {
		kept, err = t.drop(ctx, l)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("remove the branch %s: %w", l.Branch, err)
	}
	return kept, nil
}

func (t *turn) drop(ctx context.Context, l fleet.Landing) (kept string, err error) {
	tip, there, err := t.revision(ctx, heads+l.Branch)
	if err != nil || there && tip != l.Tip {
		return "branch " + l.Branch + " has other commits", err
	}
	dir := filepath.Join(t.clone.Root, string(l.Run))
	if exists(dir) {
		return dir + " has work that is not home", nil
	}
	if _, left, err := t.revision(ctx, wipRef(dir)); err != nil || left {
		return "what was left uncommitted is " + wipRef(dir), err
	}
	if !there {
		return "", nil
	}
	if used, err := t.usedIn(ctx, l.Branch); err != nil || used != "" {
		return "branch " + l.Branch + " is checked out in " + used, err
	}
	return "", t.deleteBranch(ctx, l.Branch, l.Tip)
}

// CheckOut is a folder for a person who looks at a run's work, beside the workspace: the run's own is moved there, so that
// no session goes on in it. One that a person has already stays where it is.
func (c Clone) CheckOut(ctx context.Context, run fleet.RunID, branch string) (dir string, err error) {
	err = c.inTurn(ctx, run, "check out", func(ctx context.Context, t *turn) error {
		used, err := t.usedIn(ctx, branch)
		if err != nil {
			return err
		}
		dir = t.top + "-" + string(run)
		switch {
		case used == "":
			// If we die in it, git has half a folder there: git worktree remove --force.
			return t.insist(ctx, "worktree", "add", "--quiet", "--", dir, branch)
		}
		dir = used
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("check out %s: %w", branch, err)
	}
	return dir, nil
}

// Push brings a run's branch to the remote of the target, and names that. It replaces what is
// there only if that is a commit which was published before.
func (c Clone) Push(ctx context.Context, l fleet.Landing, before string) (remote string, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", err
	}
	if remote, err = g.remoteOf(ctx, l.Target); err != nil {
		return "", err
	}
	push := func(options ...string) error {
		args := append([]string{"push", "--quiet", "--receive-pack=git-receive-pack", "--no-recurse-submodules", "--no-follow-tags"}, options...)
		_, err := g.run(ctx, append(args, "--", remote, l.Tip+":"+heads+l.Branch)...)
		return err
	}
	err = insist(ctx, func() error { return push() })
	if err != nil && before != "" && before != l.Tip {
		err = push("--force-with-lease=" + heads + l.Branch + ":" + before)
	}
	if err != nil {
		return remote, fmt.Errorf("push %s to %s: %w", l.Branch, remote, err)
	}
	return remote, nil
}

// remoteOf is where a branch comes from, or the only remote there is.
func (g git) remoteOf(ctx context.Context, branch string) (string, error) {
	remote, _, err := g.asks(ctx, "config", "--get", "branch."+branch+".remote")
	if err != nil || remote != "" && remote != "." {
		return remote, err
	}
	text, err := g.run(ctx, "remote")
	if err != nil {
		return "", err
	}
	remotes := strings.Fields(text)
	for _, name := range remotes {
		if len(remotes) == 1 || strings.HasPrefix(branch, name+"/") {
			return name, nil
		}
	}
	return "", fleet.WithHint(fmt.Errorf("branch %s has no remote", branch), "git branch --set-upstream-to, or git remote add")
}
