package config

import (
	"fmt"
	"slices"
	"strings"
)

// meant is the hint for a word that is none of known.
func meant(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "want one of: " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// nearest is the known word that word was likely meant to be: it differs by a
// third of its letters at most, or one begins with the other. Empty: none.
func nearest(word string, known []string) string {
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
