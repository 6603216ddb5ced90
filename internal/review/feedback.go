package review

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Published is an item that waits at a forge, as the command is asked about it.
type Published struct {
	Run    fleet.RunID  `json:"run"`
	Task   fleet.TaskID `json:"task"`
	Branch string       `json:"branch"`
	Tip    string       `json:"tip"`
	URL    string       `json:"url"`
}

// Heard has the words of a forge on one item.
type Heard struct {
	Run      fleet.RunID `json:"run"`
	Checks   string      `json:"checks"`
	Comments []Comment   `json:"comments"`
}

// Comment is a reviewer's word.
type Comment struct {
	At   string `json:"at"`
	By   string `json:"by"`
	Text string `json:"text"`
}

// Results of checks; empty: nothing is said of them.
const (
	ChecksPassed  = "passed"
	ChecksFailed  = "failed"
	ChecksPending = "pending"
)

// ParseHeard reads what the command printed: a list. An entry that is wrong is a problem, and left
// out; one of an item that was not asked about is, too.
func ParseHeard(data []byte, asked []Published) (list []Heard, problems []error, err error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, nil, fleet.WithHint(fmt.Errorf("it printed no list of JSON: %w", err), "stint help review")
	}
	known := map[fleet.RunID]bool{}
	for _, p := range asked {
		known[p.Run] = true
	}
	for n, entry := range entries {
		h, err := parseHeard(entry, known)
		if err != nil {
			problems = append(problems, fmt.Errorf("entry %d: %w", n+1, err))
			continue
		}
		known[h.Run] = false // once each
		list = append(list, h)
	}
	return list, problems, nil
}

func parseHeard(entry json.RawMessage, known map[fleet.RunID]bool) (h Heard, err error) {
	if err := json.Unmarshal(entry, &h); err != nil {
		return h, err
	}
	want := []string{"", ChecksPassed, ChecksFailed, ChecksPending}
	again, asked := known[h.Run]
	switch {
	case !asked:
		err = fmt.Errorf("run %q was not asked about", plain.Line(string(h.Run)))
	case !again:
		err = fmt.Errorf("run %s is listed twice", h.Run)
	case !slices.Contains(want, h.Checks):
		err = fmt.Errorf("checks of run %s: %q, want passed, failed or pending", h.Run, plain.Line(h.Checks))
	case slices.ContainsFunc(h.Comments, func(c Comment) bool { return strings.TrimSpace(c.Text) == "" }):
		err = errors.New("a comment on run " + string(h.Run) + " has no text")
	}
	return h, err
}

const (
	// maxSaid bounds what goes into a prompt, in bytes: some pages, as of lessons.
	maxSaid = 24 << 10
	// maxComment bounds one comment: a log that somebody pasted must not crowd out the others.
	maxComment = 4 << 10
	// maxName bounds who said it, and when.
	maxName = 120
	// maxSeen bounds the marks of one item, of 16 digits each.
	maxSeen = 1000
)

// News returns the feedback with the words that are new, and whether there are any. Words that wait
// for an answer already stand before them. A check that failed is news once for each commit.
func (h Heard) News(f fleet.Feedback, tip string) (fleet.Feedback, bool) {
	var parts []string
	note := func(text string, mark ...string) {
		sum := sha256.Sum256([]byte(strings.Join(mark, "\x00")))
		m := hex.EncodeToString(sum[:8])
		if !slices.Contains(f.Seen, m) {
			f.Seen, parts = append(slices.Clone(f.Seen), m), append(parts, text)
		}
	}
	if h.Checks == ChecksFailed {
		note("The checks of commit "+short(tip)+" failed.", "checks", tip)
	}
	for _, c := range h.Comments[max(0, len(h.Comments)-maxSeen/2):] { // the last: their marks are still there the next time
		head := strings.Join(strings.Fields(plain.Short(plain.Line(c.By+" "+c.At), maxName)), " ")
		note(head+":\n"+clip(plain.Text(strings.TrimSpace(c.Text)), maxComment), "comment", c.At, c.By, c.Text)
	}
	if len(parts) == 0 {
		return f, false
	}
	f.Seen = f.Seen[max(0, len(f.Seen)-maxSeen):]
	if f.Said != "" {
		parts = append([]string{f.Said}, parts...)
	}
	f.Said = clip(strings.Join(parts, "\n\n"), maxSaid)
	return f, true
}

// clip is the beginning of a text, of at most so many bytes, and says that there is more.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:most]), nil)) + fmt.Sprintf("\n(%d more bytes)", len(text)-most)
}
