package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"stint/internal/fleet"
	"stint/internal/review"
)

// aim is where the sessions' work is to get: a branch, and what that follows.
type aim struct {
	name   string // short; empty: HEAD is detached
	ref    string // empty: likewise
	tip    string // empty: it has no commit, or is not there
	theirs string // the ref that it follows; empty: none
	track  string // how it differs from that as it was last fetched, in git's words: "ahead 1, behind 2", "gone"; empty: it does not
}

// behind reports whether what the branch follows has all of it, and more.
func (a aim) behind() bool { return strings.HasPrefix(a.track, "behind ") }

// aim finds the target.
func (c Clone) aim(ctx context.Context, g git) (a aim, err error) {
	if a.name, a.ref = c.Target, heads+c.Target; c.Target == "" {
		if a.ref, _, err = g.asks(ctx, "symbolic-ref", "--quiet", "HEAD"); err != nil {
			return a, err
		}
		a.name = strings.TrimPrefix(a.ref, heads)
	}
	if a.ref == "" {
		a.tip, _, err = g.revision(ctx, "HEAD^{commit}")
		return a, err
	}
	text, err := g.run(ctx, "for-each-ref", "--format=%(objectname)%09%(upstream)%09%(upstream:track,nobracket)", a.ref)
	if f := strings.Split(text, "\t"); err != nil || len(f) == 3 {
		a.tip, a.theirs, a.track = f[0], f[1], f[2]
		return a, err
	}
	var there bool
	if a.tip, there, err = g.tip(ctx, a.ref); err == nil && !there && c.Target != "" {
		a.tip, _, err = g.revision(ctx, "refs/remotes/"+c.Target+"^{commit}") // and no tag of the name
	}
	return a, err
}

// upstream is the commit of what the target follows, as it was last fetched.
func (g git) upstream(ctx context.Context, a aim) (commit string, there bool, err error) {
	if a.theirs == "" {
		return "", false, nil
	}
	return g.revision(ctx, a.theirs+"^{commit}")
}

// latest is the commit of the target, or of what that follows if that is ahead. Work begins there, and is measured against it.
func (g git) latest(ctx context.Context, a aim) (commit string, err error) {
	if a.behind() {
		commit, _, err = g.upstream(ctx, a)
		return commit, err
	}
	return a.tip, nil
}

// Latest is the target, or what that follows if that is ahead; without a tip there is no repository, or no commit in it. A
// name that is no branch is an error.
func (c Clone) Latest(ctx context.Context) (review.Target, error) {
	_, t, err := c.target(ctx)
	return t, err
}

func (c Clone) target(ctx context.Context) (g git, t review.Target, err error) {
	g, _, err = c.git(ctx, string(c.Dir))
	switch dir := string(c.Dir); {
	case errors.Is(err, errBare):
		return g, t, fleet.WithHint(fmt.Errorf("workspace %s: %w", dir, err),
			"make one, and name it as workspace in stint.toml: git -C "+fleet.ShellWord(dir)+" worktree add "+fleet.ShellWord(dir+"-work"))
	case errors.Is(err, errNoRepository):
		return g, t, nil
	case err != nil:
		return g, t, err
	}
	g = g.asItIs()
	a, err := c.aim(ctx, g)
	if err == nil && a.tip == "" && c.Target != "" {
		err = fleet.WithHint(errors.New("no branch "+strconv.Quote(c.Target)), "name one of: git branch --all")
	}
	if err != nil {
		return g, t, err
	}
	t.Name = a.name
	t.Tip, err = g.latest(ctx, a)
	return g, t, err
}

// forward brings the target to what it follows, if that is ahead. Where it is checked out, its files come along; if something there is
// in the way, an error says what, and nothing is changed.
//
// If we die in it, the next turn goes on as after a landing, see [Clone.Advance].
func (t *turn) forward(ctx context.Context, run fleet.RunID) error {
	a, err := t.clone.aim(ctx, t.git)
	if err != nil || !a.behind() {
		return err
	}
	s, err := t.forwarding(ctx, a)
	if err != nil {
		return err
	}
	s.Run = run
	_, err = t.advance(ctx, s)
	return err
}

// inTheWay is an error if a step of the target would change files that are somebody's own, where it is checked out.
func (t *turn) inTheWay(ctx context.Context, a aim, s fleet.Stacked) error {
	out, err := t.writable(ctx, s)
	if err != nil || !out {
		return err
	}
	return t.untracked(ctx, Synced{Branch: a.name, Upstream: a.theirs}, s.Base, s.Commit)
}

// forwarding is the step of a target that is behind.
func (t *turn) forwarding(ctx context.Context, a aim) (s fleet.Stacked, err error) {
	s.Target, s.Base = a.name, a.tip
	if s.Commit, err = t.latest(ctx, a); err != nil {
		return s, err
	}
	filters, err := t.filters(ctx)
	if err != nil || len(filters) == 0 {
		return s, err
	}
	dir, err := os.MkdirTemp("", "stint-index-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g := t.git
	g.env = append(slices.Clone(g.env), "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	if _, err = g.run(ctx, "read-tree", s.Commit); err != nil {
		return s, err
	}
	s.Filtered, err = g.filtered(ctx, g.run, s.Base, s.Commit)
	return s, err
}

// Tracking says where the target has left what it follows, as that was last fetched.
func (c Clone) Tracking(ctx context.Context) (said fleet.Tracking, err error) {
	t, err := c.looking(ctx)
	if errors.Is(err, errNoRepository) {
		return said, nil
	} else if err != nil {
		return said, err
	}
	at := "git -C " + fleet.ShellWord(t.top) + " "
	a, err := c.aim(ctx, t.git)
	own, theirs := a.name, strings.TrimPrefix(strings.TrimPrefix(a.theirs, "refs/remotes/"), heads)
	ahead, behind, both := strings.Cut(a.track, ", ")
	n, is := strings.CutPrefix(ahead, "ahead ")
	switch {
	case err != nil:
	case a.ref == "":
		said = fleet.Tracking{Text: "HEAD is detached, so no work can land and no sync comes", Fix: at + "switch BRANCH", Stuck: true}
	case ahead == "gone":
		said = fleet.Tracking{Text: own + " follows " + theirs + ", which is gone", Fix: at + "branch --unset-upstream " + fleet.ShellWord(own), Stuck: true}
	case both:
		said = fleet.Tracking{
			Text: fmt.Sprintf("%s and %s have diverged: %s, %s", own, theirs, ahead, behind), Stuck: true,
			Fix: at + "pull --rebase=merges --autostash",
		}
	case is:
		said = fleet.Tracking{Text: fmt.Sprintf("%s has commits that %s lacks: %s", own, theirs, n), Fix: at + "push"}
	case a.behind() && c.Forwards && midway(t.gitDir) == "":
		s, lost := t.forwarding(ctx, a)
		if lost != nil {
			return said, lost
		}
		if stuck := t.inTheWay(ctx, a, s); stuck != nil {
			text := fmt.Sprintf("%s lacks commits of %s, and cannot be brought forward: %v", own, theirs, stuck)
			said = fleet.Tracking{Text: text, Fix: fleet.Hint(stuck), Stuck: true}
		}
	}
	return said, err
}
