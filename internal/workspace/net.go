package workspace

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"stint/internal/fleet"
)

// net is the remaining change of each file once the lines are taken off that a later step took
// back. It compares lines and not states of the file, because neighbours may have committed to
// the same file in between.
type net map[string]*delta

// delta counts the lines that were inserted and deleted, without their blank space. A text that
// begins with NUL is no line, see [mark].
type delta struct{ inserted, deleted map[string]int }

func newDelta() *delta { return &delta{inserted: map[string]int{}, deleted: map[string]int{}} }

// mark stands for a change that has no lines: that a file is there, or a state of one
// that is not text.
func mark(what string) string { return "\x00" + what }

// add adds what one step changed. Lines that it moved stand in it as both, and do not
// cancel each other.
func (n net) add(step net) {
	for file, s := range step {
		d := n[file]
		if d == nil {
			d = newDelta()
			n[file] = d
		}
		cancel(s.inserted, d.deleted)
		cancel(s.deleted, d.inserted)
		for line, count := range s.inserted {
			d.inserted[line] += count
		}
		for line, count := range s.deleted {
			d.deleted[line] += count
		}
	}
}

// cancel takes off what is in both.
func cancel(later, earlier map[string]int) {
	for line, count := range later {
		both := min(count, earlier[line])
		later[line] -= both
		earlier[line] -= both
	}
}

// left reports whether there is a change.
func (d *delta) left() bool {
	inserted, marked := sum(d.inserted)
	deleted, alsoMarked := sum(d.deleted)
	return inserted+deleted > 0 || marked || alsoMarked
}

// count adds up what is left. Lines count that the session wrote: not those of copies, of a file that has another name now, or of
// files that a program writes. A test is a file with such a line.
func (n net) count(w *fleet.Work, copied net, generated map[string]bool) {
	tests, moved := testNames(), map[string]int{}
	files := slices.DeleteFunc(slices.Sorted(maps.Keys(n)), func(file string) bool { return !n[file].left() })
	for _, file := range files {
		d := n[file]
		if c := copied[file]; c != nil {
			cancel(d.inserted, c.inserted)
			cancel(d.deleted, c.deleted)
		}
		if d.deleted[mark("file")] > 0 {
			for line, count := range d.deleted {
				moved[line] += count
			}
			d.deleted = nil
		}
	}
	removed, _ := sum(moved)
	for _, file := range files {
		d := n[file]
		if d.inserted[mark("file")] > 0 {
			cancel(d.inserted, moved)
		}
		if w.Files++; generated[file] {
			w.Generated++
			continue
		}
		inserted, _ := sum(d.inserted)
		deleted, _ := sum(d.deleted)
		w.Insertions, w.Deletions = w.Insertions+inserted, w.Deletions+deleted
		if inserted > 0 && tests.MatchString(file) {
			w.Tests++
		}
	}
	deleted, _ := sum(moved)
	w.Deletions += deleted
	w.Renamed = deleted < removed && w.Insertions+w.Deletions == 0
}

func sum(lines map[string]int) (total int, marked bool) {
	for line, count := range lines {
		if strings.HasPrefix(line, "\x00") {
			marked = marked || count > 0
		} else {
			total += count
		}
	}
	return total, marked
}

// maxPatch bounds how many bytes of a change are read: many times what counts for a grade.
const maxPatch = 4 << 20

// patchOptions have git show changes in the same way in each command, whatever the configuration says, and run no program for it.
func patchOptions() []string {
	return []string{
		"-r", "--patch", "--unified=0", "--inter-hunk-context=0", "--diff-algorithm=myers", "--ignore-submodules=dirty",
		"--submodule=short", "--full-index", "--ignore-all-space", "--ignore-blank-lines", "--no-renames", "--no-ext-diff", "--no-textconv",
		"--no-color", "--src-prefix=a/", "--dst-prefix=b/",
	}
}

// patches show what steps changed that are no merges, each below its id; cut: there is more than [maxPatch].
func (g git) patches(ctx context.Context, steps []step) (text string, cut bool, err error) {
	var pairs []string
	for _, s := range steps {
		if !s.merge {
			pairs = append(pairs, strings.TrimSpace(s.to+" "+s.from))
		}
	}
	if len(pairs) == 0 {
		return "", false, nil
	}
	args := append([]string{"-c", "core.quotePath=false", "diff-tree", "--stdin", "--root"}, patchOptions()...)
	return g.feed(lines(pairs)).head(ctx, maxPatch, args...)
}

