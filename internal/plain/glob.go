package plain

import (
	"path/filepath"
	"strings"
)

// GlobIn is a pattern for [filepath.Glob] of what is in a folder, whose own name is taken as it is.
func GlobIn(folder, pattern string) string {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)
	return filepath.Join(escape.Replace(folder), pattern)
}
