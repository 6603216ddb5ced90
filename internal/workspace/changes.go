package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"stint/internal/fleet"
)

// reflogMark begins what git of a session writes to reflogs in a shared workspace, before the run's id.
const reflogMark = "stint/"

// reflogMarked is an environment variable for an agent in a shared workspace: each entry that its git
// writes to a reflog names the run. Git writes the mark in the place of a command's name, so that "git checkout -"
// does not know the branch before.
func reflogMarked(run fleet.RunID) string { return "GIT_REFLOG_ACTION=" + reflogMark + string(run) }

// entry is a line of a reflog: a HEAD or a branch went from one commit to another.
type entry struct {
	old, id string
	at      time.Time   // to the second
	run     fleet.RunID // whose git did it; empty: a person's, or stint's own
	action  string      // after the mark: ": subject" of a commit, " (pick): subject" in a rebase
}

func parseEntry(line string) (e entry, ok bool) {
	head, action, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
	fields := strings.Fields(head) // two ids, a name, an address, a time and its zone
	if len(fields) < 5 {
		return entry{}, false
	}
	e = entry{old: fields[0], id: fields[1], at: date(fields[len(fields)-2]), action: action}
	if rest, is := strings.CutPrefix(action, reflogMark); is {
		end := strings.IndexAny(rest+":", " :")
		e.run, e.action = fleet.RunID(rest[:end]), rest[end:]
	}
	return e, true
}

// moved reports whether the entry only went to a commit that was there.
func (e entry) moved() bool {
	forward := e.run == "" && strings.HasSuffix(e.action, "ast-forward")
	if forward || slices.Contains([]string{"", ": Fast-forward", ": updating HEAD"}, e.action) {
		return true
	}
	moves := []string{" (start)", " (finish)", " (abort)"}
	if e.run == "" {
		moves = []string{"checkout:", "reset:", "branch:", "clone:"}
	}
	return slices.ContainsFunc(moves, func(m string) bool { return strings.HasPrefix(e.action, m) })
}

// copied reports whether the entry is of a rebase, which makes commits anew that others may have made.
func (e entry) copied() bool {
	command, _, _ := strings.Cut(e.action, ": ")
	return slices.ContainsFunc([]string{" (pick)", " (reword)", " (continue)"}, func(s string) bool { return strings.HasSuffix(command, s) })
}

// maxReflog bounds what is read of a reflog, its last 10,000 entries or more, and maxReflogs what is read of all: a session may have
// made any number of files there.
const maxReflog, maxReflogs = 4 << 20, 64 << 20

