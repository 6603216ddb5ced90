package task

import (
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// maxBodyBytes is a dozen screens: a longer text is no lesson but a manual, and would crowd the
// task out of the prompt.
const maxBodyBytes = 16 << 10

// reading has the content of a lesson file.
type reading struct {
	lesson  fleet.Lesson
	active  bool
	unknown []error // problems that leave the lesson one
}

// parseLesson reads a lesson file's bytes; path gives the lesson its id and is not opened.
// A lesson that is not in force, as its status says, may have any text or none.
func parseLesson(path string, data []byte, known []fleet.Category) (reading, error) {
	id, err := fleet.ParseLessonID(strings.TrimSuffix(filepath.Base(path), extension))
	if err != nil {
		return reading{}, newError(path, 0, "%v: rename the file", err)
	}
	d, err := newDocument("lesson", path, data)
	if err != nil {
		return reading{}, err
	}
	f := d.fields()
	match := f.within("match")
	categories := choose(f, match, "categories", "session_categories")
	tags := append(choose(f, match, "tags"), match.elements("keywords")...)
	r := reading{
		lesson: fleet.Lesson{
			ID:         id,
			Categories: parseCategories(f, categories),
			Tags:       plain.Each(tags, func(e element) string { return e.text }),
			Body:       d.body,
			Path:       path,
		},
		active: inForce(f.text("status")),
	}
	if err := f.err(); err != nil || !r.active {
		return r, err
	}
	r.unknown = unknownCategories(d, categories, known)
	return r, checkBody(d)
}

// inForce reports whether the status is that of a lesson to be given out; others are
// automated, deprecated, archived.
func inForce(status string) bool { return status == "" || status == "active" }

// choose returns match's value under any of the names. If match has none of them, it returns
// the value at the top under the first name.
func choose(top, match fields, names ...string) []element {
	if slices.ContainsFunc(names, match.has) {
		return match.elements(names...)
	}
	return top.elements(names[0])
}

func parseCategories(f fields, elements []element) []fleet.Category {
	var categories []fleet.Category
	for _, e := range elements {
		c, err := fleet.ParseCategory(e.text)
		if err != nil {
			f.fail(e.at, "%v", err)
		}
		categories = append(categories, c)
	}
	return categories
}

// unknownCategories has a problem for each category that is likely a slip of the pen for one that the lesson does not name: it would
// keep the lesson from its sessions unnoticed. Other unknown ones are of other fleets that the lesson is shared with.
func unknownCategories(d *document, elements []element, known []fleet.Category) (unknown []error) {
	given := plain.Each(elements, func(e element) string { return e.text })
	names := plain.Each(known, func(c fleet.Category) string { return string(c) })
	for _, e := range elements {
		if near := fleet.Nearest(e.text, names); near != "" && !slices.Contains(given, near) {
			unknown = append(unknown, d.newError(e.at, "there is no category %q: did you mean %s?", e.text, near))
		}
	}
	return unknown
}

func checkBody(d *document) error {
	text := d.front + d.rest
	start := len(text) - len(d.body)
	switch {
	case len(d.body) > maxBodyBytes:
		return newError(d.path, lineAt(text, start+maxBodyBytes),
			"more than 16 KiB of text up to here: keep the lesson short and link to the rest")
	case strings.TrimSpace(d.body) == "":
		return newError(d.path, lineAt(text, start),
			"no text: write the lesson below the front matter, or set status: draft")
	}
	return nil
}
