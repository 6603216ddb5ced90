// Package why answers questions about the fleet in sentences: why a fire started what it
// started, why a category is not started, why a task is not worked on, why a run ended as
// it did, and what would have to change. It is pure: the record and the moment come in as
// values, and nothing is said that is not in them.
//
// Other people's words (reasons, holders, names) are passed on as they are. The caller that
// shows an answer makes them safe for where it is shown.
package why

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Kind names the subject of a question.
type Kind string

const (
	OfFire     Kind = "fire"
	OfRun      Kind = "run"
	OfCategory Kind = "category"
	OfTask     Kind = "task"
)

// Kinds are all of them, in the order in which a name is taken for one.
func Kinds() []Kind { return []Kind{OfFire, OfRun, OfCategory, OfTask} }

// Answer has the sentences about one subject.
type Answer struct {
	Kind      Kind
	Subject   string
	Verdict   string     // in a word or two, for programs
	Lead      []string   // the verdict in sentences
	Obstacles []Obstacle // what is in the way now, the most lasting first
	Parts     []Part     // what else there is to know, the most important first
}

// Obstacle is one thing in the way, and what would have to change.
type Obstacle struct {
	Kind    fleet.Hindrance
	Reason  string    // a sentence
	Until   time.Time // when it ends by itself; zero: when something changes
	Change  string    // a sentence
	Command string    // what to type for that; empty: there is no one command
}

// Part is sentences about one thing.
type Part struct {
	Title     string
	Sentences []string
}

// Sentences are all of the answer in the order in which it is read.
func (a Answer) Sentences() (list []string) {
	list = append(list, a.Lead...)
	for _, o := range a.Obstacles {
		list = append(list, o.Reason)
		if o.Change != "" {
			list = append(list, o.Change)
		}
	}
	for _, p := range a.Parts {
		list = append(list, p.Sentences...)
	}
	return list
}

// add appends a part, unless there is nothing in it.
func (a *Answer) add(title string, sentences ...string) {
	if len(sentences) > 0 {
		a.Parts = append(a.Parts, Part{title, sentences})
	}
}

// sentence makes one of a fragment: it begins as it is, and ends in a full stop.
func sentence(format string, args ...any) string {
	text := strings.TrimRight(fmt.Sprintf(format, args...), " \n")
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.HasSuffix(text, "!") {
		return text
	}
	return text + "."
}

// moment is a time, and how far from now it is.
func moment(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d >= time.Second:
		return fmt.Sprintf("%s (%s ago)", plain.Stamp(t), lapse(d))
	case d > -time.Second:
		return plain.Stamp(t) + " (just now)"
	default:
		return fmt.Sprintf("%s (in %s)", plain.Stamp(t), lapse(-d))
	}
}

// lapse is a length of time in words, in its largest unit.
func lapse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return plain.Plural(int(d.Round(time.Second)/time.Second), "second")
	case d < 2*time.Hour:
		return plain.Plural(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return plain.Plural(int(d/time.Hour), "hour")
	default:
		return plain.Plural(int(d/(24*time.Hour)), "day")
	}
}

// listed joins words, so many as a person wants to read.
func listed(words []string) string {
	const most = 5
	if len(words) > most {
		words = append(append([]string{}, words[:most-1]...), fmt.Sprintf("%d more", len(words)-most+1))
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// command joins words as a shell takes them apart. The last may be a name that somebody
// chose; one that begins with a dash is kept from passing for a flag.
func command(words ...string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(fleet.ShellWord(word))
	}
	return b.String()
}

// named is a name that somebody chose, as an argument.
func named[T ~string](name T) string {
	if strings.HasPrefix(string(name), "-") {
		return "-- " + fleet.ShellWord(string(name))
	}
	return fleet.ShellWord(string(name))
}

// later is a time that is to come, or none.
func later(t, now time.Time) time.Time {
	if t.After(now) {
		return t
	}
	return time.Time{}
}

// small continues a sentence with one that stood for itself.
func small(text string) string {
	if len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && (text[1] < 'A' || text[1] > 'Z') {
		return string(text[0]-'A'+'a') + text[1:]
	}
	return text
}

// capital begins a sentence with a fragment.
func capital(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// orDash is a word, or a dash where there is none.
func orDash(word string) string { return cmp.Or(word, "-") }