// reflogs are the entries of all HEADs and branches of the clone, by time.
func (l layout) reflogs() (list []entry, err error) {
	if exists(filepath.Join(l.common, "reftable")) {
		return nil, fmt.Errorf("%s keeps its reflogs in a reftable, where no session's commits are found: "+`use workspace = "clone"`, l.common)
	}
	logs := []string{filepath.Join(l.common, "logs", "HEAD")}
	trees, err := os.ReadDir(filepath.Join(l.common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, tree := range trees {
		logs = append(logs, filepath.Join(l.common, "worktrees", tree.Name(), "logs", "HEAD"))
	}
	branches := filepath.Join(l.common, "logs", "refs", "heads")
	err = filepath.WalkDir(branches, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			logs = append(logs, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	left := int64(maxReflogs)
	for _, log := range logs {
		text, err := lastOf(log, min(maxReflog, left))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		left -= int64(len(text))
		for line := range strings.Lines(text) {
			if e, ok := parseEntry(line); ok {
				list = append(list, e)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return a.at.Compare(b.at) })
	return list, nil
}

// lastOf is the end of a file, from the first line on that is whole. A session may have put a pipe, or a link to what is not its
// own, in the file's place.
func lastOf(path string, most int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(fmt.Errorf("read %s: not a regular file", path), err)
	}
	from := max(0, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(f, from, most))
	if from > 0 {
		_, rest, _ := strings.Cut(string(text), "\n")
		return rest, err
	}
	return string(text), err
}

// step is a commit and what it is compared with; an empty from is that of a repository's first commit.
type step struct {
	from, to string
	merge    bool
	replaces string // the commit of the same session that it was made from, by an amendment or a rebase
}

// stepsOf are the commits that a run made, oldest first.
//
// A commit is that of the first entry that made it: that went to it from its parent, or from a commit in its place, as an
// amendment does. Who rebases the commit of another makes none of his own.
func stepsOf(run fleet.RunID, entries []entry, commits map[string]commit) (steps []step) {
	type making struct {
		commit
		run  fleet.RunID
		anew string // the commit that a rebase made of it
	}
	var made []making
	known, last := map[string]bool{}, "" // where the entry before went
	find := func(id string) int { return slices.IndexFunc(steps, func(s step) bool { return s.to == id }) }
	for _, e := range entries {
		c, there := commits[e.id]
		before, found := commits[e.old]
		onTop := slices.Contains(c.parents, e.old) || len(c.parents) == 0 && !found
		inPlace := !onTop && found && slices.Equal(before.parents, c.parents)
		root := last
		last = e.id
		if known[e.id] || !there || e.moved() || e.old == e.id || !onTop && !inPlace {
			continue
		}
		known[e.id] = true
		owner, s := e.run, step{to: e.id, merge: len(c.parents) > 1, from: c.before(root)}
		if e.copied() {
			i := slices.IndexFunc(made, func(m making) bool { return m.author == c.author && m.subject == c.subject && m.anew == "" })
			if i >= 0 {
				made[i].anew, owner, s.replaces = c.id, made[i].run, made[i].id
			}
		}
		made = append(made, making{commit: c, run: owner})
		if owner != run {
			continue
		}
		if inPlace && s.replaces == "" {
			s.from = e.old
			if i := find(e.old); i >= 0 {
				s.from, s.replaces = steps[i].from, e.old
			}
		}
		steps = append(steps, s)
	}
	return steps
}

// shared returns the work of a run in the workspace, where others commit as well. It ignores replacement objects: the run may have
// made them.
func (c Clone) shared(ctx context.Context, run fleet.RunID) (w fleet.Work, err error) {
	t, err := c.looking(ctx)
	if errors.Is(err, errNoRepository) {
		return w, nil
	} else if err != nil {
		return w, err
	}
	t.git = t.asItIs()
	entries, err := t.reflogs()
	if err != nil {
		return w, err
	}
	commits, err := t.named(ctx, run, entries)
	if err != nil {
		return w, err
	}
	steps := stepsOf(run, entries, commits)
	made := len(slices.DeleteFunc(slices.Clone(steps), func(s step) bool { return s.replaces != "" }))
	if made == 0 {
		return w, nil
	}
	gone, err := t.gone(ctx, steps)
	if err != nil {
		return fleet.Work{Commits: made}, err
	}
	steps = slices.DeleteFunc(steps, func(s step) bool { return slices.Contains(gone, s.to) })
	steps = slices.DeleteFunc(steps, func(s step) bool {
		return slices.ContainsFunc(steps, func(later step) bool { return later.replaces == s.to })
	})
	m := brought{}
	if m.shown, m.cut, err = t.patches(ctx, steps); err != nil {
		return fleet.Work{Commits: made}, err
	}
	w, err = t.evidence(ctx, steps, m, upTo("HEAD", "--branches", "--remotes", notAfter(commits, steps)))
	if err == nil && len(steps) > 0 {
		w.Branch, err = t.branchWith(ctx, steps[len(steps)-1].to)
	}
	w.Commits, w.Known = made, err == nil
	return w, err
}

// named are the commits of the entries by which a run's own are found: those that it named, and those that rebases made.
func (g git) named(ctx context.Context, run fleet.RunID, entries []entry) (map[string]commit, error) {
	wanted := map[string]bool{}
	for _, e := range entries {
		if e.run == run || e.copied() {
			wanted[e.id] = true
		}
	}
	var ids []string
	for _, e := range entries {
		if wanted[e.id] {
			ids = append(ids, e.id, e.old)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return strings.Trim(id, "0") == "" })
	list, err := g.feed(lines(ids)).commits(ctx, "--no-walk=unsorted", "--ignore-missing", "--stdin")
	known := make(map[string]commit, len(list))
	for _, c := range list {
		known[c.id] = c
	}
	return known, err
}

// evidence returns the net change of some commits. Commits that take each other back leave nothing; blank space and modes are no
// change. Lines of copies do not count: others are the arguments for a list of commits that may be their originals.
func (g git) evidence(ctx context.Context, steps []step, m brought, others []string) (w fleet.Work, err error) {
	for _, s := range steps[max(0, len(steps)-fleet.MostCommits):] {
		w.Revisions = append(w.Revisions, s.to)
	}
	w.Known, w.Commits, w.Standing = true, len(steps), len(steps)
	made, again := parsePatches(m.shown), parsePatches(m.shown)
	earlier, err := g.earlier(ctx, m.shown, made, others)
	if err != nil {
		return w, fmt.Errorf("see which commits are copies: %w", err)
	}
	all, copied, some := net{}, net{}, false
	for _, s := range steps {
		n := made[s.to]
		if s.merge {
			if n, err = g.resolved(ctx, s.to); err != nil {
				return w, fmt.Errorf("see what merge %s changed: %w", s.to, err)
			}
		}
		some = some || slices.ContainsFunc(slices.Collect(maps.Values(n)), (*delta).left)
		all.add(n)
		if original := earlier.originals[s.to]; original != "" {
			copied.add(again[s.to])
			w.Copies, w.CopyOf = w.Copies+1, original
		}
	}
	all.count(&w, copied, earlier.generated)
	w.Cut, w.TakenBack = m.cut, some && w.Files == 0
	return w, nil
}

// date is a time as git writes it.
func date(seconds string) time.Time {
	n, _ := strconv.ParseInt(seconds, 10, 64) // none is long ago
	return time.Unix(n, 0)
}
