package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"stint/internal/fleet"
)

// LessonFolder is a folder of lesson files, with its sub-folders. Names with a dot in front, and
// files not named *.md, are ignored, and so is a README.md without front matter. Lessons help
// sessions, so that nothing about them stops one.
//
// A lesson says what it fits under match, as categories and as tags. Where match has none of them, the
// same two fields at the top say it. The lessons of gptme have session_categories under match, read as
// categories, and keywords, meant for searching a conversation. Here keywords are further tags, so that
// such a lesson fits the tasks that bear one, not every task. Every other field is ignored.
type LessonFolder struct {
	Dir        string           // absolute; a folder that does not exist has no lessons
	Categories []fleet.Category // those there are
}

// List reads every lesson in force, sorted by id, and says what is wrong with the
// folder, in the order in which it is read: by name, and each sub-folder at its own.
// A file that has a problem is left out, except for one that names a category there is
// not: the lesson is good for the others it names. The first of two files with one id is the
// lesson. The only error is that of ctx.
//
// A link to a file is read as the file. A link to a folder is a problem: following
// it could lead anywhere, and back.
func (f LessonFolder) List(ctx context.Context) ([]fleet.Lesson, []fleet.LessonProblem, error) {
	w := walk{LessonFolder: f, first: make(map[fleet.LessonID]string)}
	top := f.Dir + "/" // The folder may be a link itself, which the slash makes the walk follow.
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case path == top:
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.report(unreadable(w.Dir, err, "set dir under [lessons] in stint.toml"))
			}
			return nil
		}
		return w.visit(path, entry, err)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list lessons: %w", err)
	}
	slices.SortFunc(w.lessons, func(a, b fleet.Lesson) int { return cmp.Compare(a.ID, b.ID) })
	return w.lessons, w.problems, nil
}

// walk is one reading of a folder.
type walk struct {
	LessonFolder
	lessons  []fleet.Lesson
	problems []fleet.LessonProblem
	first    map[fleet.LessonID]string // where each id was found
}

// visit takes an entry of the folder. An error is why a sub-folder, taken before,
// cannot be listed.
func (w *walk) visit(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		if !errors.Is(err, fs.ErrNotExist) {
			w.report(unreadable(path, err, moveOut))
		}
	case entry.IsDir():
		if hidden(entry) {
			return fs.SkipDir
		}
	case hidden(entry):
	case linksFolder(path, entry):
		w.report(newError(path, 0, "a link to a folder is not followed: link its files, or move them here"))
	case strings.HasSuffix(path, extension):
		w.visitFile(path)
	}
	return nil
}

// visitFile reads a file. One that was deleted since is ignored.
func (w *walk) visitFile(path string) {
	data, _, err := Folder{}.readFile(path)
	switch {
	case err != nil:
		w.report(explain(path, err))
	case !isReadme(path, data):
		w.take(path, data)
	}
}

// take adds the lesson that a file's bytes are.
func (w *walk) take(path string, data []byte) {
	r, err := parseLesson(path, data, w.Categories)
	if err != nil {
		w.report(err)
		return
	}
	if !r.active {
		return
	}
	if first, ok := w.first[r.lesson.ID]; ok {
		w.report(newError(path, 0, "a second lesson %q, the first is %q: rename one", r.lesson.ID, first))
		return
	}
	w.first[r.lesson.ID] = path
	w.lessons = append(w.lessons, r.lesson)
	for _, problem := range r.unknown {
		w.report(problem)
	}
}

// report keeps a problem. An error of another type is that of a file to be ignored.
func (w *walk) report(err error) {
	if bad, ok := errors.AsType[*fileError](err); ok {
		w.problems = append(w.problems, bad.TaskProblem)
	}
}

func hidden(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") }

func isLink(entry fs.DirEntry) bool { return entry.Type()&fs.ModeSymlink != 0 }

func linksFolder(path string, entry fs.DirEntry) bool {
	if !isLink(entry) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
