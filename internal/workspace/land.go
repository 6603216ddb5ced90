package workspace

import (
	"cmp"
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
			said, _ := io.ReadAll(io.LimitReader(f, maxDoing)) // else nobody knows what it does
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

// maxDoing bounds the shown words of another landing, in bytes.
const maxDoing = 400

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

// landingDir is the clone of stint's own in which work is tried on the target.
func (c Clone) landingDir() string { return filepath.Join(c.Root, "landing-"+string(c.Fleet)) }

// Stack puts a run's work on top of the target in a clone, for which the caller has the right to land. Git in the clone
// runs in a box, and what it makes comes home as the work of a session does. The author of each commit stays, and the
// committer is the operator. Of a target that is checked out the files are free that the work changes. A target that is behind its
// upstream, as that was last fetched, goes there first.
//
// If we die in it, or before [Clone.Unstack], the folder is left; the next to land, or
// [Clone.Prune], removes it. If we die after the clone's pin and before its folder, the next landing has the pin. What
// had come home by then is in no branch, and git's gc removes it.
func (c Clone) Stack(ctx context.Context, l fleet.Landing) (s fleet.Stacked, err error) {
	s = fleet.Stacked{Landing: l, Dir: c.landingDir()}
	k := c.landing()
	if k.target == "" || k.of != l.Target {
		err = c.inTurn(ctx, l.Run, "stack", func(ctx context.Context, t *turn) error {
			k.target, err = t.begins(ctx, l)
			return err
		})
		k.of = l.Target
	}
	if s.Base, s.Commit = k.target, k.target; err == nil {
		err = c.stack(ctx, &s, k)
	}
	if err != nil {
		return s, fmt.Errorf("put the work of run %s on %s: %w", l.Run, l.Target, err)
	}
	return s, nil
}

// begins returns the commit of the target on which work is stacked.
func (t *turn) begins(ctx context.Context, l fleet.Landing) (base string, err error) {
	t.git = t.unfiltered()
	r, out, err := t.receptive(ctx, l.Target)
	if err == nil && r.id == "" {
		err = fleet.WithHint(fmt.Errorf("%s is no branch of the clone", l.Target),
			"name one of git branch in [review] target, or use: stint review publish")
	}
	if err != nil {
		return "", err
	}
	v, err := t.clone.see(ctx, t.git)
	if err != nil {
		return "", err
	}
	switch base = r.id; {
	case v.aim.ref != r.name: // the commands of a fleet aim at its own target
	case v.aim.behind():
		if err := t.forward(ctx, l.Run); err != nil {
			return "", err
		}
		base, err = v.latest(ctx)
	case strings.Contains(v.aim.track, ", "):
		said, err := t.clone.Tracking(ctx)
		return "", cmp.Or(err, fleet.WithHint(errors.New(said.Text), said.Fix))
	}
	if err == nil && out {
		_, err = t.free(ctx, ref{name: r.name, id: base}, l.Tip)
	}
	return base, err
}

// stack leaves work as it is that stands on the target. A rebase would drop what a merge in it has resolved: such work is merged.
func (c Clone) stack(ctx context.Context, s *fleet.Stacked, k landing) error {
	from, err := c.source(ctx)
	if err != nil {
		return err
	}
	apart, err := from.run(ctx, "rev-list", "--left-right", "--parents", s.Base+"..."+s.Tip)
	if err != nil || !strings.Contains(apart, ">") {
		return err
	}
	stands, merges := !strings.Contains(apart, "<"), false
	for line := range strings.Lines(apart) {
		merges = merges || line[0] == '>' && strings.Count(line, " ") > 1
	}
	start, command := s.Base, []string{"rebase", "--quiet", "--no-autostash", s.Base, s.Tip}
	switch {
	case s.Merge, merges && !stands:
		message := fmt.Sprintf("Merge branch '%s'\n\nStint-Run: %s", s.Branch, s.Run)
		command = []string{"merge", "--quiet", "--no-ff", "--no-edit", "-m", message, s.Tip}
	case stands:
		start, command = s.Tip, nil
	}
	for again := k.files != nil; ; again = false {
		if s.Conflicts, err = c.tryOn(ctx, from, s, &k, start, command); err == nil || !again {
			break
		}
		k.files = nil // whatever is wrong may be the folder's, which is made anew
	}
	c.note(k)
	return refused(s, err)
}

// tryOn has the commits that land made in the folder, which shows them then; or it says which files conflict.
func (c Clone) tryOn(
	ctx context.Context, from source, s *fleet.Stacked, k *landing, start string, command []string,
) (conflicts []string, err error) {
	if err := c.ready(ctx, from, s, k, start); err != nil {
		return nil, err
	}
	in, tip := c.within(from, s.Dir), s.Tip
	if command != nil {
		tip, conflicts, err = c.remake(ctx, from, in, s.Base, command, !k.filters)
		if err != nil || len(conflicts) > 0 || tip == s.Base {
			return conflicts, err
		}
	}
	if s.Commit, err = from.signed(ctx, s.Base, tip); err != nil {
		return nil, err
	}
	if s.Filtered, err = from.filtered(ctx, in.git, s.Base, tip); err != nil {
		return nil, err
	}
	return nil, k.keep(s.Dir, s.Commit)
}

// remake has git in the clone make the commits anew that land, and brings them home; or it says which files conflict.
func (c Clone) remake(
	ctx context.Context, from source, in inner, base string, command []string, gits bool,
) (tip string, conflicts []string, err error) {
	in.env = []string{"GIT_NO_REPLACE_OBJECTS=1", "GIT_EDITOR=true", "LC_ALL=C"}
	for _, pair := range from.env { // a rebase, too, is the operator's
		if strings.HasPrefix(pair, "GIT_COMMITTER_") {
			in.env = append(in.env, pair)
		}
	}
	if _, failed := in.git(ctx, append(pins(), command...)...); failed != nil {
		text, err := in.git(ctx, diff("--name-only", "--diff-filter=U", "-z")...)
		if err != nil || text == "" {
			return "", nil, errors.Join(failed, err)
		}
		return "", strings.Split(strings.TrimSuffix(text, "\x00"), "\x00"), nil
	}
	head, err := readFile(filepath.Join(in.dir, ".git", "HEAD"))
	switch tip = strings.TrimSuffix(string(head), "\n"); {
	case err != nil || tip == base:
		return tip, nil, err
	case !isID(tip):
		return "", nil, fmt.Errorf("HEAD of %s: want an id, got %q", in.dir, said(tip))
	}
	_, err = c.bring(ctx, from, in.dir, tip, base, gits)
	return tip, nil, err
}

// filters are the names of those that git has, in anybody's settings.
func (g git) filters() (names []string) {
	for _, set := range g.settings {
		if section, name := ends(set.key); section == "filter" && set.scope != "command" && name != "required" {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(set.key, "filter."), "."+name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unfiltered is git that shows the objects themselves, and runs no filter: what a session has committed decides which files have
// one.
func (g git) unfiltered() git {
	g = g.asItIs()
	for _, name := range g.filters() {
		for _, set := range []string{"smudge=", "clean=", "process=", "required=false"} {
			g.options = append(slices.Clone(g.options), "-c", "filter."+name+"."+set)
		}
	}
	return g
}

// filtered are the files that differ between two commits and for which git has a filter, by the attributes in an index
// of the second: what git keeps of them in a work tree is not what is in the commit.
func (g git) filtered(
	ctx context.Context, attributes func(context.Context, ...string) (string, error), base, tip string,
) (files []string, err error) {
	filters := g.filters()
	if len(filters) == 0 {
		return nil, nil
	}
	changed, err := g.names(ctx, diff("--name-only", "--no-renames", "--diff-filter=d", "-z", base, tip)...)
	for part := range slices.Chunk(changed, maxPinned) {
		text, err := attributes(ctx, append([]string{"check-attr", "--cached", "-z", "filter", "--"}, part...)...)
		if err != nil {
			return nil, err
		}
		for answer := range slices.Chunk(strings.Split(text, "\x00"), 3) { // file, "filter", its name
			if len(answer) == 3 && slices.Contains(filters, answer[2]) {
				files = append(files, answer[0])
			}
		}
	}
	return files, err
}

// signed is a commit whose commits since another are signed, if git signs what the operator commits. The key is the operator's, and
// no box has it.
func (g git) signed(ctx context.Context, base, tip string) (string, error) {
	if !slices.ContainsFunc(g.settings, func(set setting) bool { return set.key == "commit.gpgsign" }) {
		return tip, nil
	}
	sign, _, err := g.asks(ctx, "config", "--type=bool", "--get", "commit.gpgSign")
	if err != nil || sign != "true" {
		return tip, err
	}
	list, err := g.run(ctx, "log", "--reverse", "--topo-order", "--format=%H%x00%T%x00%P%x00%e", base+".."+tip)
	if err != nil {
		return "", err
	}
	became := map[string]string{}
	for line := range strings.Lines(list) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		encoding := cmp.Or(f[3], "UTF-8")
		args := []string{"commit-tree", "-S", "-F", "-", f[1]}
		for _, parent := range strings.Fields(f[2]) {
			args = append(args, "-p", cmp.Or(became[parent], parent))
		}
		text, err := g.run(ctx, "log", "-1", "--encoding="+encoding, "--date=raw", "--format=%an%x00%ae%x00%ad%x00%B", f[0])
		if err != nil {
			return "", err
		}
		who := strings.SplitN(text, "\x00", 4)
		author := g.feed(strings.NewReader(who[3]))
		author.options = []string{"-c", "i18n.commitEncoding=" + encoding}
		author.env = append(slices.Clone(g.env), "GIT_AUTHOR_NAME="+who[0], "GIT_AUTHOR_EMAIL="+who[1], "GIT_AUTHOR_DATE=@"+who[2])
		if became[f[0]], err = author.run(ctx, args...); err != nil {
			return "", err
		}
	}
	return became[tip], nil
}

// refused notes what git said of the work, which need not be true of other work. A command that did not end
// by itself, or passes, says nothing of it. Without an error there is nothing to note.
func refused(s *fleet.Stacked, err error) error {
	if failed, ok := errors.AsType[*gitError](err); !ok || failed.status < 0 || passes(err) {
		return err
	}
	s.Refused = err.Error()
	return nil
}

// receptive returns the target as it is now, and whether the workspace has it checked out. It is an error if another folder has, or
// if something is under way there. So it is if the name stands for another branch, which would move beneath its work tree.
func (t *turn) receptive(ctx context.Context, target string) (r ref, out bool, err error) {
	err = insist(ctx, func() error {
		r, out, err = t.receives(ctx, target)
		return err
	})
	return r, out, err
}

func (t *turn) receives(ctx context.Context, target string) (r ref, out bool, err error) {
	found, err := t.refs(ctx, heads+target)
	r, born := found[heads+target]
	if err == nil && !born {
		r.name = heads + target
		if r.id, born, err = t.tip(ctx, r.name); born {
			r.worktree = t.top
		}
	}
	if err != nil || r.id == "" {
		return r, false, err
	}
	if stands := strings.TrimPrefix(r.link, heads); stands != "" {
		return r, false, fleet.WithHint(fmt.Errorf("%s stands for %s", target, stands), fmt.Sprintf(
			"set target = %q in [review], and check that name out: git -C %s switch %s", stands, fleet.ShellWord(t.top), fleet.ShellWord(stands)))
	}
	switch used, what, err := t.usedIn(r); {
	case err != nil, used == "":
		return r, false, err
	case what == bisection: // which does not pass
		return r, false, fleet.WithHint(fmt.Errorf("a bisect of %s is under way in %s", target, used), ending(what, used))
	case what != "":
		return r, false, fleet.WithHint(unfinishedError{what + " of " + target, used}, ending(what, used))
	case used == t.top:
		return r, true, cmp.Or(unfinished(t.layout), t.checkedOut(ctx, target))
	default:
		at, end := used, " switch --detach"
		if !exists(used) {
			at, end = t.top, " worktree prune"
		}
		return r, false, fleet.WithHint(fmt.Errorf("%s is checked out in %s", target, used), "git -C "+fleet.ShellWord(at)+end)
	}
}

// checkedOut is an error if HEAD of the work tree does not name a branch.
func (t *turn) checkedOut(ctx context.Context, branch string) error {
	on, _, err := t.on(ctx)
	if err == nil && on != heads+branch {
		err = fleet.WithHint(fmt.Errorf("HEAD of %s does not name %s", t.top, branch),
			"git -C "+fleet.ShellWord(t.top)+" switch "+fleet.ShellWord(branch))
	}
	return err
}

// free is an error if somebody has changed files in the work tree that are other files in a commit than where that left the target.
// A task's state is no such change: it is set aside.
func (t *turn) free(ctx context.Context, target ref, tip string) (aside map[string]string, err error) {
	changed, err := t.names(ctx, diff("--name-only", "--no-renames", "-z", target.id)...)
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	ours, err := t.names(ctx, diff("--name-only", "--no-renames", "-z", target.id+"..."+tip)...)
	changed = plain.Kept(changed, func(file string) bool { return slices.Contains(ours, file) })
	if err == nil && len(changed) > 0 {
		aside, err = t.restated(ctx, target.id, tip, changed)
	}
	changed = plain.Kept(changed, func(file string) bool { return aside[file] == "" })
	if err == nil && len(changed) > 0 {
		err = fleet.WithHint(fmt.Errorf("%s is checked out in %s, with changes that nobody committed in %s",
			strings.TrimPrefix(target.name, heads), t.top, list(changed)),
			fmt.Sprintf("commit them, or put them aside: git -C %s stash", fleet.ShellWord(t.top)))
		if _, born, lost := t.revision(ctx, target.name); lost == nil && !born { // git has nothing on which to stash
			err = fleet.WithHint(err, fmt.Sprintf("commit them, or move them out of %s and then: git -C %[1]s reset", fleet.ShellWord(t.top)))
		}
	}
	return aside, err
}

// writable is [turn.receptive] for a step of the target. It is an error if git has a filter for a file that has to be written, or
// somebody has changed one, or has one there of which git tells nothing. So is an error of [turn.submodules].
func (t *turn) writable(ctx context.Context, s fleet.Stacked) (r ref, out bool, aside map[string]string, err error) {
	r, out, err = t.receptive(ctx, s.Target)
	if err != nil || r.id != s.Base {
		return r, out, nil, err
	}
	files, err := t.submodules(ctx, s)
	if err != nil || !out {
		return r, out, nil, err
	}
	if len(s.Filtered) > 0 {
		err = fmt.Errorf("%s is checked out in %s, and git has a filter for %s: stint runs none", s.Target, t.top, list(s.Filtered))
		return r, out, nil, fleet.WithHint(err, fmt.Sprintf("git -C %s merge --ff-only %s", fleet.ShellWord(t.top), s.Commit))
	}
	if aside, err = t.free(ctx, r, s.Commit); err != nil {
		return r, out, nil, err
	}
	unseen, err := t.unseen(ctx, s.Base, files)
	return r, out, aside, cmp.Or(err, t.overwritten(s.Target, unseen))
}

// Unstack removes the folder in which work was tried on the target.
func (c Clone) Unstack(ctx context.Context) error {
	c.forget(c.landingDir())
	if !exists(c.landingDir()) {
		return nil
	}
	return c.discard(ctx, c.landingDir())
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
// If we die before the target has moved, its ref is unchanged; in a work tree that has it, files may
// be changed by then. The next turn goes on from the note, so that the target has all of it.
func (c Clone) Advance(ctx context.Context, s fleet.Stacked) (moved bool, err error) {
	err = c.inTurn(ctx, s.Run, "land", func(ctx context.Context, t *turn) error {
		moved, err = t.advance(ctx, s)
		return err
	})
	k := c.landing()
	if k.target = ""; moved {
		k.target = s.Commit
	}
	c.note(k)
	if err != nil {
		return false, fmt.Errorf("land the work of run %s on %s: %w", s.Run, s.Target, err)
	}
	return moved, nil
}

func (t *turn) advance(ctx context.Context, s fleet.Stacked) (moved bool, err error) {
	t.git = t.unfiltered()
	ref := heads + s.Target
	r, out, aside, err := t.writable(ctx, s)
	if err != nil || r.id != s.Base {
		return false, err
	}
	if !out {
		err := t.insist(ctx, "update-ref", "-m", "stint: land run "+string(s.Run), ref, s.Commit, s.Base)
		if err == nil {
			return true, nil
		}
		if at, _, unread := t.tip(ctx, ref); unread != nil || at == s.Base {
			return false, errors.Join(err, unread)
		}
		return false, nil
	}
	n := t.note
	n.GitDir, n.Top, n.Branch, n.From, n.Land, n.Aside = t.gitDir, t.top, ref, s.Base, s.Commit, aside
	if err := t.write(n); err != nil {
		return false, err
	}
	failed := cmp.Or(t.setAside(ctx, n), t.checkedOut(ctx, s.Target)) // git merges into what HEAD names
	// Git holds the index while it writes the files, and moves the branch last. It refuses, and
	// touches nothing, if somebody was quicker to change one of them, or the branch, or has a file of that name that git
	// ignores.
	t.options = append(slices.Clone(t.options), "-c", "branch."+s.Target+".mergeOptions=")
	if failed == nil {
		_, failed = t.run(ctx, "merge", "--quiet", "--ff-only", "--no-overwrite-ignore", s.Commit)
	}
	ctx, cancel := tidying(ctx)
	defer cancel()
	if failed == nil {
		if err := t.putBack(ctx, n); err != nil {
			return true, errors.Join(err, errLeft)
		}
		return true, t.write(t.note)
	}
	if err := t.recoverLanding(ctx, n); err != nil {
		return false, errors.Join(failed, err, errLeft)
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
	_, moved, err = t.asks(ctx, "merge-base", "--is-ancestor", s.Commit, at) // somebody may have been on top of it by then
	return moved, err
}

// recoverLanding brings a landing to its end that was cut short in a work tree: once git has
// begun to write the files, the rest follows. Other changes of these files since are kept as a stash.
//
// If we die in it, the note still stands, and the branch or the files show how far it came.
func (t *turn) recoverLanding(ctx context.Context, dead note) error {
	t.git = t.unfiltered()
	if err := t.finish(ctx, dead); err != nil {
		return err
	}
	return t.putBack(ctx, dead)
}

func (t *turn) finish(ctx context.Context, dead note) (err error) {
	if on, attached, err := t.on(ctx); err != nil || !attached || on != dead.Branch {
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
	unseen, err := t.unseen(ctx, dead.From, files)
	if err != nil {
		return err
	}
	if at == dead.From {
		if begun, err := t.begun(ctx, dead, files, unseen); err != nil || !begun {
			return err
		}
	}
	others := plain.Kept(unseen, func(file string) bool { _, is := t.beginning(ctx, dead, file); return !is })
	if err := t.overwritten(strings.TrimPrefix(dead.Branch, heads), others); err != nil {
		return err
	}
	if at == dead.From {
		// A branch without a commit gets its first one here: nothing can be stashed before.
		if _, err := t.run(ctx, "update-ref", "-m", "stint: begin", dead.Branch, dead.From); err != nil {
			return err
		}
	}
	if err := t.keepOthers(ctx, dead, files); err != nil {
		return err
	}
	if at == dead.From {
		if _, err := t.run(ctx, "update-ref", "-m", "stint: land run "+string(dead.Run), dead.Branch, dead.Land, dead.From); err != nil {
			return err
		}
	}
	return t.bringFiles(ctx, dead)
}

// bringFiles gives the work tree the files of a landing, and leaves all others as they are.
func (t *turn) bringFiles(ctx context.Context, dead note) error {
	for filter, command := range map[string][]string{
		"d": {"restore", "--quiet", "--source=" + dead.Land, "--staged", "--worktree"}, "D": {"rm", "--quiet", "--force", "--ignore-unmatch"},
	} {
		files, err := t.names(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter="+filter, dead.From, dead.Land)
		if err != nil {
			return err
		}
		if len(files) == 0 {
			continue
		}
		paths := strings.NewReader(strings.Join(literal(files), "\x00"))
		if _, err := t.feed(paths).run(ctx, append(command, "--pathspec-from-file=-", "--pathspec-file-nul")...); err != nil {
			return err
		}
	}
	return nil
}

// begun reports whether git has begun to write the files of a landing. The index has one of them, or a file is the beginning of what
// lands. A file that git does not track is no sign if it is empty or gone. Any other change is somebody's own.
func (t *turn) begun(ctx context.Context, dead note, files, unseen []string) (bool, error) {
	staged, err := t.names(ctx, diff("--cached", "--name-only", "--no-renames", "-z", dead.Land)...)
	if err != nil {
		return false, err
	}
	changed, err := t.names(ctx, diff("--name-only", "--no-renames", "-z")...)
	return slices.ContainsFunc(files, func(file string) bool {
		landed := !slices.Contains(staged, file)
		if tracked := slices.Contains(changed, file); tracked || slices.Contains(unseen, file) {
			size, begins := t.beginning(ctx, dead, file)
			landed = landed || begins && (tracked || size > 0)
		}
		return landed
	}), err
}

// beginning reports whether a file of the work tree is the beginning of what a landing is to make of it, and its size. A file that is
// gone is such a beginning. Of a link its own text counts.
func (t *turn) beginning(ctx context.Context, dead note, file string) (size int, is bool) {
	path := filepath.Join(t.top, file)
	now, err := readFile(path)
	if link, other := os.Readlink(path); other == nil {
		now, err = []byte(link), nil
	}
	if err != nil {
		return 0, errors.Is(err, fs.ErrNotExist)
	}
	whole, _, err := t.head(ctx, len(now), "cat-file", "blob", dead.Land+":"+file)
	return len(now), err == nil && whole == string(now)
}

// literal are paths that git takes for no patterns.
func literal(files []string) []string {
	return plain.Each(files, func(file string) string { return ":(top,literal)" + file })
}

// keepOthers stashes what is in the work tree if some file of a landing is neither as it was before
// nor as it is to be.
func (t *turn) keepOthers(ctx context.Context, dead note, files []string) error {
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
	if !slices.ContainsFunc(files, func(file string) bool { return slices.Contains(differ[0], file) && slices.Contains(differ[1], file) }) {
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
	dir := filepath.Join(t.clone.Root, string(l.Run))
	refs, err := t.refs(ctx, heads+l.Branch, wipRef(dir))
	r, there := refs[heads+l.Branch]
	_, left := refs[wipRef(dir)]
	switch {
	case err != nil:
		return "", err
	case there && r.id != l.Tip:
		return "branch " + l.Branch + " has other commits", nil
	case exists(dir):
		return dir + " has work that is not home", nil
	case left:
		return "what was left uncommitted is " + wipRef(dir), nil
	case !there:
		return "", nil
	}
	if used, _, err := t.usedIn(r); err != nil || used != "" {
		return "branch " + l.Branch + " is checked out in " + used, err
	}
	return "", t.insist(ctx, "update-ref", "-d", r.name, l.Tip)
}

// CheckOut is a folder for a person who looks at a run's work, beside the workspace: the run's own is moved there, so that
// no session goes on in it. One that a person has already stays where it is.
func (c Clone) CheckOut(ctx context.Context, run fleet.RunID, branch string) (dir string, err error) {
	err = c.inTurn(ctx, run, "check out", func(ctx context.Context, t *turn) error {
		refs, err := t.refs(ctx, heads+branch)
		if err == nil {
			dir, _, err = t.usedIn(refs[heads+branch])
		}
		if err != nil || exists(dir) {
			return err
		}
		dir = cmp.Or(dir, t.top+"-"+string(run))
		// Git still lists a folder that somebody has removed, and makes it again by force.
		// If we die in it, git has half a folder there: git worktree remove --force.
		return t.insist(ctx, "worktree", "add", "--quiet", "--force", "--", dir, branch)
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

// remoteOf returns the remote that git push takes for a branch, or the only remote there is.
func (g git) remoteOf(ctx context.Context, branch string) (string, error) {
	for _, key := range []string{"branch." + branch + ".pushRemote", "remote.pushDefault", "branch." + branch + ".remote"} {
		remote, _, err := g.asks(ctx, "config", "--get", key)
		if err != nil || remote != "" && remote != "." {
			return remote, err
		}
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
