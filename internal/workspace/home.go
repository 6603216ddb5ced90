package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// look is what a session left in its clone.
type look struct {
	tip     string   // its last commit; empty: there is none
	changed bool     // there are changes that nobody committed, or files that nobody added
	stashed bool     // and changes that the session put aside
	aside   []string // the branches with commits that the tip lacks
}

// looks asks git in a clone what the session left there. The session's work is what HEAD leads to, also where that is
// no branch or another one; where nothing was committed there, it is that of the only branch with commits.
func (c Clone) looks(ctx context.Context, s source, dir, start string) (l look, err error) {
	in := c.within(s, dir)
	status, err := in.git(ctx, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--show-stash",
		"--untracked-files=normal", "--ignore-submodules=dirty")
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(status) {
		line = strings.TrimSuffix(line, "\n")
		id, isTip := strings.CutPrefix(line, "# branch.oid ")
		switch {
		case isTip && isID(id):
			l.tip = id
		case strings.HasPrefix(line, "# stash "):
			l.stashed = true
		case line != "" && line[0] != '#':
			l.changed = true
		}
	}
	if l.tip == "" {
		return l, nil
	}
	text, err := in.git(ctx, "for-each-ref", "--no-merged=HEAD", "--format=%(objectname) %(refname:short)", "refs/heads")
	others := strings.Split(text, "\n")
	if len(others) == 1 && l.tip == start {
		if id, _, found := strings.Cut(others[0], " "); found && isID(id) {
			l.tip = id
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

// isID reports whether a text is the id of an object.
func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// start is the commit at which a clone began. Empty: there was none. A clone without a pin is none of ours.
func (s source) start(ctx context.Context, dir string) (string, error) {
	if _, there, err := s.revision(ctx, keepRef(dir)); err != nil || !there {
		return "", errors.Join(err, fmt.Errorf("%s: no pin of it: %w", dir, errNoRepository))
	}
	id, _, err := s.revision(ctx, keepRef(dir)+"^1")
	return id, err
}

// bringHome brings the commits of a session into the workspace's repository, on the branch of its run, and returns what
// the session left. A branch that is not where the session began is somebody's: the commits do not come then.
//
// If we die in it, there is a folder ".home-…" beside the clone, or one "tmp_objdir-incoming-…" among the objects, both of which
// [Clone.Prune] and git remove; the branch is where it was, and the next try works.
func (c Clone) bringHome(ctx context.Context, dir, branch string) (l look, start string, err error) {
	s, err := c.source(ctx)
	if err != nil {
		return l, "", err
	}
	if start, err = s.start(ctx, dir); err != nil {
		return l, "", err
	}
	if l, err = c.looks(ctx, s, dir, start); err != nil || l.tip == "" || l.tip == start {
		return l, start, err
	}
	at, there, err := s.revision(ctx, heads+branch)
	if err != nil {
		return l, start, err
	}
	if there {
		// An error says that the tip is not here yet.
		if _, home, err := s.asks(ctx, "merge-base", "--is-ancestor", l.tip, at); err == nil && home {
			return l, start, nil
		}
	}
	if err := c.bring(ctx, s, dir, l.tip, start); err != nil {
		return l, start, err
	}
	return l, start, c.setRef(ctx, "bring work home", heads+branch, l.tip, at)
}

const (
	mostPack  = 2 << 30   // bytes of a session's work
	mostPaths = 2_000_000 // in a commit: a pack of a kilobyte can hold more than any disk
)

// bring copies what a commit in a clone has beyond another into the workspace's objects. Git in the clone packs it, in the
// box; git outside reads the pack from a pipe, checks each object, and puts it among its own when all of it is sound.
func (c Clone) bring(ctx context.Context, s source, dir, tip, start string) (err error) {
	fresh, err := os.MkdirTemp(filepath.Dir(dir), ".home-")
	if err != nil {
		return err
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
			return err
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	quarantine, err := os.MkdirTemp(s.objects, "tmp_objdir-incoming-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(quarantine)) }()
	if err := os.Mkdir(filepath.Join(quarantine, "pack"), 0o700); err != nil {
		return err
	}
	g := s.git
	g.env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+quarantine, "GIT_QUARANTINE_PATH="+quarantine, alsoIn(s.objects),
		"GIT_NO_LAZY_FETCH=1")
	in := c.within(s, dir)
	in.read = append(slices.Clone(in.read), fresh)
	if err := in.pipe(ctx, g, fresh, tip, start); err != nil {
		return err
	}
	args := []string{"rev-list", "--objects", "--quiet", tip}
	if start != "" {
		args = append(args, "^"+start)
	}
	if _, err := g.run(ctx, append(args, "--not", "--all")...); err != nil {
		return fmt.Errorf("the work is not complete: %w", err)
	}
	paths := &counted{most: mostPaths}
	if err := g.write(ctx, paths, "ls-tree", "-r", "-z", "--name-only", tip); err != nil {
		return errors.Join(paths.err(), err)
	}
	packs, err := filepath.Glob(plain.GlobIn(quarantine, "pack/*"))
	if err != nil {
		return err
	}
	// .rev, .pack, and last .idx, which makes it one.
	slices.SortFunc(packs, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
	for _, path := range packs {
		if err := os.Rename(path, filepath.Join(s.objects, "pack", filepath.Base(path))); err != nil {
			return err
		}
	}
	return nil
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
	indexing := exec.CommandContext(ctx, "git", append(pins(), "-c", "core.bigFileThreshold=1m",
		"index-pack", "--stdin", "--fix-thin", "--strict", fmt.Sprintf("--max-input-size=%d", mostPack))...)
	indexing.Dir, indexing.Env = g.dir, g.env
	wanted := tip + "\n"
	if start != "" {
		wanted += "^" + start + "\n"
	}
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

// leftovers brings home what a session left uncommitted, as a commit beside its branch, for the next session at the work.
// Empty: there was nothing.
func (c Clone) leftovers(ctx context.Context, dir string) (id string, err error) {
	s, err := c.source(ctx)
	if err != nil {
		return "", err
	}
	start, err := s.start(ctx, dir)
	if err != nil {
		return "", err
	}
	l, err := c.looks(ctx, s, dir, start)
	if err != nil || !l.changed || l.tip == "" {
		return "", err
	}
	in := c.within(s, dir)
	in.env = append(asStint(), "GIT_INDEX_FILE="+filepath.Join(dir, ".git", "stint-index"))
	tree := ""
	for _, args := range [][]string{{"read-tree", l.tip}, {"add", "--all"}, {"write-tree"}} {
		if tree, err = in.git(ctx, append([]string{"-c", noHooks}, args...)...); err != nil {
			return "", err
		}
	}
	if id, err = in.git(ctx, "commit-tree", "-m", "stint: what a session left uncommitted", "-p", l.tip, tree); err != nil {
		return "", err
	}
	if !isID(id) {
		return "", fmt.Errorf("git commit-tree: want an id, got %q", said(id))
	}
	if err := c.bring(ctx, s, dir, id, start); err != nil {
		return "", err
	}
	return id, c.setRef(ctx, "keep what was left", wipRef(dir), id)
}

const noHooks = "core.hooksPath=/dev/null"

// wipRef is what a run left uncommitted.
func wipRef(dir string) string { return "refs/stint/wip/" + filepath.Base(dir) }

// work is what a session's commits are, once they are home: those that neither the workspace, its upstream nor another run had.
func (c Clone) work(ctx context.Context, dir, branch string) (w fleet.Work, err error) {
	l, start, err := c.bringHome(ctx, dir, branch)
	w.Aside = l.aside
	if err != nil || l.tip == "" || l.tip == start {
		w.Known = err == nil
		return w, err
	}
	own := filepath.Join(dir, ".git")
	if exists(filepath.Join(own, "FETCH_HEAD")) || exists(filepath.Join(own, "logs", "refs", "remotes")) {
		// It fetched or pushed: what it has of others, and they of it, is known to the workspace by now.
		if _, err := c.Fetch(ctx, fleet.RunID(filepath.Base(dir))); err != nil {
			return w, err
		}
	}
	s, err := c.source(ctx)
	if err != nil {
		return w, err
	}
	t := &turn{git: s.git, layout: s.layout, clone: c}
	args := []string{"--reverse", "--topo-order", l.tip, "--not"}
	if start != "" {
		args = append(args, start)
	}
	branches, err := t.branches(ctx)
	if err != nil {
		return w, err
	}
	for _, b := range branches {
		if b.name != branch {
			args = append(args, b.tip)
		}
	}
	bases, err := t.bases(ctx)
	if err != nil {
		return w, err
	}
	list, err := t.commits(ctx, append(slices.Concat(args, bases), "--")...)
	if err == nil && len(list) == 0 { // the session has pushed what it made
		list, err = t.commits(ctx, append(args, "--")...)
	}
	if err != nil {
		return w, err
	}
	var steps []step
	for _, commit := range list {
		steps = append(steps, step{from: commit.before(start), to: commit.id, merge: len(commit.parents) > 1})
	}
	aside := w.Aside
	w, err = t.evidence(ctx, steps, upTo(start, append(bases, keepRef(dir)+"^@", "--branches")...))
	w.Aside, w.Branch = aside, branch
	return w, err
}
