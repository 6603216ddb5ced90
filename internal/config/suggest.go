package config

import (
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// meant is the hint for a word that is none of known.
func meant(word string, known []string) string {
	if near := fleet.Nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "want one of: " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
