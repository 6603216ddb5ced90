package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"stint/internal/plain"
)

// shift is what commits with the same patch have in common, and is known without a diff, which takes twice as long:
// the files, and the sum of the lines after it less the sum of those before.
type shift struct {
	files string
	lines uint64
}

// plausible are the commits whose patches the history may have, or take back.
func (p *pending) plausible(ctx context.Context, ids []string) ([]string, error) {
	files := map[string]bool{}
	for _, c := range p.history {
		files[names(p.files[c.ID])] = true
	}
	ours, err := p.fileChanges(ctx, ids)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(ours, func(_ string, c []change) bool { return !files[filesOf(c)] })
	wanted := map[string]bool{}
	for _, c := range ours {
		wanted[filesOf(c)] = true
	}
	var past []string
	for _, c := range p.history {
		if wanted[names(p.files[c.ID])] {
			past = append(past, c.ID)
		}
	}
	theirs, err := p.fileChanges(ctx, past)
	if err != nil {
		return nil, err
	}
	lines, err := p.sums(ctx, blobs(ours, theirs))
	if err != nil {
		return nil, err
	}
	has := map[shift]bool{}
	for _, c := range theirs {
		s := lines.of(c)
		has[s], has[shift{s.files, -s.lines}] = true, true // the other is of a commit that takes this one back
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		c, alike := ours[id]
		return !alike || !has[lines.of(c)]
	}), nil
}

// change is one file that a commit changes, and its objects before and after; zeros: there is none.
type change struct{ file, from, to string }

func filesOf(list []change) string {
	files := plain.Each(list, func(c change) string { return c.file })
	return names(files)
}

// fileChanges are what commits change, file by file.
func (g git) fileChanges(ctx context.Context, ids []string) (map[string][]change, error) {
	return mapInParts(ids, func(part []string) (map[string][]change, error) {
		fields, err := g.feed(lines(part)).names(ctx, "diff-tree", "--stdin", "--root", "-r", "-z", "--no-renames")
		list, id := make(map[string][]change, len(part)), ""
		for i := 0; i < len(fields); i++ {
			objects, is := strings.CutPrefix(fields[i], ":")
			if words := strings.Fields(objects); !is {
				id = fields[i]
			} else if i++; i < len(fields) && len(words) > 3 {
				list[id] = append(list[id], change{fields[i], words[2], words[3]})
			}
		}
		return list, err
	})
}

// blobs are the objects of all changes, each once.
func blobs(sets ...map[string][]change) []string {
	all := map[string]bool{}
	for _, set := range sets {
		for _, list := range set {
			for _, c := range list {
				all[c.from], all[c.to] = true, true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// sums are the sums of the lines of objects, wherever each of them stands.
type sums map[string]uint64

func (w sums) of(list []change) shift {
	s := shift{files: filesOf(list)}
	for _, c := range list {
		s.lines += w[c.to] - w[c.from] // zero for what is not here, such as a commit of a submodule
	}
	return s
}

func (g git) sums(ctx context.Context, ids []string) (sums, error) {
	return mapInParts(ids, func(part []string) (list map[string]uint64, err error) {
		err = g.feed(lines(part)).stream(ctx, func(text *bufio.Reader) (err error) {
			list, err = readSums(text)
			return err
		}, "cat-file", "--batch", "--buffer")
		return list, err
	})
}

// A line is hashed by FNV-1a.
const basis, prime = 0xcbf29ce484222325, 0x100000001b3

// readSums reads objects: a line with id, kind and size, the content, and an end of line. One that is missing
// has a line of two words.
func readSums(text *bufio.Reader) (sums, error) {
	list := sums{}
	for {
		head, err := text.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && head == "" {
				err = nil
			}
			return list, err
		}
		words := strings.Fields(head)
		if len(words) != 3 {
			continue
		}
		size, err := strconv.Atoi(words[2])
		if err != nil {
			return list, fmt.Errorf("git cat-file: %q: %w", head, err)
		}
		sum, line, begun := uint64(0), uint64(basis), false
		for left := size; left > 0; {
			part, err := text.Peek(min(left, text.Size()))
			if err != nil {
				return list, err
			}
			for _, c := range part {
				if begun = c != '\n'; !begun {
					sum, line = sum+line, basis
				} else if inPatch(c) {
					line = (line ^ uint64(c)) * prime
				}
			}
			left -= len(part)
			_, _ = text.Discard(len(part))
		}
		if begun { // there is no end of line after the last
			sum += line
		}
		list[words[0]] = sum
		_, _ = text.Discard(1)
	}
}
