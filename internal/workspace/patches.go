package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"stint/internal/review"
)

type sizes struct {
	files []string
	lines int
}

// changes are what branches change, by tip.
func (g git) changes(ctx context.Context, pairs []string) (map[string]sizes, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	text, err := g.feed(lines(pairs)).run(ctx, "diff-tree", "--stdin", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
	all, tip := map[string]sizes{}, ""
	for field := range strings.SplitSeq(text, "\x00") {
		numbers := strings.SplitN(field, "\t", 3)
		if len(numbers) != 3 {
			tip = field
			continue
		}
		inserted, _ := strconv.Atoi(numbers[0]) // "-": it is not text
		deleted, _ := strconv.Atoi(numbers[1])
		s := all[tip]
		all[tip] = sizes{append(s.files, numbers[2]), s.lines + inserted + deleted}
	}
	return all, err
}

type merged struct {
	tree      string
	conflicts []string
}

// mergeTree merges pairs of commits, without a work tree. The trees that it writes are of no use later, and
// go into a folder of its own.
func (g git) mergeTree(ctx context.Context, pairs []string) (list []merged, err error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	objects, err := g.objects(ctx)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "stint-merge-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	g = g.feed(lines(pairs))
	g.env = append(slices.Clone(g.env), "GIT_OBJECT_DIRECTORY="+scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+objects)
	text, err := g.run(ctx, "merge-tree", "--write-tree", "--stdin", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
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

// patchIDs identify what commits change, or, of "tip base", what leads from base to tip. A
// commit that changes no file has none.
func (g git) patchIDs(ctx context.Context, inputs []string, options ...string) (map[string]review.PatchID, error) {
	ids := map[string]review.PatchID{}
	if len(inputs) == 0 {
		return ids, nil
	}
	patches, into := io.Pipe()
	written := make(chan error, 1)
	go func() {
		args := append([]string{"diff-tree", "--stdin", "--patch", "-r", "--root", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/"}, options...)
		err := g.feed(lines(inputs)).write(ctx, into, args...)
		into.CloseWithError(err)
		written <- err
	}()
	text, err := g.feed(patches).run(ctx, "patch-id", "--stable")
	_ = patches.Close() // ends a writer that nobody reads any more
	for line := range strings.Lines(text) {
		if patch, id, found := strings.Cut(strings.TrimSpace(line), " "); found {
			ids[id] = review.PatchID(patch)
		}
	}
	return ids, errors.Join(<-written, err)
}

// feed is git with what its next command reads.
func (g git) feed(stdin io.Reader) git {
	g.stdin = stdin
	return g
}

func lines(list []string) io.Reader { return strings.NewReader(strings.Join(list, "\n") + "\n") }
