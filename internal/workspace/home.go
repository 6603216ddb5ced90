package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// look is the result of looking into a clone: everything that its session left.
type look struct {
	start   string   // the commit at which it began
	head    string   // the commit that its files are of
	tip     string   // its last commit; the start: it made none
	on      string   // the branch of that commit; empty: HEAD is detached
	changed bool     // there are changes that nobody committed, or files that nobody added
	stashed bool     // and changes that the session put aside
	linked  bool     // one of the changes is the commit of a repository within
	aside   []string // the branches with commits that the tip lacks
	before  sight    // of the refs, where it has committed
	home    bool     // the session is over, and what it has committed is home
	own     int      // the commits that nobody else had
	lasting
}

// lasting is the part of a look that the next one at the clone goes by.
type lasting struct {
	fresh   bool    // this process has made the clone, with a new branch
	branch  string  // which is this one
	packed  version // of the refs that the clone was made with
	fetched bool    // the workspace knows what the session had of others
	made    brought // that was not home
}

// seen returns the last look of this process at a clone.
func (c Clone) seen(dir string) (l look) {
	if c.Found != nil {
		known, _ := c.Found.Load(dir)
		l, _ = known.(look)
	}
	return l
}

func (c Clone) remember(dir string, l look) {
	if c.Found != nil {
		c.Found.Store(dir, l)
	}
}

func (c Clone) forget(dir string) {
	if c.Found != nil {
		c.Found.Delete(dir)
	}
}

// alone reports whether a clone has no branch but its own, beside those that it was made with. Nothing that a session can have made
// is opened.
func (l look) alone(dir string) bool {
	own := filepath.Join(dir, ".git", heads)
	err := filepath.WalkDir(own, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path != filepath.Join(own, l.branch) {
			err = fs.ErrExist
		}
		return err
	})
	return l.fresh && err == nil && l.packed == versionOf(filepath.Join(dir, ".git", "packed-refs"))
}

// errHangs is for a clone in which git would wait for ever.
var errHangs = errors.New("not a file")

// regular is an error if something that git in a clone opens is a pipe or a device: it would wait there until its time is up.
func regular(dir string) error {
	check := func(path string) error {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s: %w", path, errHangs)
		}
		return nil
	}
	own := filepath.Join(dir, ".git")
	entries, _ := os.ReadDir(own) // git says why it cannot be read
	for _, entry := range entries {
		if err := check(filepath.Join(own, entry.Name())); err != nil {
			return err
		}
	}
	return filepath.WalkDir(filepath.Join(own, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // as before
		}
		return check(path)
	})
}

// looks asks git in a clone what the session left there. The session's work is the history of HEAD, also on
// another branch or on none. If HEAD has no new commit, it is that of the only branch with commits. The commits that
// the clone began with are nobody's work, whatever the session has checked out.
func (c Clone) looks(ctx context.Context, s source, dir, start string) (l look, err error) {
	if err := regular(dir); err != nil {
		return l, err
	}
	l = look{start: start, lasting: c.seen(dir).lasting}
	in := c.within(s, dir)
	err = in.write(ctx, &eachLine{do: l.note}, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--show-stash",
		"--untracked-files=normal", "--ignore-submodules=dirty")
	if errors.Is(err, errNoRepository) {
		return l, fmt.Errorf("%s is damaged: %s", dir, err.Error()) // it is one all the same, with work
	} else if err != nil {
		return l, err
	}
	if l.tip = cmp.Or(l.head, start); l.head != "" && l.alone(dir) {
		return l, nil
	}
	l.head = l.tip // else HEAD is a branch that has no commit yet; others may have
	began, err := s.beginnings(ctx, dir)
	if err != nil {
		return l, err
	}
	if news, err := in.git(ctx, append([]string{"rev-list", "--max-count=1", l.tip, "--not"}, began...)...); err != nil {
		return l, err
	} else if news == "" {
		l.tip = start
	}
	args := []string{"for-each-ref", "--format=%(objectname) %(refname:short)", "refs/heads"}
	for _, id := range append(began, l.tip) {
		args = append(args, "--no-merged="+id)
	}
	text, err := in.git(ctx, args...)
	others := strings.Split(text, "\n")
	if len(others) == 1 && l.tip == start {
		if id, name, found := strings.Cut(others[0], " "); found && isID(id) {
			l.tip, l.on = id, name
			return l, err
		}
	}
	for _, line := range others {
		if _, name, found := strings.Cut(line, " "); found {
			l.aside = append(l.aside, name)
		}
	}
	return l, err
}

