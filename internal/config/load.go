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

// Options are what reading a file needs from elsewhere.
type Options struct {
	// CheckUnit checks one entry of a [category.NAME.unit]; its error may carry
	// a hint. nil accepts any.
	CheckUnit func(name string, value any) error
	// CheckWebhook checks the address of notices; its error may carry a hint. nil
	// accepts any.
	CheckWebhook func(address string) error
	// Getenv looks up the environment, for the default state folder. nil is an
	// empty environment.
	Getenv func(string) string
}

// Load reads the file at path. Every error is a [fleet.ErrUsage] with a hint. A file that is
// not TOML is reported at its first fault, any other with its first twenty, in its order, each
// with line and column.
func Load(path string, o Options) (*Config, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, usagef("name the file by its absolute path", "read config: %w", err)
	}
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, o)
}

// maxBytes is far more than any configuration; a log or a disk image named by
// mistake is not read into memory.
const maxBytes = 1 << 20

func read(path string) ([]byte, error) {
	// Before it is opened: to open a pipe waits for its writer.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("write one with: stint init", "read config: %w", err)
	case err != nil:
		return nil, usagef("check the permissions of the folders above it", "read config: %w", err)
	case info.IsDir():
		return nil, usagef("name the file: "+filepath.Join(path, FileName), "read config: %s is a folder", path)
	case !info.Mode().IsRegular():
		return nil, usagef("name a file: units read it again later", "read config: %s is not a regular file", path)
	case info.Size() > maxBytes:
		return nil, usagef("name a "+FileName, "read config: %s has more than %d bytes", path, maxBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("see for yourself: cat "+path, "read config: %w", err)
	}
	return data, nil
}

// Parse reads a configuration's text as if it stood in the file path, which must be
// absolute.
func Parse(path string, data []byte, o Options) (*Config, error) {
	text, entries, err := decode(path, data, configKind())
	if err != nil {
		return nil, err
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	r := &reader{Options: o, source: text}
	config := r.config(&table{reader: r, entries: entries})
	if err := r.source.check(r.faults); err != nil {
		return nil, err
	}
	return config, nil
}

// kind is which of stint's files is read, for the hints.
type kind struct {
	write string // how to get a complete one
	again string // a command that reads the file again
}

func configKind() kind {
	return kind{write: "write a complete one with: stint init", again: "stint config check"}
}

// decode takes a file apart, with the place of every key.
func decode(path string, data []byte, k kind) (source, map[string]any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	text := source{path: path, data: data, kind: k}
	if len(bytes.TrimSpace(data)) == 0 {
		return source{}, nil, text.check([]fault{{0, fleet.WithHint(errors.New("the file is empty"), "remove it, then "+k.write)}})
	}
	if at := plain.Invalid(data); at >= 0 {
		return source{}, nil, text.check([]fault{{at, fleet.WithHint(fmt.Errorf("byte %#x is not UTF-8", data[at]),
			"save the file as UTF-8")}})
	}
	entries := map[string]any{}
	if err := toml.Unmarshal(data, &entries); err != nil {
		return source{}, nil, syntaxError(path, err)
	}
	text.index()
	return text, entries, nil
}

// syntaxError is what the decoder says. It stops at the first fault, as nothing
// after that can be told apart.
func syntaxError(path string, err error) error {
	line, column := 1, 1
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = decode.Position()
	}
	return usagef("correct the TOML of this line: strings are quoted, each key stands once, each table has one header",
		"%s:%d:%d: %s", path, line, column, strings.TrimPrefix(err.Error(), "toml: "))
}
