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
// A file that has a problem is left out, except for one that likely misspells a category:
// the lesson is good for the others it names. The first of two files with one id is the
// lesson. The only error is that of ctx.
//
// A link to a file is read as the file. A link to a folder is a problem: following
// it could lead anywhere, and back.
func (f LessonFolder) List(ctx context.Context) (lessons []fleet.Lesson, problems []fleet.LessonProblem, err error) {
	// An error of another type is that of a file to be ignored.
	report := func(err error) {
		if bad, ok := errors.AsType[*fileError](err); ok {
			problems = append(problems, bad.TaskProblem)
		}
	}
	first := map[fleet.LessonID]string{} // where each id was found
	top := f.Dir + "/"                   // the folder may be a link itself, which the slash makes the walk follow
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
		case path == top && err != nil:
			report(unreadable(f.Dir, err, "set dir under [lessons] in stint.toml"))
		case err != nil: // why a folder, taken before, cannot be listed
			report(unreadable(path, err, moveOut))
		case path == top:
		case strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case linksFolder(path, entry):
			report(newError(path, 0, "a link to a folder is not followed: link its files, or move them here"))
		case !entry.IsDir() && strings.HasSuffix(path, extension):
			r, err := f.read(path)
			switch at, twice := first[r.lesson.ID]; {
			case err != nil:
				report(err)
			case !r.active:
			case twice:
				report(newError(path, 0, "a second lesson %q, the first is %q: rename one", r.lesson.ID, at))
			default:
				first[r.lesson.ID] = path
				lessons = append(lessons, r.lesson)
				for _, problem := range r.unknown {
					report(problem)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list lessons: %w", err)
	}
	slices.SortFunc(lessons, func(a, b fleet.Lesson) int { return cmp.Compare(a.ID, b.ID) })
	return lessons, problems, nil
}

// read reads a file. A file that was deleted since is ignored.
func (f LessonFolder) read(path string) (reading, error) {
	data, _, err := Folder{}.readFile(path)
	switch {
	case err != nil:
		return reading{}, explain(path, err)
	case isReadme(path, data):
		return reading{}, errIgnored
	}
	return parseLesson(path, data, f.Categories)
}

func linksFolder(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