// resolved are the files in which a merge differs from each of its parents, whose conflicts were solved in it: others did the rest.
func (g git) resolved(ctx context.Context, merge string) (net, error) {
	files, err := g.names(ctx, "diff-tree", "-c", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames", merge)
	n := net{}
	for _, file := range files {
		n[file] = newDelta()
		n[file].inserted[mark(merge)] = 1
	}
	return n, err
}

// between returns the difference of two commits, in these files or in all, and reads at most [maxPatch] bytes.
func (g git) between(ctx context.Context, from, to string, files ...string) (net, error) {
	command := []string{"-c", "core.quotePath=false", "--literal-pathspecs", "diff-tree"}
	args := slices.Concat(command, patchOptions(), []string{from, to, "--"}, files)
	patch, _, err := g.head(ctx, maxPatch, args...)
	return parsePatches(patch)[""], err
}

// parsePatches reads what git prints of changes: the id of a commit, unless there is only one change, then for each file a header and
// its lines.
func parsePatches(text string) map[string]net {
	n, d, body := net{}, newDelta(), false
	all := map[string]net{"": n}
	before, after := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case isID(line):
			n, body = net{}, false
			all[line] = n
		case strings.HasPrefix(line, "diff --git "):
			d, body = newDelta(), false
			n[fileOf(strings.TrimPrefix(line, "diff --git "))] = d
		case strings.HasPrefix(line, "@@ "):
			body = true
		case body:
			d.line(line)
		case strings.HasPrefix(line, "new file mode "):
			d.inserted[mark("file")]++
		case strings.HasPrefix(line, "deleted file mode "):
			d.deleted[mark("file")]++
		case strings.HasPrefix(line, "index "):
			ids, _, _ := strings.Cut(strings.TrimPrefix(line, "index "), " ")
			before, after, _ = strings.Cut(ids, "..")
		case strings.HasPrefix(line, "Binary files "):
			d.deleted[mark(before)]++
			d.inserted[mark(after)]++
		}
	}
	return all
}

// line counts a line that was inserted or deleted.
func (d *delta) line(line string) {
	lines := d.inserted
	if strings.HasPrefix(line, "-") {
		lines = d.deleted
	} else if !strings.HasPrefix(line, "+") {
		return // "\ No newline at end of file"
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == 0 {
			return -1
		}
		return r
	}, line[1:])
	if text != "" {
		lines[text]++
	}
}

// fileOf is the name in "a/name b/name".
func fileOf(both string) string {
	half := both[len(both)/2+1:] // the blank between the two is in the middle
	if name, err := strconv.Unquote(half); err == nil {
		half = name
	}
	return strings.TrimPrefix(half, "b/")
}

// testNames matches the names of tests, as most languages have them: in a folder of tests,
// or with test or spec as a word of the file's own name. It is compiled when a run has
// committed, as most processes look at none.
func testNames() *regexp.Regexp {
	return regexp.MustCompile(`(?i:(^|/)(tests?|__tests__|specs?|testdata)/|(^|[/._-])(tests?|specs?)([._-][^/]*)?$)|[a-z0-9](Tests?|Spec)\.[^/.]+$`)
}

// Diff returns git's text of commits, oldest first, each with its message and its change. It is
// cut after the most bytes. Commits that the clone does not have, such as those of a repository
// below the workspace, are left out. No program that the repository names is run.
func (c Clone) Diff(ctx context.Context, revisions []string, most int) (text string, cut bool, err error) {
	if len(revisions) == 0 {
		return "", false, nil
	}
	args := []string{
		"-c", "core.quotePath=false", "show", "--ignore-missing", "--no-color", "--no-notes", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--ignore-submodules=dirty", "--format=medium", "--stat", "--patch",
	}
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", false, err
	}
	return g.asItIs().head(ctx, most, append(append(args, revisions...), "--")...)
}

// Since returns the change of a branch's tip since the branch left the target, in the form of [Clone.Diff].
func (c Clone) Since(ctx context.Context, target, tip string, most int) (text string, cut bool, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", false, err
	}
	return g.asItIs().head(ctx, most, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--ignore-submodules=dirty", "--end-of-options", target+"..."+tip, "--")
}

// Pager is the pager of the operator's own configuration of git, or "". The repository's is not
// followed: that is a program.
func (c Clone) Pager(ctx context.Context) (pager string, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	for _, s := range g.settings {
		if s.key == "core.pager" && !s.repositorys() {
			pager = s.value
		}
	}
	return pager, err
}
