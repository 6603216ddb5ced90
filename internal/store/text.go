package store

import "strings"

// Text makes a text that every store can keep: UTF-8 without zero bytes. An agent may write anything, and the end of its
// session must be recordable.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
