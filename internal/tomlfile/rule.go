package tomlfile

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Rule is what a value must be.
type Rule[T any] struct {
	// Parse makes of a decoded value what stint works with, or says what it wants instead.
	Parse func(value any) (T, error)
	// Suggest is a value to write in place of a refused one: what its author may have
	// meant, or else the default, or else an example. nil: a string.
	Suggest func(refused any, fallback T) any
	// Write makes of a value what [Literal] takes. nil: it is that already, or a string.
	Write func(T) any
	// Schema is the rule for editors, as far as it can be said there. nil: it is a string.
	Schema func() Schema

	pattern string // of a string, for editors
}

func (r Rule[T]) suggest(refused any, fallback T) any {
	if r.Suggest != nil {
		return r.Suggest(refused, fallback)
	}
	if standard := fmt.Sprint(fallback); standard != "" {
		return standard
	}
	switch refused.(type) {
	case bool, int64, float64:
		return Literal(refused) // with quotes
	}
	return "…"
}

func (r Rule[T]) write(value T) any {
	switch {
	case r.Write != nil:
		return r.Write(value)
	case r.Schema == nil:
		return fmt.Sprint(value) // of a type of its own
	}
	return value
}

func (r Rule[T]) schema() Schema {
	switch {
	case r.Schema != nil:
		return r.Schema()
	case r.pattern != "":
		return Schema{"type": "string", "pattern": r.pattern}
	}
	return Schema{"type": "string"}
}

// Example is the rule with one value to suggest, whatever stands there.
func (r Rule[T]) Example(value any) Rule[T] {
	r.Suggest = func(any, T) any { return value }
	return r
}

// Text is any string.
func Text() Rule[string] { return Word[string](nil) }

// Word is a string that check accepts, of a type of its own.
func Word[T ~string](check func(string) error) Rule[T] {
	return Rule[T]{
		Parse: func(value any) (T, error) {
			s, ok := value.(string)
			if !ok {
				return "", Wanted("a string", value)
			}
			if check == nil {
				return T(s), nil
			}
			return T(s), check(s)
		},
	}
}

// Known is one of the words that there are when it is read.
func Known[T ~string](what string, words func() []T) Rule[T] {
	return Word[T](func(word string) error {
		if slices.Contains(words(), T(word)) {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("there is no %s %s", what, Describe(word)), Meant(word, words()))
	})
}

// Matching is the rule with the pattern of its strings, for editors.
func (r Rule[T]) Matching(pattern string) Rule[T] {
	r.pattern = pattern
	return r
}

// PlainName is a name for units and files; what says whose, and example has one.
func PlainName(what, example string) Rule[string] {
	return Word[string](func(s string) error {
		if isBare(s) && len(s) <= 32 && !strings.ContainsAny(s[:1], "_-") {
			return nil
		}
		return fleet.WithHint(fmt.Errorf("%s is 1 to 32 of a-z, A-Z, 0-9, _ and -, not starting with _ or -", what),
			"rename it, as in "+example)
	}).Matching("^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$")
}

// Truth is true or false.
func Truth() Rule[bool] {
	return Rule[bool]{
		Parse: func(value any) (bool, error) {
			b, ok := value.(bool)
			if !ok {
				return false, Wanted("true or false", value)
			}
			return b, nil
		},
		Suggest: func(refused any, _ bool) any {
			return !slices.Contains([]string{"no", "off", "false", "0"}, strings.ToLower(fmt.Sprint(refused)))
		},
		Schema: func() Schema { return Schema{"type": "boolean"} },
	}
}

// NoLimit is the highest whole number.
const NoLimit = math.MaxInt

// Whole is a whole number from low to high.
func Whole[T int | int64](low, high T) Rule[T] {
	return Rule[T]{
		Parse: func(value any) (T, error) {
			n, ok := value.(int64)
			switch {
			case ok && n >= int64(low) && n <= int64(high):
				return T(n), nil
			case int64(high) == NoLimit:
				return 0, Wanted(fmt.Sprintf("a whole number of %d or more", low), value)
			}
			return 0, Wanted(fmt.Sprintf("a whole number from %d to %d", low, high), value)
		},
		Suggest: func(refused any, fallback T) any {
			if f, ok := numberMeant(refused); ok {
				return T(min(max(f, float64(low)), float64(high), 1e15))
			}
			return cmp.Or(fallback, max(low, 1))
		},
		Schema: func() Schema {
			s := Schema{"type": "integer", "minimum": low}
			if int64(high) != NoLimit {
				s["maximum"] = high
			}
			return s
		},
	}
}

