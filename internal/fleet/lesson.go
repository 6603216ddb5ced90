package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// LessonID identifies a lesson within a fleet: its file's stem, so it holds no slash,
// no control character and no invalid UTF-8.
type LessonID string

// maxLessonBytes is the kernel's limit for a file name.
const maxLessonBytes = 255

// ParseLessonID checks a lesson's id.
func ParseLessonID(s string) (LessonID, error) {
	if err := checkText("lesson id", s, maxLessonBytes); err != nil {
		return "", err
	}
	switch {
	case s == "":
		return "", errors.New("lesson id: must not be empty")
	case strings.ContainsRune(s, '/'):
		return "", fmt.Errorf("lesson id %q: a slash is not allowed", s)
	}
	return LessonID(s), nil
}

// Lesson is a piece of knowledge from earlier sessions, for the prompts of those that it fits.
type Lesson struct {
	ID         LessonID
	Categories []Category // empty: it fits every category
	Tags       []string   // empty: it fits every task, and a session without one
	Body       string     // Markdown after the front matter
	Path       string     // the file the lesson was read from, absolute
}

// Matches reports whether the lesson fits a session of the category on the task, which
// is nil for a session that finds its own work.
func (l Lesson) Matches(c Category, t *Task) bool {
	if len(l.Categories) > 0 && !slices.Contains(l.Categories, c) {
		return false
	}
	return len(l.Tags) == 0 || t != nil && slices.ContainsFunc(t.Tags, func(tag string) bool {
		return slices.Contains(l.Tags, tag)
	})
}

// Version differs between lessons of the same id with different texts: nothing that is known
// of one is true of the other.
func (l Lesson) Version() string {
	sum := sha256.Sum256([]byte(l.Body))
	return hex.EncodeToString(sum[:8])
}

// LessonProblem is a fault in a lesson. It never stops the fleet.
type LessonProblem = TaskProblem