// note takes note of a line of git status.
func (l *look) note(line string) {
	id, isTip := strings.CutPrefix(line, "# branch.oid ")
	name, isHead := strings.CutPrefix(line, "# branch.head ")
	switch {
	case isTip && isID(id):
		l.head = id
	case isHead && name != "(detached)":
		l.on = name
	case strings.HasPrefix(line, "# stash "):
		l.stashed = true
	case line != "" && line[0] != '#':
		l.changed, l.linked = true, l.linked || regexp.MustCompile(`^[12u] \S+ S`).MatchString(line)
	}
}

// eachLine hands on each line that is written to it: a session may leave any number of files.
type eachLine struct {
	rest []byte
	do   func(string)
}

func (e *eachLine) Write(p []byte) (int, error) {
	lines := bytes.Split(append(e.rest, p...), []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		e.do(string(line))
	}
	e.rest = lines[len(lines)-1]
	return len(p), nil
}

// isID reports whether a text is the id of an object.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// beginnings are the commit at which a clone began, and then those of the other branches that it was made with, by its pin.
func (s source) beginnings(ctx context.Context, dir string) ([]string, error) {
	text, err := s.run(ctx, "for-each-ref", "--format=%(objectname) %(parent)%00%(contents:subject)", keepRef(dir))
	if err != nil {
		return nil, err
	}
	ids, message, there := strings.Cut(text, "\x00")
	if !there {
		return nil, fleet.WithHint(fmt.Errorf("%s: no pin of it: nobody knows where its session began", dir),
			"look at it, and remove it: git -C "+fleet.ShellWord(dir)+" log")
	}
	began := strings.Fields(ids)
	if message == pinned {
		return began[1:], nil
	}
	return began[:1], nil
}

// bringHome brings the commits of a session into the workspace's repository, on the branch of its run, and returns what
// the session left. A branch that has come to other commits since is somebody's: it stays as it is.
//
// If we die in it, there is a folder ".home-…" beside the clone, or one "tmp_objdir-incoming-…" among the objects, which
// [Clone.Prune] and git remove; the branch has not moved, and the next try works.
func (c Clone) bringHome(ctx context.Context, dir, branch string) (l look, err error) {
	s, err := c.source(ctx)
	if err != nil {
		return l, err
	}
	known := c.seen(dir)
	start := known.start
	if start == "" {
		began, err := s.beginnings(ctx, dir)
		if err != nil {
			return l, err
		}
		start = began[0]
	}
	if l, err = c.looks(ctx, s, dir, start); err != nil || l.tip == start {
		return l, err
	}
	if l.before, err = c.see(ctx, s.git, heads+c.nested(), heads+c.flat()+"*"); err != nil {
		return l, err
	}
	at, there := l.before.refs[heads+branch]
	if there {
		// An error says that the tip is not here yet.
		if _, home, err := s.asks(ctx, "merge-base", "--is-ancestor", l.tip, at.id); err == nil && home {
			return l, nil
		}
	}
	others, err := c.others(ctx, l.before, branch)
	if err != nil {
		return l, err
	}
	if l.made, err = c.bring(ctx, s, dir, l.tip, start, false, others...); err != nil {
		return l, err
	}
	if there {
		_, onward, err := s.asks(ctx, "merge-base", "--is-ancestor", at.id, l.tip)
		switch {
		case err != nil:
			return l, err
		case onward:
		case at.id != start && at.id != known.tip: // it may still be what this clone has brought home before
			return l, fleet.WithHint(fmt.Errorf("branch %s has work of somebody else", branch), "git branch -m "+branch+" NAME")
		default: // the session goes on with other work than it was given
			if err := c.catchUp(ctx, dir, branch, &l); err != nil || len(l.made.commits) == 0 {
				return l, err // and that is others'
			}
		}
	}
	return l, c.setRef(ctx, "bring work home", heads+branch, l.tip, at.id)
}

// fetchTime bounds the fetch after a session: one that was stopped has seconds for all of its end.
const fetchTime = 10 * time.Second

// catchUp has the workspace fetch what a session may have of others, or they of it, and counts the session's commits again.
// Without a network the commits are measured by what is known.
func (c Clone) catchUp(ctx context.Context, dir, branch string, l *look) (err error) {
	own := filepath.Join(dir, ".git")
	if l.fetched || !exists(filepath.Join(own, "FETCH_HEAD")) && !exists(filepath.Join(own, "logs", "refs", "remotes")) {
		return nil
	}
	brief, cancel := context.WithTimeout(ctx, fetchTime)
	_, _ = c.Fetch(brief, fleet.RunID(filepath.Base(dir)))
	cancel()
	if l.before, err = c.see(ctx, l.before.git, heads+c.nested(), heads+c.flat()+"*"); err != nil {
		return err
	}
	others, err := c.others(ctx, l.before, branch)
	if err != nil {
		return err
	}
	l.fetched = true
	l.made, err = l.before.brought(ctx, l.tip, append([]string{l.start}, others...))
	return err
}

