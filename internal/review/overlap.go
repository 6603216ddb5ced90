package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Reach lists the files that the work at a task is expected to change.
type Reach struct {
	Files []string // that its attempts changed
	Paths []string // patterns of files, as the task declares them
}

// Work is work that the target does not have yet.
type Work struct {
	Run     fleet.RunID
	Task    fleet.TaskID // empty: none, or not known
	Session bool         // it is at work; else what it left waits for review
	Reach                // a session's: of its task, and what it has changed so far
}

// Overlaps knows which work changes which files.
type Overlaps struct {
	serialize []string
	work      []Work
	touched   []touched // sorted by file
}

type touched struct {
	file string
	work int
}

// NewOverlaps takes the work that the target does not have, and patterns of files that one task
// at a time may change.
func NewOverlaps(work []Work, serialize []string) Overlaps {
	o := Overlaps{serialize: serialize, work: work}
	for n, w := range work {
		for _, file := range w.Files {
			o.touched = append(o.touched, touched{file, n})
		}
	}
	slices.SortFunc(o.touched, func(a, b touched) int {
		return cmp.Or(strings.Compare(a.file, b.file), cmp.Compare(a.work, b.work))
	})
	return o
}

// Of says which work changes what a session at the task would change; the zero value: none does.
// Work at the same task is left out: its next attempt goes on from there.
func (o Overlaps) Of(task fleet.TaskID, r Reach) fleet.Overlap {
	for _, pattern := range o.serialize {
		if !r.meets(pattern) {
			continue
		}
		for _, w := range o.work {
			if file, meets := w.within(pattern); meets && w.Task != task {
				return fleet.Overlap{Why: fmt.Sprintf("%s, and [review] serialize has %q", w.changes(file), pattern), Waits: true}
			}
		}
	}
	for _, file := range r.Files {
		if why := o.changing(file, task, func(f string) bool { return f == file }); why != "" {
			return fleet.Overlap{Why: why}
		}
	}
	for _, path := range r.Paths {
		if why := o.changing(plain.Stem(path), task, func(f string) bool { return plain.Matches(path, f) }); why != "" {
			return fleet.Overlap{Why: why}
		}
		for _, w := range o.work {
			if w.Task != task && slices.ContainsFunc(w.Paths, func(p string) bool { return alike(p, path) }) {
				return fleet.Overlap{Why: w.changes(path)}
			}
		}
	}
	return fleet.Overlap{}
}

// Excluded lists, for each task, the others that may change a file of the same pattern.
func Excluded(tasks map[fleet.TaskID]Reach, serialize []string) map[fleet.TaskID][]fleet.TaskID {
	apart := map[fleet.TaskID][]fleet.TaskID{}
	for _, pattern := range serialize {
		group := plain.Kept(slices.Sorted(maps.Keys(tasks)), func(id fleet.TaskID) bool { return tasks[id].meets(pattern) })
		for _, id := range group {
			for _, other := range group {
				if other != id && !slices.Contains(apart[id], other) {
					apart[id] = append(apart[id], other)
				}
			}
		}
	}
	return apart
}

// changing says which other work changes a file that begins with the stem and fits.
func (o Overlaps) changing(stem string, task fleet.TaskID, fits func(file string) bool) string {
	at, _ := slices.BinarySearchFunc(o.touched, stem, func(t touched, stem string) int { return strings.Compare(t.file, stem) })
	for _, t := range o.touched[at:] {
		if !strings.HasPrefix(t.file, stem) {
			break
		}
		if w := o.work[t.work]; w.Task != task && fits(t.file) {
			return w.changes(t.file)
		}
	}
	return ""
}

// meets reports whether the work may change a file of a pattern.
func (r Reach) meets(pattern string) bool {
	_, meets := r.within(pattern)
	return meets
}

// within is a file of a pattern that the work changes, or a pattern that has such files.
func (r Reach) within(pattern string) (file string, meets bool) {
	if at := slices.IndexFunc(r.Files, func(f string) bool { return plain.Matches(pattern, f) }); at >= 0 {
		return r.Files[at], true
	}
	if at := slices.IndexFunc(r.Paths, func(p string) bool { return alike(p, pattern) }); at >= 0 {
		return r.Paths[at], true
	}
	return "", false
}

// alike reports whether two patterns are likely to stand for the same files: one matches the
// other's own text.
func alike(a, b string) bool { return plain.Matches(a, b) || plain.Matches(b, a) }

// changes says what the work changes.
func (w Work) changes(file string) string {
	if w.Session {
		return fmt.Sprintf("run %s, which is at work, changes %s", w.Run, plain.Line(file))
	}
	return fmt.Sprintf("the work of run %s, which waits for review, changes %s", w.Run, plain.Line(file))
}
