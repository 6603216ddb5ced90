package workspace

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"stint/internal/fleet"
)

// net is what remains of the changes to each file once those are taken off that a later
// step took back. Neighbours may have committed in between, to the same file, too: so it
// is the lines that are compared, not the states of the file.
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

// count adds up what is left.
func (n net) count(w *fleet.Work) {
	tests := testNames()
	for file, d := range n {
		inserted, marked := sum(d.inserted)
		deleted, alsoMarked := sum(d.deleted)
		if inserted+deleted == 0 && !marked && !alsoMarked {
			continue
		}
		w.Files++
		w.Insertions += inserted
		w.Deletions += deleted
		if tests.MatchString(file) {
			w.Tests++
		}
	}
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

// mostPatch is how much of a change is read: many times what counts for a grade.
const mostPatch = 4 << 20

// addNet adds what one step changed. The repository's word on how to show its files is not
// followed: that may be a program.
//
// A merge adds only the files in which it differs from each of its parents, whose conflicts
// were solved in it: others did the rest.
func (g git) addNet(ctx context.Context, n net, s step) (cut bool, err error) {
	if s.merge {
		files, err := g.names(ctx, "diff-tree", "-c", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames", s.to)
		step := net{}
		for _, file := range files {
			step[file] = newDelta()
			step[file].inserted[mark(s.to)] = 1
		}
		n.add(step)
		return false, err
	}
	step, cut, err := g.between(ctx, s.from, s.to)
	n.add(step)
	return cut, err
}

// between is what differs from one commit to another, in these files or in all; cut: there is more than [mostPatch].
func (g git) between(ctx context.Context, from, to string, files ...string) (n net, cut bool, err error) {
	args := []string{
		"-c", "core.quotePath=false", "--literal-pathspecs", "diff-tree", "-r", "--patch", "--unified=0", "--ignore-submodules=dirty", "--full-index",
		"--ignore-all-space", "--ignore-blank-lines", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", from, to, "--",
	}
	patch, cut, err := g.head(ctx, mostPatch, append(args, files...)...)
	return parsePatch(patch), cut, err
}

// parsePatch reads what git prints of a change: for each file a header, then its lines.
func parsePatch(patch string) net {
	n, d, body := net{}, newDelta(), false
	before, after := "", ""
	for line := range strings.Lines(patch) {
		line = strings.TrimSuffix(line, "\n")
		switch {
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
	return n
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

// Diff is what git shows of commits, each with its message and its change, oldest first,
// and whether more than the most bytes were. Those that the clone does not have, as of a
// repository below the workspace, are left out. No program that the repository names is run.
func (c Clone) Diff(ctx context.Context, revisions []string, most int) (text string, cut bool, err error) {
	if len(revisions) == 0 {
		return "", false, nil
	}
	args := []string{
		"-c", "core.quotePath=false", "show", "--ignore-missing", "--no-color", "--no-notes", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--format=medium", "--stat", "--patch",
	}
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", false, err
	}
	return g.asItIs().head(ctx, most, append(append(args, revisions...), "--")...)
}

// Since is what a commit changed since its branch left the target, as [Clone.Diff] shows commits.
func (c Clone) Since(ctx context.Context, target, tip string, most int) (text string, cut bool, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", false, err
	}
	return g.asItIs().head(ctx, most, "-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv",
		"--submodule=short", "--end-of-options", target+"..."+tip, "--")
}

// Pager is the pager of the operator's own configuration of git, or "". The repository's is not
// followed: that is a program.
func (c Clone) Pager(ctx context.Context) (pager string, err error) {
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return "", err
	}
	listed, err := g.names(ctx, "config", "--list", "--includes", "--show-scope", "-z")
	for _, s := range parseSettings(listed) {
		if s.key == "core.pager" && !s.repositorys() {
			pager = s.value
		}
	}
	return pager, err
}