// fetched are the latest commits that a session had from its remotes before it pushed there, by its clone's own notes.
func fetched(dir string) (ids []string) {
	_ = filepath.WalkDir(filepath.Join(dir, ".git", "logs", "refs", "remotes"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it has no remotes
		}
		text, _ := readFile(path)
		text, _, _ = bytes.Cut(text, []byte("\tupdate by push"))
		for line := range bytes.Lines(text) {
			if was := strings.Fields(string(line)); line[len(line)-1] == '\n' && len(was) > 1 && isID(was[1]) {
				ids = append(ids, was[1])
			}
		}
		return nil
	})
	return ids[max(0, len(ids)-maxPinned):]
}

// brought are the commits of a tip that others lack, where they are home already. Of others' commits some may not be.
func (g git) brought(ctx context.Context, tip string, others []string) (m brought, err error) {
	args := []string{"--reverse", "--topo-order", "--ignore-missing", tip, "--not"}
	if m.commits, err = g.commits(ctx, append(append(args, others...), "--")...); err == nil {
		m.shown, m.cut, err = g.patches(ctx, m.steps(others[0]))
	}
	return m, err
}

// others are the commits that a run has not made: those of other runs, of the workspace and of its upstream.
func (c Clone) others(ctx context.Context, v sight, branch string) ([]string, error) {
	commits, err := v.bases(ctx)
	for name, r := range v.refs {
		if name != heads+branch && (strings.HasPrefix(name, heads+c.nested()) || strings.HasPrefix(name, heads+c.flat())) {
			commits = append(commits, r.id)
		}
	}
	return commits, err
}

// brought are the commits of a session that nobody else has, and what they changed, as [git.patches] shows it.
type brought struct {
	commits []commit
	shown   string
	cut     bool
}

func (m brought) steps(start string) (steps []step) {
	for _, commit := range m.commits {
		steps = append(steps, step{from: commit.before(start), to: commit.id, merge: len(commit.parents) > 1})
	}
	return steps
}

const (
	maxPack  = 2 << 30   // bytes of a session's work
	maxPaths = 2_000_000 // in a commit: a pack of a kilobyte can hold more than any disk
)

// bring copies what a commit in a clone has beyond another into the workspace's objects. Git in the clone packs it, in the
// box; git outside reads the pack from a pipe, checks each object, and puts it among its own when all of it is sound. The commits
// that it lists are those that others have no part of. What git alone has made of commits that are home is complete, and no larger
// than they are: nobody looks again.
func (c Clone) bring(ctx context.Context, s source, dir, tip, start string, gits bool, others ...string) (m brought, err error) {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".home-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	config := "[core]\n\tbare = true\n\trepositoryformatversion = 0\n"
	if s.format != "sha1" {
		config = "[core]\n\tbare = true\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = " + s.format + "\n"
	}
	alternates := alternate(filepath.Join(dir, ".git", "objects"))
	for _, folder := range s.borrowed {
		alternates += alternate(folder)
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config, "objects/info/alternates": alternates}
	if shallow, err := readFile(filepath.Join(s.common, "shallow")); err == nil {
		files["shallow"] = string(shallow)
	}
	for _, folder := range []string{"objects/info", "objects/pack", "refs"} {
		if err := os.MkdirAll(filepath.Join(fresh, folder), 0o700); err != nil {
			return m, err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), []byte(text), 0o600); err != nil {
			return m, err
		}
	}
	if !gits {
		if err := s.bringLarge(ctx, dir); err != nil {
			return m, err
		}
	}
	quarantine, err := os.MkdirTemp(s.objects, "tmp_objdir-incoming-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(quarantine)) }()
	if err := os.Mkdir(filepath.Join(quarantine, "pack"), 0o700); err != nil {
		return m, err
	}
	g := s.git
	g.env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+quarantine, "GIT_QUARANTINE_PATH="+quarantine, alsoIn(s.objects),
		"GIT_NO_LAZY_FETCH=1")
	in := c.within(s, dir)
	in.read = append(slices.Clone(in.read), fresh)
	if err := in.pipe(ctx, g, fresh, tip, start); err != nil {
		return m, err
	}
	if !gits {
		args := []string{"--objects", "--no-object-names", "--exclude-promisor-objects", "--reverse", "--topo-order", tip, "--not", start}
		if m.commits, err = g.commits(ctx, append(append(args, others...), "--")...); err != nil {
			return m, fmt.Errorf("the work is not complete: %w", err)
		}
		steps := m.steps(start)
		if m.shown, m.cut, err = g.patches(ctx, steps); err != nil {
			return m, fmt.Errorf("see what commits changed: %w", err)
		}
		if m.cut || slices.ContainsFunc(steps, func(s step) bool { return s.merge }) { // else each file is shown that others lack
			paths := &counted{most: maxPaths}
			if err := g.write(ctx, paths, "ls-tree", "-r", "-z", "--name-only", tip); err != nil {
				return m, errors.Join(paths.err(), err)
			}
		}
	}
	packs, err := filepath.Glob(plain.GlobIn(quarantine, "pack/*"))
	if err != nil {
		return m, err
	}
	// .rev, .pack, and last .idx, which makes it one.
	slices.SortFunc(packs, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
	for _, path := range packs {
		if err := os.Rename(path, filepath.Join(s.objects, "pack", filepath.Base(path))); err != nil {
			return m, err
		}
	}
	return m, nil
}

