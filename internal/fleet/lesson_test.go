package fleet

import (
	"strings"
	"testing"
)

func TestParseLessonID(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "git-workflow", "it's \"so\"", "étude 🔥", ".hidden", strings.Repeat("x", 255)} {
		if got, err := ParseLessonID(s); string(got) != s || err != nil {
			t.Errorf("%q: got %q, %v, want it taken", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"":                       "lesson id: must not be empty",
		"a/b":                    `lesson id "a/b": a slash is not allowed`,
		"a\nb":                   `lesson id "a\nb": control characters are not allowed`,
		"a\u009bb":               `lesson id "a\u009bb": control characters are not allowed`,
		"caf\xe9":                `lesson id "caf\xe9": not valid UTF-8`,
		strings.Repeat("x", 256): "lesson id: 256 bytes, want at most 255",
	} {
		if got, err := ParseLessonID(s); got != "" || err == nil || err.Error() != want {
			t.Errorf("%q: got %q, %v, want %s", s, got, err, want)
		}
	}
}

func TestLessonMatches(t *testing.T) {
	t.Parallel()
	code, goTask, bare := Category("code"), &Task{Tags: []string{"cli", "go"}}, &Task{}
	for _, test := range []struct {
		name     string
		lesson   Lesson
		category Category
		task     *Task
		want     bool
	}{
		{"of everything, no task", Lesson{}, code, nil, true},
		{"of everything, a task", Lesson{}, code, goTask, true},
		{"of the category", Lesson{Categories: []Category{"docs", "code"}}, code, nil, true},
		{"of another category", Lesson{Categories: []Category{"docs"}}, code, goTask, false},
		{"one of its tags", Lesson{Tags: []string{"rust", "go"}}, code, goTask, true},
		{"none of its tags", Lesson{Tags: []string{"rust", "Go"}}, code, goTask, false},
		{"tags, a task without", Lesson{Tags: []string{"go"}}, code, bare, false},
		{"tags, no task", Lesson{Tags: []string{"go"}}, code, nil, false},
		{"category and tag", Lesson{Categories: []Category{"code"}, Tags: []string{"go"}}, code, goTask, true},
		{"category, but no tag", Lesson{Categories: []Category{"code"}, Tags: []string{"rust"}}, code, goTask, false},
		{"tag, but another category", Lesson{Categories: []Category{"docs"}, Tags: []string{"go"}}, code, goTask, false},
	} {
		if got := test.lesson.Matches(test.category, test.task); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
