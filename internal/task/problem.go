package task

import "stint/internal/frontmatter"

// problem is the error of a file that is not a task.
type problem = frontmatter.FileError

func newProblem(path string, line int, format string, args ...any) *problem {
	return frontmatter.NewError(path, line, format, args...)
}
