package review_test

import (
	"strconv"
	"strings"
	"testing"

	"stint/internal/fleet"
	"stint/internal/review"
)

func TestParseHeard(t *testing.T) {
	t.Parallel()
	asked := []review.Published{{Run: "0a"}, {Run: "0b"}}
	for name, tt := range map[string]struct {
		text string
		runs string
		want string // a problem, or the error
	}{
		"both":          {`[{"run":"0a","checks":"passed"},{"run":"0b","comments":[{"at":"1","by":"ann","text":"x"}]}]`, "0a 0b", ""},
		"none":          {`[]`, "", ""},
		"no list":       {`{"run":"0a"}`, "", "no list of JSON"},
		"nothing":       {``, "", "no list of JSON"},
		"unknown":       {`[{"run":"0c"},{"run":"0a"}]`, "0a", `entry 1: run "0c" was not asked about`},
		"twice":         {`[{"run":"0a"},{"run":"0a"}]`, "0a", "entry 2: run 0a is listed twice"},
		"word":          {`[{"run":"0a","checks":"red"},{"run":"0b"}]`, "0b", `checks of run 0a: "red", want passed, failed or pending`},
		"empty comment": {`[{"run":"0a","comments":[{"text":" "}]},{"run":"0b"}]`, "0b", "a comment on run 0a has no text"},
		"wrong type":    {`[{"run":7},{"run":"0b"}]`, "0b", "entry 1: "},
	} {
		list, problems, err := review.ParseHeard([]byte(tt.text), asked)
		var runs []string
		for _, h := range list {
			runs = append(runs, string(h.Run))
		}
		if err != nil {
			problems = append(problems, err)
		}
		if got := strings.Join(runs, " "); got != tt.runs || len(problems) == 0 != (tt.want == "") ||
			len(problems) > 0 && !strings.Contains(problems[0].Error(), tt.want) {
			t.Errorf("%s: got %q and %v, want %q and %q", name, got, problems, tt.runs, tt.want)
		}
	}
}

// TestNews follows one item: what is known is no news, whatever is answered meanwhile.
func TestNews(t *testing.T) {
	t.Parallel()
	h := review.Heard{Run: "0a", Checks: review.ChecksFailed, Comments: []review.Comment{{At: "1", By: "ann\n", Text: "Why?\x1b[2J"}}}
	f, news := h.News(fleet.Feedback{}, "0123456789abcdef")
	if want := "The checks of commit 0123456789ab failed.\n\nann 1:\nWhy?\uFFFD[2J"; !news || f.Said != want {
		t.Errorf("got %v: %q, want %q", news, f.Said, want)
	}
	if again, news := h.News(f, "0123456789abcdef"); news || again.Said != f.Said {
		t.Errorf("the same again: got %v: %q", news, again.Said)
	}
	h.Comments = append(h.Comments, review.Comment{At: "1", By: "bob", Text: strings.Repeat("x", 9<<10)})
	f, news = h.News(f, "0123456789abcdef")
	if !news || !strings.HasPrefix(f.Said, "The checks") || !strings.HasSuffix(f.Said, "\n(5120 more bytes)") {
		t.Errorf("a comment of the same time: got %v: %q", news, f.Said)
	}
	f.Said = ""
	if f, news := h.News(f, "another"); !news || f.Said != "The checks of commit another failed." {
		t.Errorf("another commit: got %v: %q", news, f.Said)
	}
	for range 20 {
		h.Comments = append(h.Comments, review.Comment{At: "2", By: strings.Repeat("y", len(h.Comments)), Text: strings.Repeat("x", 9<<10)})
	}
	if f, _ := h.News(f, "another"); len(f.Said) > 25<<10 {
		t.Errorf("got %d bytes for a prompt, want a bound", len(f.Said))
	}
	for n := range 3000 {
		h.Comments = append(h.Comments, review.Comment{At: "3", By: "cy", Text: strconv.Itoa(n)})
	}
	f, _ = h.News(f, "another")
	if _, news := h.News(f, "another"); news {
		t.Error("3000 comments are news twice")
	}
}