// numberIn is a value that is a number.
func numberIn(value any) (float64, bool) {
	if n, ok := value.(int64); ok {
		return float64(n), true
	}
	f, ok := value.(float64)
	return f, ok && !math.IsNaN(f)
}

// numberMeant is a value that is a number, or a string that has one.
func numberMeant(value any) (float64, bool) {
	s, is := value.(string)
	if !is {
		return numberIn(value)
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsNaN(f)
}

// Number is a number from low to high, which nan is not.
func Number(low, high float64) Rule[float64] {
	return number(func(f float64) float64 { return min(max(f, low), high) }, func() (string, Schema) {
		return fmt.Sprintf("from %g to %g", low, high), Schema{"type": "number", "minimum": low, "maximum": high}
	})
}

// number is one that nearest leaves as it is; bounds says so to people and to editors.
func number(nearest func(float64) float64, bounds func() (string, Schema)) Rule[float64] {
	return Rule[float64]{
		Parse: func(value any) (float64, error) {
			f, ok := numberIn(value)
			if ok && f == nearest(f) {
				return f, nil
			}
			want, _ := bounds()
			return 0, Wanted("a number "+want, value)
		},
		Suggest: func(refused any, fallback float64) any {
			if f, ok := numberMeant(refused); ok {
				return nearest(f)
			}
			return cmp.Or(fallback, nearest(0.5))
		},
		Schema: func() Schema {
			_, s := bounds()
			return s
		},
	}
}

// Fraction is a number from 0 to 1.
func Fraction() Rule[float64] { return Number(0, 1) }

// Chance is a probability that leaves room for the other case: below 1.
func Chance() Rule[float64] {
	return number(func(f float64) float64 { return min(max(f, 0), math.Nextafter(1, 0)) }, func() (string, Schema) {
		return "from 0 to below 1", Schema{"type": "number", "minimum": 0, "exclusiveMaximum": 1}
	}).Example(0.2)
}

// OrNone takes 0 as well, which turns the thing off.
func OrNone(r Rule[float64]) Rule[float64] {
	or := r
	or.Parse = func(value any) (float64, error) {
		if value == any(int64(0)) || value == any(0.0) {
			return 0, nil
		}
		f, err := r.Parse(value)
		if err != nil {
			err = fmt.Errorf("%w; or 0 for none", err)
		}
		return f, err
	}
	or.Suggest = func(refused any, fallback float64) any {
		if f, ok := numberMeant(refused); ok && f <= 0 {
			return 0.0
		}
		return r.Suggest(refused, fallback)
	}
	or.Schema = func() Schema { return Schema{"anyOf": []Schema{{"type": "number", "const": 0}, r.Schema()}} }
	return or
}

// Duration is a time above zero.
func Duration() Rule[time.Duration] {
	return span(1, math.MaxInt64, `a duration above zero, such as "90s", "50m" or "1h30m"`)
}

// Within is a time above zero, and no longer than most.
func Within(most time.Duration) Rule[time.Duration] {
	return span(1, most, "a duration above zero and of at most "+quote(brief(most)))
}

// Pause is a time that may be none at all.
func Pause() Rule[time.Duration] {
	return span(0, math.MaxInt64, `a duration, such as "0s", "90s" or "1h30m"`)
}

// Days is a time of whole days, or none.
func Days() Rule[time.Duration] {
	const day, most = 24 * time.Hour, 100_000
	return Rule[time.Duration]{
		Parse: func(value any) (time.Duration, error) {
			s, is := value.(string)
			if is && s == "" {
				return 0, nil
			}
			number, named := strings.CutSuffix(s, "d")
			n, err := strconv.ParseUint(number, 10, 32)
			if err != nil || !named || n == 0 || n > most {
				return 0, Wanted(`days, such as "400d", or "" for no bound`, value)
			}
			return time.Duration(n) * day, nil //nolint:gosec // it is below most
		},
		Suggest: func(_ any, fallback time.Duration) any { return cmp.Or(writeDays(fallback), "400d") },
		Write:   func(d time.Duration) any { return writeDays(d) },
		Schema:  func() Schema { return Schema{"type": "string", "pattern": `^([1-9][0-9]*d)?$`} },
	}
}

func writeDays(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

func span(least, most time.Duration, want string) Rule[time.Duration] {
	return Rule[time.Duration]{
		Parse: func(value any) (time.Duration, error) {
			s, _ := value.(string)
			d, err := time.ParseDuration(s)
			if err != nil || d < least || d > most {
				return 0, Wanted(want, value)
			}
			return d, nil
		},
		Suggest: func(_ any, fallback time.Duration) any { return cmp.Or(fallback, min(50*time.Minute, most)) },
		Schema: func() Schema {
			const part = `[0-9.]+(ns|us|µs|μs|ms|s|m|h)`
			if least == 0 {
				return Schema{"type": "string", "pattern": "^([-+]?0|[+]?(" + part + ")+)$"}
			}
			// A digit that is not 0 in one of its parts.
			return Schema{"type": "string", "pattern": `^[+]?(` + part + `)*[0-9.]*[1-9]` + strings.Replace(part, "+", "*", 1) + `(` + part + `)*$`}
		},
	}
}

// OneOf is one of some words.
func OneOf[T ~string](words ...T) Rule[T] {
	return Rule[T]{
		Parse: func(value any) (T, error) {
			s, ok := value.(string)
			if !ok {
				return "", Wanted("a string", value)
			}
			if !slices.Contains(words, T(s)) {
				return "", Wanted(strings.ReplaceAll(strings.Trim(Literal(texts(words)), "[]"), ",", " or"), value)
			}
			return T(s), nil
		},
		Suggest: func(refused any, fallback T) any {
			s, _ := refused.(string)
			near := fleet.Nearest(s, texts(words))
			return cmp.Or(near, string(cmp.Or(fallback, words[0])))
		},
		Write:  func(v T) any { return string(v) },
		Schema: func() Schema { return Schema{"type": "string", "enum": words} },
	}
}

// texts makes strings of words of a type of their own.
func texts[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// Absolute is a path that means the same wherever it is read.
func Absolute(example string) Rule[string] { return path(nil, example) }

// path is a path, absolute or relative to the folder that base says when it is read; nil:
// absolute only. It is best like the standard; where that is empty, it may be empty.
func path(base *string, standard string) Rule[string] {
	return Rule[string]{
		Parse: func(value any) (string, error) {
			s, err := Text().Parse(value)
			switch {
			case err != nil:
				return "", err
			case s == "~" || strings.HasPrefix(s, "~/"): // its author expects a shell to expand it
				return "", fleet.WithHint(fmt.Errorf("%s: ~ is not expanded", Describe(s)), "write the home folder's own path")
			case filepath.IsAbs(s):
				return filepath.Clean(s), nil
			case base == nil:
				return "", Wanted("an absolute path", value)
			case s == "" && standard != "":
				return "", Wanted("a path", value)
			case s == "":
				return "", nil
			}
			return filepath.Join(*base, s), nil
		},
		Suggest: func(any, string) any { return cmp.Or(standard, "FILE") },
		Schema: func() Schema {
			switch {
			case base == nil:
				return Schema{"type": "string", "pattern": "^/"}
			case standard == "":
				return Schema{"type": "string", "pattern": "^($|[^~]|~[^/])"}
			}
			return Schema{"type": "string", "pattern": "^([^~]|~[^/])"}
		},
	}
}

// Bytes is an amount of memory or of space on a disk, or 0 for none.
func Bytes() Rule[int64] {
	return Rule[int64]{
		Parse: func(value any) (int64, error) {
			n, ok := value.(int64)
			if s, isText := value.(string); isText {
				n, ok = bytesOf(s)
			}
			if !ok || n < 0 {
				return 0, Wanted(`an amount such as "1G" or "512M"`, value)
			}
			return n, nil
		},
		Suggest: func(_ any, fallback int64) any { return shownBytes(cmp.Or(fallback, 1<<30)) },
		Write:   shownBytes,
		Schema: func() Schema {
			return Schema{"anyOf": []Schema{{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+[" + byteUnits + "]?$"}}}
		},
	}
}

const byteUnits = "KMGT" // in steps of 1024

func bytesOf(s string) (int64, bool) {
	digits := strings.TrimRight(s, byteUnits)
	n, err := strconv.ParseUint(digits, 10, 40) // so that no unit makes it overflow, and more than any machine has
	if unit := s[len(digits):]; unit != "" {
		power := strings.Index(byteUnits, unit) + 1
		if power == 0 || n > 1<<20 {
			return 0, false
		}
		n <<= 10 * power
	}
	return int64(n), err == nil
}

// shownBytes is an amount in the largest unit of which it is a whole number.
func shownBytes(n int64) any {
	for power := len(byteUnits); n > 0 && power > 0; power-- {
		if unit := int64(1) << (10 * power); n%unit == 0 && n/unit <= 1<<20 {
			return strconv.FormatInt(n/unit, 10) + byteUnits[power-1:power]
		}
	}
	return n
}
