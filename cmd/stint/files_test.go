package main

import (
	"os"
	"path/filepath"
	"testing"

	"stint/internal/testkit/must"
)

// write writes a file, and makes the folders above it.
func write(tb testing.TB, path, text string, mode os.FileMode) {
	tb.Helper()
	must.Do(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(tb, os.WriteFile(path, []byte(text), mode))
}

// extend adds to a file.
func extend(tb testing.TB, path, text string) {
	tb.Helper()
	before := must.Get(os.ReadFile(path))(tb)
	write(tb, path, string(before)+text, 0o600)
}
