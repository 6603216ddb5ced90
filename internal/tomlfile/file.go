// Package tomlfile reads a TOML file by the keys that it may have, and says what is wrong
// with it and where: all of its faults at once, in their order, each with line and column.
//
// A key is written down once, as a [Key]: its name, its field, its default, the [Rule] that
// its value keeps to and what it means. From such a list a file is read, its values are
// shown, a sample is written and a JSON Schema for editors is made. A file that is only
// read needs no list: [Get] reads one key.
//
// The file is decoded by go-toml into plain maps. The library's own strict mode is not
// used: it matches keys in any letter case, so that a file may say both "Workers" and
// "workers", and it stops at the first value of a wrong type.
package tomlfile

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

// Kind is what a file is for, in messages and hints.
type Kind struct {
	What  string // config
	Name  string // what such a file is called: stint.toml
	Write string // how to get a complete one
	Again string // a command that reads the file again

	Removed func(key string) string // what to write for a dotted key that there was once; empty: there was none
}

// File is the text of a file, where things stand in it, and the faults found so far.
type File struct {
	Path string

	kind    Kind
	data    []byte
	entries map[string]any
	at      map[string]int // the offset of a dotted key's last part; of a list's elements as key[0]
	nuls    []int          // the offsets of keys and strings that hold a NUL
	faults  []fault
}

// Load reads the file at path, which must be absolute. Every error is a [fleet.ErrUsage]
// with a hint. A file that is not TOML is reported at its first fault.
func Load(path string, k Kind) (*File, error) {
	data, err := read(path, k)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, k)
}

// maxBytes is more than a file of hundreds of categories has; a log or a disk image named by mistake is not read into
// memory. The decoder compares each key of a table with all others: one table of a megabyte takes 20 seconds, and a session
// may write the file that a fire reads.
const maxBytes = 256 << 10

func read(path string, k Kind) ([]byte, error) {
	refuse := func(hint, format string, args ...any) ([]byte, error) {
		return nil, Usagef(hint, "read "+k.What+": "+format, args...)
	}
	// Before it is opened: to open a pipe waits for its writer.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return refuse(k.Write, "%w", err)
	case err != nil:
		return refuse("check the permissions of the folders above it", "%w", err)
	case info.IsDir():
		return refuse("name the file: "+filepath.Join(path, k.Name), "%s is a folder", path)
	case !info.Mode().IsRegular():
		return refuse("name a file: it is read more than once", "%s is not a regular file", path)
	case info.Size() > maxBytes:
		return refuse("name a "+k.Name, "%s has more than %d bytes", path, maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return refuse("see for yourself: cat "+path, "%w", err)
	}
	return data, nil
}

// Parse reads a text as if it stood in the file path.
func Parse(path string, data []byte, k Kind) (*File, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	f := &File{Path: path, data: data, kind: k, entries: map[string]any{}}
	if len(bytes.TrimSpace(data)) == 0 {
		f.fault(0, fleet.WithHint(errors.New("the file is empty"), "remove it, then "+k.Write))
		return nil, f.Err()
	}
	if at := plain.Invalid(data); at >= 0 {
		f.fault(at, fleet.WithHint(fmt.Errorf("byte %#x is not UTF-8", data[at]), "save the file as UTF-8"))
		return nil, f.Err()
	}
	if err := toml.Unmarshal(data, &f.entries); err != nil {
		return nil, syntaxError(path, err)
	}
	f.index()
	// No path, argument or variable can hold a NUL, and TOML can write it only as an escape.
	for _, offset := range f.nuls {
		f.fault(offset, fleet.WithHint(errors.New("a string holds a NUL character"), `remove the \u0000`))
	}
	return f, nil
}

// Root is the table of the keys outside of any table.
func (f *File) Root() *Table { return &Table{File: f, entries: f.entries} }

// Text is the file's, as it was read.
func (f *File) Text() []byte { return f.data }

// Has reports whether the file has a dotted key.
func (f *File) Has(key string) bool {
	_, ok := f.at[key]
	return ok
}

// Position is where a dotted key stands in the file, or the path alone when the file has
// no such key. A part that is not a bare key of TOML is quoted: `tasks.tags."a b"`.
func (f *File) Position(key string) string {
	offset, ok := f.at[key]
	if !ok {
		return f.Path
	}
	return f.position(offset)
}

// Offset is how far from the beginning of the file a dotted key stands, or 0.
func (f *File) Offset(key string) int { return f.at[key] }

// line counts from 1, as does the column, which is in bytes.
func (f *File) line(offset int) (line, column int) { return plain.Position(f.data, offset) }

func (f *File) position(offset int) string {
	line, column := f.line(offset)
	return fmt.Sprintf("%s:%d:%d", f.Path, line, column)
}

// syntaxError is what the decoder says. It stops at the first fault, as nothing after that
// has a certain meaning.
func syntaxError(path string, err error) error {
	line, column := 1, 1
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = decode.Position()
	}
	return Usagef("correct the TOML of this line: strings are quoted, each key stands once, each table has one header",
		"%s:%d:%d: %s", path, line, column, strings.TrimPrefix(err.Error(), "toml: "))
}
