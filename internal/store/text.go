package store

import "strings"

// Text is a text as every store can keep it: no byte of it is 0, and it is UTF-8. An agent may write
// anything, and the end of its session must be recordable all the same.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
