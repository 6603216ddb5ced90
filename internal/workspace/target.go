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

// aim is the destination of the sessions' work: a branch, and its upstream.
type aim struct {
	name   string // short; empty: HEAD is detached
	ref    string // empty: likewise
	tip    string // empty: it has no commit, or is not there
	theirs string // the ref that it follows; empty: none
	track  string // how it differs from that as it was last fetched, in git's words: "ahead 1, behind 2", "gone"; empty: it does not
}

// behind reports whether what the branch follows has all of it, and more.
func (a aim) behind() bool { return strings.HasPrefix(a.track, "behind ") }

// sight is the answer of one question to git: the refs on which work begins, and against which it is measured.
type sight struct {
	git
	aim  aim
	head string         // the ref of the branch that is checked out; empty: HEAD is detached
	refs map[string]ref // by name: that branch, the target, and those that were asked for
}

// see finds the target, and refs that patterns name.
func (c Clone) see(ctx context.Context, g git, patterns ...string) (v sight, err error) {
	v.git = g
	if v.head, _, err = g.on(ctx); err != nil {
		return v, err
	}
	a := &v.aim
	if a.ref = v.head; c.Target != "" {
		a.ref = heads + c.Target
	}
	a.name = strings.TrimPrefix(a.ref, heads)
	for _, ref := range []string{v.head, a.ref} {
		if ref != "" {
			patterns = append(patterns, ref)
		}
	}
	if theirs := g.value("branch." + a.name + ".merge"); theirs != "" {
		patterns = append(patterns, "refs/remotes/*/"+strings.TrimPrefix(theirs, heads)) // where that is fetched to, most often
	}
	if v.refs, err = g.refs(ctx, append(patterns, beginning)...); err != nil {
		return v, err
	}
	r, there := v.refs[a.ref]
	switch a.tip, a.theirs, a.track = r.id, r.upstream, r.track; {
	case there:
	case a.ref == "":
		a.tip, _, err = g.revision(ctx, "HEAD^{commit}")
	case a.ref == v.head:
		a.tip = v.refs[beginning].id
	default:
		a.tip, _, err = g.revision(ctx, "refs/remotes/"+c.Target+"^{commit}") // and no tag of the name
	}
	return v, err
}

// upstream is the commit of what the target follows, as it was last fetched.
func (v sight) upstream(ctx context.Context) (commit string, there bool, err error) {
	if r, seen := v.refs[v.aim.theirs]; v.aim.theirs == "" || seen {
		return r.id, seen, nil
	}
	return v.revision(ctx, v.aim.theirs+"^{commit}")
}

// latest is the commit of the target, or of what that follows if that is ahead. Work begins there, and is measured against it.
func (v sight) latest(ctx context.Context) (commit string, err error) {
	if v.aim.behind() {
		commit, _, err = v.upstream(ctx)
		return commit, err
	}
	return v.aim.tip, nil
}

// bases are the commits that work is measured against: the target, and its upstream.
func (v sight) bases(ctx context.Context) (bases []string, err error) {
	upstream, there, err := v.upstream(ctx)
	if there {
		bases = append(bases, upstream)
	}
	if v.aim.tip != "" {
		bases = append(bases, v.aim.tip)
	}
	return bases, err
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
	v, err := c.see(ctx, g)
	if err == nil && v.aim.tip == "" && c.Target != "" {
		err = fleet.WithHint(errors.New("no branch "+strconv.Quote(c.Target)), "name one of: git branch --all")
	}
	if err != nil {
		return g, t, err
	}
	t.Name = v.aim.name
	t.Tip, err = v.latest(ctx)
	return g, t, err
}

// forward brings the target to what it follows, if that is ahead. Where it is checked out, its files come along; if something there is
// in the way, an error says what, and nothing is changed.
//
// If we die in it, the next turn goes on as after a landing, see [Clone.Advance].
func (t *turn) forward(ctx context.Context, run fleet.RunID) error {
	v, err := t.clone.see(ctx, t.git)
	if err != nil || !v.aim.behind() {
		return err
	}
	s, err := t.forwarding(ctx, v)
	if err != nil {
		return err
	}
	s.Run = run
	_, err = t.advance(ctx, s)
	return err
}

// forwarding is the step of a target that is behind.
func (t *turn) forwarding(ctx context.Context, v sight) (s fleet.Stacked, err error) {
	s.Target, s.Base = v.aim.name, v.aim.tip
	if s.Commit, err = v.latest(ctx); err != nil || len(t.filters()) == 0 {
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
	v, err := c.see(ctx, t.git)
	a := v.aim
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
		s, lost := t.forwarding(ctx, v)
		if lost != nil {
			return said, lost
		}
		if _, _, _, stuck := t.writable(ctx, s); stuck != nil {
			text := fmt.Sprintf("%s lacks commits of %s, and cannot be brought forward: %v", own, theirs, stuck)
			said = fleet.Tracking{Text: text, Fix: fleet.Hint(stuck), Stuck: true}
		}
	}
	return said, err
}
