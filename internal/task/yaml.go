package task

import (
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parseYAML reads text that must be one document and nothing after it.
func parseYAML(text string) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		return nil, err
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, errors.New("a second YAML document")
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return &first, nil
}

// reason returns the parser's message without its line: the parser names the line of the
// construct in which it gave up, and for some constructs the next one.
func reason(err error) string {
	return regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")
}

// errorLine is the line that brings the error about: the text up to and with it
// fails as the whole does, the text before it does not.
func errorLine(text string, err error) int {
	var ends []int
	for line := range strings.Lines(text) {
		ends = append(ends, len(line))
		if n := len(ends); n > 1 {
			ends[n-1] += ends[n-2]
		}
	}
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		_, prefixErr := parseYAML(text[:ends[i]])
		return prefixErr != nil && reason(prefixErr) == reason(err)
	})
}
