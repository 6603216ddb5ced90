package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// file is the text of a stint.toml, where things stand in it, and the faults found so far.
type file struct {
	Path   string
	data   []byte
	tree   map[string]any
	at     map[string]int // the offset of a dotted key's last part; of a list's elements as key[0]
	nuls   []int          // the offsets of keys and strings that hold a NUL
	faults []fault
}

// writeOne is the hint where there is no file.
const writeOne = "write one with: stint init"

// maxBytes is more than a file of hundreds of categories has; a log or a disk image named by mistake is not read into
// memory. The decoder compares each key of a table with all others: one table of a megabyte takes 20 seconds, and a session
// may write the file that a fire reads.
const maxBytes = 256 << 10

func read(path string) ([]byte, error) {
	refuse := func(hint, format string, args ...any) ([]byte, error) {
		return nil, usagef(hint, "read config: "+format, args...)
	}
	// Before it is opened: to open a pipe waits for its writer.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist): // what is searched for is there when it is found
		return refuse("--config or $STINT_CONFIG names it; without them: stint init", "%w", err)
	case err != nil:
		return refuse("check the permissions of the folders above it", "%w", err)
	case info.IsDir():
		return refuse("name the file: "+filepath.Join(path, FileName), "%s is a folder", path)
	case !info.Mode().IsRegular():
		return refuse("name a file: it is read more than once", "%s is not a regular file", path)
	case info.Size() > maxBytes:
		return refuse("name a "+FileName, "%s has more than %d bytes", path, maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return refuse("see for yourself: cat "+path, "%w", err)
	}
	return data, nil
}

// newFile reads a text as if it stood in the file path.
func newFile(path string, data []byte) (*file, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	f := &file{Path: path, data: data, tree: map[string]any{}}
	if len(bytes.TrimSpace(data)) == 0 {
		f.fault(0, fleet.WithHint(errors.New("the file is empty"), "remove it, then "+writeOne))
		return nil, f.Err()
	}
	if at := plain.Invalid(data); at >= 0 {
		f.fault(at, fleet.WithHint(fmt.Errorf("byte %#x is not UTF-8", data[at]), "save the file as UTF-8"))
		return nil, f.Err()
	}
	if err := toml.Unmarshal(data, &f.tree); err != nil {
		return nil, syntaxError(path, err)
	}
	f.index()
	// No path, argument or variable can hold a NUL, and TOML can write it only as an escape.
	for _, offset := range f.nuls {
		f.fault(offset, fleet.WithHint(errors.New("a string holds a NUL character"), `remove the \u0000`))
	}
	return f, nil
}

// Has reports whether the file has a dotted key.
func (f *file) Has(key string) bool {
	_, ok := f.at[key]
	return ok
}

// Position returns path, line and column of a dotted key, or the path alone when the file has
// no such key. A part that is not a bare key of TOML is quoted: `tasks.tags."a b"`.
func (f *file) Position(key string) string {
	offset, ok := f.at[key]
	if !ok {
		return f.Path
	}
	return f.position(offset)
}

// Offset returns the bytes from the beginning of the file to a dotted key, or 0.
func (f *file) Offset(key string) int { return f.at[key] }

// line counts from 1, as does the column, which is in bytes.
func (f *file) line(offset int) (line, column int) { return plain.Position(f.data, offset) }

func (f *file) position(offset int) string {
	line, column := f.line(offset)
	return fmt.Sprintf("%s:%d:%d", f.Path, line, column)
}

// syntaxError is the decoder's error in our form. It stops at the first fault, as nothing after that
// has a certain meaning.
func syntaxError(path string, err error) error {
	line, column := 1, 1
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = decode.Position()
	}
	return usagef("correct the TOML of this line: strings are quoted, each key stands once, each table has one header",
		"%s:%d:%d: %s", path, line, column, strings.TrimPrefix(err.Error(), "toml: "))
}
