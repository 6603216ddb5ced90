package lesson

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/frontmatter"
	"stint/internal/plain"
)

// maxBodyBytes is a dozen screens: a longer text is no lesson but a manual, and would crowd the
// task out of the prompt.
const maxBodyBytes = 16 << 10

// reading is what a lesson file was read as.
type reading struct {
	lesson  fleet.Lesson
	active  bool
	unknown []error // problems that leave the lesson one
}

// parse reads a lesson file's bytes; path gives the lesson its id and is not opened.
// A lesson that is not in force, as its status says, may have any text or none.
func parse(path string, data []byte, known []fleet.Category) (reading, error) {
	id, err := fleet.ParseLessonID(strings.TrimSuffix(filepath.Base(path), extension))
	if err != nil {
		return reading{}, frontmatter.NewError(path, 0, "%v: rename the file", err)
	}
	d, err := frontmatter.Kind("lesson").Parse(path, data)
	if err != nil {
		return reading{}, err
	}
	f := d.Fields()
	match := f.Within("match")
	categories := choose(f, match, "categories", "session_categories")
	tags := append(choose(f, match, "tags"), match.Elements("keywords")...)
	r := reading{
		lesson: fleet.Lesson{
			ID:         id,
			Categories: parseCategories(f, categories),
			Tags:       plain.Each(tags, func(e frontmatter.Element) string { return e.Text }),
			Body:       d.Body,
			Path:       path,
		},
		active: inForce(f.Text("status")),
	}
	if err := f.Err(); err != nil || !r.active {
		return r, err
	}
	r.unknown = unknownCategories(d, categories, known)
	return r, checkBody(d)
}

// inForce reports whether the status is that of a lesson to be given out; others are
// automated, deprecated, archived.
func inForce(status string) bool { return status == "" || status == "active" }

// choose is what match says under any of the names, and, when it has none of them,
// what stands under the first one at the top.
func choose(top, match frontmatter.Fields, names ...string) []frontmatter.Element {
	if slices.ContainsFunc(names, match.Has) {
		return match.Elements(names...)
	}
	return top.Elements(names[0])
}

func parseCategories(f frontmatter.Fields, elements []frontmatter.Element) []fleet.Category {
	var categories []fleet.Category
	for _, e := range elements {
		c, err := fleet.ParseCategory(e.Text)
		if err != nil {
			f.Fail(e.At, "%v", err)
		}
		categories = append(categories, c)
	}
	return categories
}

// unknownCategories has a problem for each category that is not known, for a slip of
// the pen there would keep the lesson from its sessions unnoticed.
func unknownCategories(d *frontmatter.Document, elements []frontmatter.Element, known []fleet.Category) []error {
	names := plain.Each(known, func(c fleet.Category) string { return string(c) })
	var unknown []error
	for _, e := range elements {
		if slices.Contains(names, e.Text) {
			continue
		}
		advice := "remove it, or add it to stint.toml"
		if near := fleet.Nearest(e.Text, names); near != "" {
			advice = fmt.Sprintf("did you mean %s?", near)
		}
		unknown = append(unknown, d.NewError(e.At, "there is no category %q: %s", e.Text, advice))
	}
	return unknown
}

func checkBody(d *frontmatter.Document) error {
	text := d.Front + d.Rest
	start := len(text) - len(d.Body)
	switch {
	case len(d.Body) > maxBodyBytes:
		return frontmatter.NewError(d.Path, frontmatter.LineAt(text, start+maxBodyBytes),
			"more than 16 KiB of text up to here: keep the lesson short and link to the rest")
	case strings.TrimSpace(d.Body) == "":
		return frontmatter.NewError(d.Path, frontmatter.LineAt(text, start),
			"no text: write the lesson below the front matter, or set status: draft")
	}
	return nil
}
