package plain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// The most that a pattern may have of braces and, in them, of commas. Each group multiplies what is compared: forty groups
// of two are 10¹² names.
const maxBraces, maxCommas = 4, 16

// CheckPattern says what is wrong with a pattern of files, which are named from the top of a
// repository: * stands for any part of one name, ** for any folders, ? for one character,
// [a-z] for one of a class, and {a,b} for one of several.
func CheckPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("a pattern of files is empty")
	case strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../"):
		return errors.New(strconv.Quote(pattern) + ": files are named from the top of the repository, such as db/migrations/**")
	case !doublestar.ValidatePattern(pattern):
		return errors.New(strconv.Quote(pattern) + " is no pattern: it has a bracket, a brace or a backslash that does not end")
	case strings.Count(pattern, "{") > maxBraces || strings.Contains(pattern, "{") && strings.Count(pattern, ",") > maxCommas:
		return fmt.Errorf("%q has more than %d groups in braces, or %d commas: write several patterns", pattern, maxBraces, maxCommas)
	}
	return nil
}

// Matches reports whether a pattern stands for a file, or for a folder above it.
func Matches(pattern, file string) bool {
	pattern = strings.TrimSuffix(pattern, "/")
	return doublestar.MatchUnvalidated(pattern, file) || doublestar.MatchUnvalidated(pattern+"/**", file)
}

// Stem returns the common beginning of all files that match a pattern.
func Stem(pattern string) string {
	if at := strings.IndexAny(pattern, `*?[{\`); at >= 0 {
		return pattern[:at]
	}
	return strings.TrimSuffix(pattern, "/")
}
