package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"stint/internal/plain"
)

type merged struct {
	tree      string
	conflicts []string
}

// Clashes reports which pairs of commits cannot be merged with each other.
func (c Clone) Clashes(ctx context.Context, pairs [][2]string) ([]bool, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	g, _, err := c.git(ctx, string(c.Dir))
	if err != nil {
		return nil, err
	}
	merges := plain.Each(pairs, func(pair [2]string) string { return pair[0] + " " + pair[1] })
	outcomes, err := g.asItIs().mergeTree(ctx, merges)
	if err != nil {
		return nil, err
	}
	clash := make([]bool, len(pairs))
	for i, m := range outcomes {
		clash[i] = len(m.conflicts) > 0
	}
	return clash, nil
}

// memory is a folder whose files are in memory. Others than this user may make files in it, too.
const memory = "/dev/shm"

// mergeTree merges pairs of commits, without a work tree. The trees that it writes are of no use later, and
// go into a folder of its own in memory: a file system takes its time for thousands of files that come and
// go. Where there is no room, they go among the repository's objects.
func (g git) mergeTree(ctx context.Context, pairs []string) (list []merged, err error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return nil, err
	}
	sweep(memory)
	if list, err = g.mergeIn(ctx, memory, objects, pairs); err != nil {
		list, err = g.mergeIn(ctx, objects, objects, pairs)
	}
	return list, err
}

// scratch begins the name of a folder for the trees of merges.
const scratch = "tmp_objdir-merge-"

// mergeIn merges pairs with a scratch folder in the place.
//
// If we die before the folder is removed, the next merge removes it from memory, by its name and because nobody
// has its lock any more. Git gc removes it from among the objects, by its name, like those of git's own commands.
func (g git) mergeIn(ctx context.Context, place, objects string, pairs []string) ([]merged, error) {
	dir, err := os.MkdirTemp(place, scratch)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	lock, err := locked(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	g.env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+dir, alsoIn(objects))
	parts, err := inParts(pairs, aProcess/4, func(part []string) ([]merged, error) { return g.readMerges(ctx, part) }) // a merge takes as long as four diffs
	return slices.Concat(parts...), err
}

// sweep removes the scratch folders of processes that died. One that was made a moment ago, and has no lock yet,
// may go with them: its process merges among the objects then.
func sweep(place string) {
	left, _ := filepath.Glob(plain.GlobIn(place, scratch+"*"))
	for _, dir := range left {
		if lock, err := locked(dir); err == nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// locked takes the lock of a folder, unless somebody has it.
func locked(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (g git) readMerges(ctx context.Context, pairs []string) (list []merged, err error) {
	// Git looks in a dozen places for a ref that is named like each id, to warn of it.
	text, err := g.feed(lines(pairs)).run(ctx, "-c", "core.warnAmbiguousRefs=false", "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(text, "\x00")
	for len(list) < len(pairs) && len(fields) >= 2 {
		clean := fields[0] == "1"
		m := merged{tree: fields[1]}
		fields = fields[2:]
		for !clean && len(fields) > 0 && fields[0] != "" {
			m.conflicts, fields = append(m.conflicts, fields[0]), fields[1:]
		}
		for len(fields) > 0 && fields[0] == "" {
			fields = fields[1:]
		}
		list = append(list, m)
	}
	if len(list) < len(pairs) {
		return nil, errors.New("git merge-tree stopped before the last merge")
	}
	return list, nil
}

// feed is git with what its next command reads.
func (g git) feed(stdin io.Reader) git {
	g.stdin = stdin
	return g
}

func lines(list []string) io.Reader { return strings.NewReader(strings.Join(list, "\n") + "\n") }
