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
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Changes is what is left at a run's end of what its commits changed.
type Changes struct {
	Commits    []string // that stand: a branch, a tag or a HEAD holds them; oldest first
	Branch     string   // that holds the last of them; empty: none does
	Files      int      // different ones
	Tests      int      // of the files, those that are tests by their names
	Insertions int      // lines
	Deletions  int
	Cut        bool // there are more files and lines than were counted
	Unknown    int  // commits that the run made and that nobody can name
}

// Changes finds the commits that a run made, wherever in the clone, and what is left of
// what they changed: commits that are not to be reached any more count for nothing, those
// that take each other back leave nothing, and neither blank space nor modes are a change.
// The commit that a rebase made stands for the old one. A commit that may be a neighbour's is left
// out and counted as unknown. In other repositories, such as those that tests make, only
// what lies in the folder that the run works in, or in the workspace, is its work.
//
// Git reports when a command of the run began and ended, not what it committed. A commit
// of the run is one that the log of its work tree's HEAD has as committed and whose
// object was written in that time. In a worktree of the run's own there are no others.
// Replacements of objects in the repository are not believed: the run may have made them.
func (c Clone) Changes(ctx context.Context, dir Folder, files fleet.RunFiles) (Changes, error) {
	commands, err := c.committing(files)
	if err != nil {
		return Changes{}, err
	}
	var (
		all    Changes
		net    = net{}
		trees  []string // in the order of their first commits
		byTree = map[string][]command{}
	)
	for _, command := range commands {
		if byTree[command.worktree] == nil {
			trees = append(trees, command.worktree)
		}
		byTree[command.worktree] = append(byTree[command.worktree], command)
	}
	for _, top := range trees {
		switch inside := dir.meets(top) || c.Dir.meets(top); {
		case !exists(top):
			if !inside {
				continue
			}
			in, err := c.hasCommitsOf(ctx, byTree[top])
			if err != nil {
				return Changes{}, fmt.Errorf("find what run committed in %s, which is gone: %w", top, err)
			}
			if in {
				all.Unknown += len(byTree[top])
			}
			continue
		case !inside && !c.has(ctx, top):
			continue
		}
		g, err := c.reported(ctx, top)
		if err != nil {
			return Changes{}, fmt.Errorf("find what run committed in %s: %w", top, err)
		}
		if err := g.asItIs().addWork(ctx, &all, net, byTree[top]); err != nil {
			return Changes{}, fmt.Errorf("find what run committed in %s: %w", top, err)
		}
	}
	net.count(&all)
	return all, nil
}

// hasCommitsOf reports whether the clone has commits that the commands of a folder that is gone may have made. Else it was a
// repository of its own, such as a test makes, and its commits are gone with it.
func (c Clone) hasCommitsOf(ctx context.Context, commands []command) (bool, error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if errors.Is(err, errNoRepository) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return false, err
	}
	list, err := g.asItIs().commits(ctx, append([]string{"--max-count", logged}, append(holders(), "--")...)...)
	return slices.ContainsFunc(list, func(commit commit) bool {
		return slices.ContainsFunc(spans(commands), func(s span) bool { return s.has(written(objects, commit.id), commit.dated) })
	}), err
}

// has reports whether a folder is in a work tree of the clone.
func (c Clone) has(ctx context.Context, top string) bool {
	_, own, err := c.git(ctx, string(c.Dir))
	_, its, itsErr := c.git(ctx, top)
	return err == nil && itsErr == nil && own.common == its.common
}

// reported is git in a work tree that the session's report names: in a run's worktree of the
// clone, or in whatever repository git finds there.
func (c Clone) reported(ctx context.Context, top string) (git, error) {
	g, _, err := c.git(ctx, top)
	return g, err
}

// addWork adds what the commands did in one work tree.
func (g git) addWork(ctx context.Context, all *Changes, net net, commands []command) error {
	steps, unknown, err := g.steps(ctx, commands)
	if err != nil {
		return err
	}
	all.Unknown += unknown
	if steps, err = g.standing(ctx, steps); err != nil || len(steps) == 0 {
		return err
	}
	for _, s := range steps {
		all.Commits = append(all.Commits, s.to)
	}
	if all.Branch, err = g.branchWith(ctx, steps[len(steps)-1].to); err != nil {
		return err
	}
	for _, s := range joined(steps) {
		cut, err := g.addNet(ctx, net, s)
		if err != nil {
			return fmt.Errorf("see what commit %s changed: %w", s.to, err)
		}
		all.Cut = all.Cut || cut
	}
	return nil
}

// committing are the run's commands that made a commit, in the order of their ends.
func (c Clone) committing(files fleet.RunFiles) ([]command, error) {
	commands, err := readTrace(files)
	if err != nil {
		return nil, err
	}
	var made []command
	for _, command := range commands {
		if command.commits() {
			made = append(made, *command)
		}
	}
	slices.SortFunc(made, func(a, b command) int { return a.ended.Compare(b.ended) })
	return made, nil
}

// step is a commit and what it is compared with; an empty from is its first parent.
type step struct {
	from, to string
	merge    bool
}

// emptyTree is what git calls a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

