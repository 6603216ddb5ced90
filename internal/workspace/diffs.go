package workspace

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"stint/internal/review"
)

// patch is what a commit changes, or what leads from one commit to another.
type patch struct {
	id, inverse review.PatchID // empty: no file is changed
	files       []string
	lines       int // inserted and deleted
}

// diffs are the patches of commits, or, of "tip base", of what leads from base to tip, by the
// first word.
func (g git) diffs(ctx context.Context, inputs []string) (map[string]patch, error) {
	return mapInParts(inputs, func(part []string) (map[string]patch, error) {
		r := diffReader{all: make(map[string]patch, len(part))}
		err := g.feed(lines(part)).stream(ctx, r.read, "diff-tree", "--stdin", "--patch", "-r", "--root", "--full-index", "--no-renames", "--no-ext-diff",
			"--no-textconv", "--no-color", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")
		return r.all, err
	})
}

// aProcess is how many diffs take longer than a process of git's that shows them.
const aProcess = 200

// inParts has a part of the inputs worked on for each processor, unless that is less than it is
// worth. The results are in the order of the inputs.
func inParts[T any](inputs []string, least int, work func(part []string) (T, error)) ([]T, error) {
	var (
		share  = max((len(inputs)+runtime.NumCPU()-1)/runtime.NumCPU(), least)
		parts  = slices.Collect(slices.Chunk(inputs, share))
		done   = make([]T, len(parts))
		failed = make([]error, len(parts))
		wait   sync.WaitGroup
	)
	for i, part := range parts {
		wait.Go(func() { done[i], failed[i] = work(part) })
	}
	wait.Wait()
	return done, errors.Join(failed...)
}

// mapInParts is [inParts] with the results in one map.
func mapInParts[T any](inputs []string, work func(part []string) (map[string]T, error)) (map[string]T, error) {
	all := make(map[string]T, len(inputs))
	parts, err := inParts(inputs, aProcess, work)
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all, err
}

// stream has a command's output read while the command prints it.
func (g git) stream(ctx context.Context, read func(*bufio.Reader) error, args ...string) error {
	text, into, err := os.Pipe()
	if err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		err := g.write(ctx, into, args...)
		into.Close()
		written <- err
	}()
	err = read(bufio.NewReaderSize(text, 1<<16))
	_ = text.Close() // ends a writer that nobody reads any more
	if failed := <-written; failed != nil {
		err = failed
	}
	return err
}

// diffReader identifies patches as git-patch-id(1) does: by the names of the files and by the
// lines with those around them, wherever they stand and however they are indented. Each side
// is summed up for itself, so that a patch that takes another back has the same sums, exchanged.
type diffReader struct {
	all              map[string]patch
	commit           string // whose patch is read; empty: none yet
	now              patch
	old, new         hash.Hash
	index            string // of the file: its objects before and after
	oldLeft, newLeft int    // lines that the hunk still has
	sides            []hash.Hash
}

func (r *diffReader) read(text *bufio.Reader) error {
	for begun := true; ; {
		line, err := text.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			r.end()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if begun {
			r.sides = r.sides[:0]
			if r.oldLeft > 0 || r.newLeft > 0 {
				r.body(line)
			} else {
				r.head(string(line))
			}
		}
		r.add(line)
		begun = err == nil // else the line is longer than the buffer
	}
}

// changed begins a line that is not the same before and after.
const changed = 1

// body counts a line of a hunk, and chooses the sides to which it adds.
func (r *diffReader) body(line []byte) {
	switch line[0] {
	case '-':
		line[0] = changed
		r.sides = append(r.sides, r.old)
		r.oldLeft--
		r.now.lines++
	case '+':
		line[0] = changed
		r.sides = append(r.sides, r.new)
		r.newLeft--
		r.now.lines++
	case '\\': // there is no line's end before it
	default:
		r.sides = append(r.sides, r.old, r.new)
		r.oldLeft--
		r.newLeft--
	}
}

// head reads a line before a hunk.
func (r *diffReader) head(line string) {
	word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	switch {
	case word == "@@":
		r.oldLeft, r.newLeft = hunk(rest)
	case word == "diff":
		r.file(strings.TrimPrefix(rest, "--git "))
	case word == "index":
		r.index, _, _ = strings.Cut(rest, " ")
	case word == "Binary":
		before, after, _ := strings.Cut(r.index, "..")
		r.old.Write([]byte(before))
		r.new.Write([]byte(after))
	case word == "old", word == "deleted":
		r.old.Write([]byte(rest))
	case word == "new":
		r.new.Write([]byte(rest))
	case rest == "" && strings.Trim(word, "0123456789abcdef") == "" && len(word) >= 40:
		r.end()
		r.commit, r.now, r.old, r.new = word, patch{}, sha256.New(), sha256.New()
	}
}

// file begins with the next file, named in "a/name b/name".
func (r *diffReader) file(both string) {
	name := fileOf(both)
	if !slices.Contains(r.now.files[max(0, len(r.now.files)-1):], name) { // a file that became a link is there twice
		r.now.files = append(r.now.files, name)
	}
	for _, side := range []hash.Hash{r.old, r.new} {
		side.Write([]byte("\x00" + name + "\x00"))
	}
}

// add adds text to the sides, without its blank space.
func (r *diffReader) add(text []byte) {
	if len(r.sides) == 0 {
		return
	}
	kept := text[:0]
	for _, c := range text {
		if inPatch(c) {
			kept = append(kept, c)
		}
	}
	for _, side := range r.sides {
		side.Write(kept)
	}
}

// inPatch reports whether a patch sums up a byte: blank space counts for nothing.
func inPatch(c byte) bool { return c != ' ' && (c < '\t' || c > '\r') }

// end takes in the patch that was read.
func (r *diffReader) end() {
	if r.commit == "" {
		return
	}
	before, after := string(r.old.Sum(nil)), string(r.new.Sum(nil))
	r.now.id, r.now.inverse = review.PatchID(before+after), review.PatchID(after+before)
	r.all[r.commit] = r.now
}

// hunk is how many lines a hunk has before and after, of "-1,2 +3,4 @@".
func hunk(text string) (before, after int) {
	ranges := strings.SplitN(text, " ", 3)
	count := func(i int) int {
		_, n, found := strings.Cut(ranges[i], ",")
		if !found {
			return 1
		}
		number, _ := strconv.Atoi(n)
		return number
	}
	if len(ranges) < 3 {
		return 0, 0
	}
	return count(0), count(1)
}
