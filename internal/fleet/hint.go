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

// Meant is advice on a name: the nearest of the known ones, unless it is one of them, and then rest.
func Meant[T ~string](name string, known []T, rest string) string {
	words := make([]string, len(known))
	for i, word := range known {
		words[i] = string(word)
	}
	if near := Nearest(name, words); near != "" && near != name {
		return strings.TrimSpace("did you mean " + near + "? " + rest)
	}
	return rest
}

// Nearest is the known word that word was likely meant to be: it differs by a
// third of its letters at most, or one begins with the other. Empty: none.
func Nearest(word string, known []string) string {
	const (
		maxEdits = 3 // "categories" for "category"
		minStart = 3 // "env" for "environment", but not "t" for "ttl"
	)
	word = strings.ToLower(word)
	best, bestEdits := "", min(maxEdits, len(word)/3)+1
	for _, candidate := range known {
		edits := distance(word, strings.ToLower(candidate))
		if start := min(len(word), len(candidate)); start >= minStart && strings.EqualFold(word[:start], candidate[:start]) {
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

// distance counts the bytes to add, remove, change, or swap with the next.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // by how much of a, then of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j-1], rows[i-1][j], rows[i][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