const (
	// logged bounds how far back the log of HEAD is read: more than a session commits.
	logged = "1000"
	// tick is how far the time of a file may lag behind the clock: the kernel takes it
	// from its timer, which has 100 ticks a second at the slowest.
	tick = 12 * time.Millisecond
)

// span is a stretch of time in which commands of the run may have written commits.
type span struct {
	began, ended time.Time
	commits      int      // commands that make one commit each
	subjects     []string // of their messages, as far as their command lines say
	series       bool     // there is one that may make several
	found        []entry
}

// has reports whether a commit was made in that time: by when its object was written or,
// once that is in a pack, by its own date, which has no parts of a second.
func (s span) has(written, dated time.Time) bool {
	if written.IsZero() {
		return !dated.Before(s.began.Truncate(time.Second)) && !dated.After(s.ended)
	}
	return !written.Before(s.began) && !written.After(s.ended)
}

// entry is one of the log of a HEAD.
type entry struct {
	before, commit, action string
	dated                  time.Time // by its committer
}

func (e entry) single() bool { return strings.HasPrefix(e.action, "commit") }

// subject is the first line of its message.
func (e entry) subject() string {
	_, line, _ := strings.Cut(e.action, ": ")
	return strings.TrimSpace(line)
}

// spans puts commands together whose times overlap.
func spans(commands []command) (all []span) {
	for _, c := range slices.SortedFunc(slices.Values(commands), func(a, b command) int { return a.began.Compare(b.began) }) {
		began := c.began.Add(-tick)
		if len(all) == 0 || began.After(all[len(all)-1].ended) {
			all = append(all, span{began: began, ended: c.ended})
		}
		last := &all[len(all)-1]
		if c.ended.After(last.ended) {
			last.ended = c.ended
		}
		if c.name() == "commit" {
			last.commits++
			last.subjects = append(last.subjects, c.subject)
		} else {
			last.series = true
		}
	}
	return all
}

// settle returns what was found, and how many commands nothing was found for. If there are more commits than the commands
// can have made, some are a neighbour's of the same instant: then those are the run's whose subjects its commands have. If
// these are too many, too, nobody knows which is which, and none is the run's for certain.
func (s span) settle() (own []entry, unknown int) {
	singles, names := plain.Kept(s.found, entry.single), func(entry) bool { return true }
	if len(singles) > s.commits {
		names = func(e entry) bool { return e.subject() != "" && slices.Contains(s.subjects, e.subject()) }
		singles = plain.Kept(singles, names)
	}
	own = plain.Kept(s.found, func(e entry) bool {
		if e.single() {
			return len(singles) <= s.commits && names(e)
		}
		return s.series
	})
	return own, max(0, s.commits-len(own))
}

// steps are the commits that commands of one work tree made. An amended commit of the
// run's own is replaced, and counts once.
func (g git) steps(ctx context.Context, commands []command) (steps []step, unknown int, err error) {
	entries, err := g.log(ctx)
	if err != nil {
		return nil, 0, err
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return nil, 0, err
	}
	all := spans(commands)
	for _, e := range entries {
		at := written(objects, e.commit)
		for i, s := range all {
			if committed(e.action) && s.has(at, e.dated) {
				all[i].found = append(all[i].found, e)
			}
		}
	}
	for _, s := range all {
		own, lost := s.settle()
		unknown += lost
		for _, e := range own {
			amended := slices.IndexFunc(steps, func(s step) bool { return s.to == e.before })
			switch {
			case !strings.HasPrefix(e.action, "commit (amend)"):
				steps = append(steps, step{to: e.commit})
			case amended >= 0:
				steps[amended].to = e.commit
			default:
				steps = append(steps, step{from: e.before, to: e.commit})
			}
		}
	}
	return steps, unknown, nil
}

// log is HEAD's, the oldest entry first.
func (g git) log(ctx context.Context) (entries []entry, err error) {
	_, born, err := g.revision(ctx, "HEAD")
	if err != nil || !born {
		return nil, err
	}
	text, err := g.run(ctx, "log", "--walk-reflogs", "--max-count", logged, "--format=%H %ct %gs", "HEAD", "--")
	for line := range strings.Lines(text) {
		commit, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, action, _ := strings.Cut(rest, " ")
		if len(entries) > 0 {
			entries[len(entries)-1].before = commit
		}
		entries = append(entries, entry{commit: commit, action: action, dated: date(seconds)})
	}
	slices.Reverse(entries)
	return entries, err
}

// committed reports whether an entry of HEAD's log is of a commit that was made then and
// there, not moved or replayed.
func committed(action string) bool {
	name, _, _ := strings.Cut(action, ":")
	return slices.Contains([]string{
		"commit", "commit (initial)", "commit (amend)", "commit (merge)", "commit (cherry-pick)", "cherry-pick", "revert", "am",
	}, name)
}

// date is a time as git writes it.
func date(seconds string) time.Time {
	n, _ := strconv.ParseInt(seconds, 10, 64) // none is long ago
	return time.Unix(n, 0)
}

// written is when a commit's object was; zero: it is in a pack, or nowhere.
func written(objects, commit string) time.Time {
	if len(commit) < 3 {
		return time.Time{}
	}
	info, err := os.Stat(filepath.Join(objects, commit[:2], commit[2:]))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