// pipe has git in the clone pack, and git outside index what comes.
func (i inner) pipe(ctx context.Context, g git, fresh, tip, start string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, insideTime, fmt.Errorf("time-out after %v", insideTime))
	defer cancel()
	packing, err := i.command(ctx, "--git-dir="+fresh, "--no-replace-objects", "pack-objects", "--revs", "--thin", "--stdout", "-q",
		"--delta-base-offset")
	if err != nil {
		return err
	}
	whole := "--strict"
	promises := func(s setting) bool {
		return strings.HasSuffix(s.key, ".promisor") || s.key == "extensions.partialclone"
	}
	if slices.ContainsFunc(g.settings, promises) {
		whole = "--fsck-objects" // what the remote promises need not be here
	}
	indexing := exec.CommandContext(ctx, "git", append(pins(), "-c", "core.bigFileThreshold=1m",
		"index-pack", "--stdin", "--fix-thin", whole, fmt.Sprintf("--max-input-size=%d", maxPack))...)
	indexing.Dir, indexing.Env = g.dir, g.env
	wanted := tip + "\n^" + start + "\n"
	var packSaid, indexSaid bytes.Buffer
	packing.Stdin, packing.Stderr, indexing.Stderr = strings.NewReader(wanted), &packSaid, &indexSaid
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	packing.Stdout, indexing.Stdin = writer, reader
	if err := startGroup(packing); err != nil {
		return errors.Join(err, reader.Close(), writer.Close())
	}
	started := startGroup(indexing)
	err = errors.Join(reader.Close(), writer.Close())
	var indexed error
	if indexed = started; started == nil {
		indexed = waitGroup(indexing)
	}
	packed := waitGroup(packing) // which ends when nobody reads what it writes
	if packed != nil && (indexed == nil || packSaid.Len() > 0) {
		return errors.Join(err, failedGit(ctx, packing, "pack-objects", packed, packSaid.String()))
	}
	return errors.Join(err, failedGit(ctx, indexing, "index-pack", indexed, indexSaid.String()))
}

// counted counts the names in what is written to it.
type counted struct{ n, most int }

func (c *counted) Write(p []byte) (int, error) {
	c.n += bytes.Count(p, []byte{0})
	return len(p), c.err()
}

func (c *counted) err() error {
	if c.n > c.most {
		return fmt.Errorf("more than %d paths in a commit", c.most)
	}
	return nil
}

// work returns a session's commits once they are home: those that neither the workspace, its upstream nor another run had.
func (c Clone) work(ctx context.Context, dir, branch string) (w fleet.Work, err error) {
	l, err := c.bringHome(ctx, dir, branch)
	w.Left = l.left(dir, branch)
	if l.home = err == nil; err != nil || l.tip == l.start {
		w.Known = err == nil
		c.remember(dir, l)
		return w, err
	}
	if err := c.catchUp(ctx, dir, branch, &l); err != nil {
		return w, err
	}
	v := l.before
	bases, err := v.bases(ctx)
	if err != nil {
		return w, err
	}
	others, err := c.others(ctx, v, branch)
	if err == nil && l.made.commits == nil {
		l.made, err = v.brought(ctx, l.tip, append([]string{l.start}, others...))
	}
	m := l.made
	if l.own = len(m.commits); err == nil && l.own == 0 { // the session has pushed what it made, or has only what it fetched
		m, err = v.brought(ctx, l.tip, slices.Concat([]string{l.start}, others[len(bases):], fetched(dir)))
	}
	if err != nil {
		return w, err
	}
	latest, err := v.latest(ctx)
	if err != nil {
		return w, err
	}
	had := append(bases, l.start, keepRef(dir)+"^@", "--exclude="+branch, "--branches")
	w, err = v.evidence(ctx, m.steps(l.start), m, upTo(l.start, had...))
	w.Left, w.Branch, w.Unmoved = l.left(dir, branch), branch, latest == l.start && l.own > 0
	if err == nil {
		c.remember(dir, l)
	}
	return w, err
}
