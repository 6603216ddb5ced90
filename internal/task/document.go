package task

import "stint/internal/frontmatter"

// document is a task file taken apart.
type document struct{ *frontmatter.Document }

// newDocument takes a file apart; its errors are problems.
func newDocument(path string, data []byte) (document, error) {
	d, err := frontmatter.Kind("task").Parse(path, data)
	return document{d}, err
}
