package fleet

import (
	"errors"
	"slices"
	"strings"
)

// hinted is an error with advice for the person who reads it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// WithHint adds to err what the operator should do about it, best a command to
// type. A nil err stays nil.
func WithHint(err error, hint string) error {
	if err == nil || hint == "" {
		return err
	}
	return hinted{err, hint}
}

// Hint is the advice that travels with err, or "".
func Hint(err error) string {
	h, _ := errors.AsType[hinted](err)
	return h.hint
}

// ShellWord writes a word of a command as a shell takes it, for a hint that is to be typed.
func ShellWord(word string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, odd) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Variable is the value of a variable in an environment, in which later entries win; empty:
// it is not there.
func Variable(environment []string, name string) string {
	for _, e := range slices.Backward(environment) {
		if value, found := strings.CutPrefix(e, name+"="); found {
			return value
		}
	}
	return ""
}

// Clipped is the beginning of a text, with a mark where there was more: so many bytes at
// most.
func Clipped(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, most-len(mark))], "") + mark
}

// Listed is words with commas between them.
func Listed[T ~string](words []T) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return strings.Join(list, ", ")
}

// Nearest is the known word that word was likely meant to be: it differs by a
// third of its letters at most, or one begins with the other. Empty: none.
func Nearest(word string, known []string) string {
	const (
		mostEdits  = 3 // "categories" for "category"
		leastStart = 3 // "env" for "environment", but not "t" for "ttl"
	)
	word = strings.ToLower(word)
	best, bestEdits := "", min(mostEdits, (len(word)+2)/3)+1
	for _, candidate := range known {
		edits := distance(word, strings.ToLower(candidate))
		if start := min(len(word), len(candidate)); start >= leastStart && strings.EqualFold(word[:start], candidate[:start]) {
			edits = min(edits, 1)
		}
		if edits < bestEdits {
			best, bestEdits = candidate, edits
		}
	}
	return best
}

// Slip is the known word of which word is a slip of the fingers: letters in another order,
// one too many or too few, or in a longer word another one. Empty: none. It is narrower
// than [Nearest], for words that may well be meant as they are.
func Slip(word string, known []string) string {
	const long = 5 // of shorter words most neighbours are words, too: lint for list
	for _, candidate := range known {
		switch sameLength := len(word) == len(candidate); {
		case word == candidate:
			return ""
		case sameLength && slices.Equal(slices.Sorted(slices.Values([]byte(word))), slices.Sorted(slices.Values([]byte(candidate)))),
			(!sameLength || len(word) >= long) && distance(word, candidate) == 1:
			return candidate
		}
	}
	return ""
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
