package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// rule is what a value must be: parse makes of a decoded value what stint works
// with, or says what it wants instead; example is one it takes, as TOML.
type rule[T any] struct {
	example string
	parse   func(value any) (T, error)
}

func text() rule[string] {
	return rule[string]{`"…"`, func(value any) (string, error) {
		s, ok := value.(string)
		if !ok {
			return "", wanted("a string", value)
		}
		return s, nil
	}}
}

func truth() rule[bool] {
	return rule[bool]{"true", func(value any) (bool, error) {
		b, ok := value.(bool)
		if !ok {
			return false, wanted("true or false", value)
		}
		return b, nil
	}}
}

// whole is a number from low to high; [math.MaxInt] is no limit.
func whole(low, high int) rule[int] {
	want := fmt.Sprintf("a whole number from %d to %d", low, high)
	if high == math.MaxInt {
		want = fmt.Sprintf("a whole number of %d or more", low)
	}
	return rule[int]{literal(low), func(value any) (int, error) {
		n, ok := value.(int64)
		if !ok || n < int64(low) || n > int64(high) {
			return 0, wanted(want, value)
		}
		return int(n), nil
	}}
}

// fraction is a number from 0 to 1, which nan is not.
func fraction() rule[float64] {
	return rule[float64]{"0.5", func(value any) (float64, error) {
		f, ok := value.(float64)
		if n, isWhole := value.(int64); isWhole {
			f, ok = float64(n), true
		}
		if inside := f >= 0 && f <= 1; !ok || !inside {
			return 0, wanted("a number from 0 to 1", value)
		}
		return f, nil
	}}
}

// number is a number from low to high, which nan is not.
func number(low, high float64) rule[float64] {
	return rule[float64]{literal(low), func(value any) (float64, error) {
		f, ok := value.(float64)
		if n, isWhole := value.(int64); isWhole {
			f, ok = float64(n), true
		}
		if inside := f >= low && f <= high; !ok || !inside {
			return 0, wanted(fmt.Sprintf("a number from %g to %g", low, high), value)
		}
		return f, nil
	}}
}

// orNone takes 0 as well, which turns the thing off.
func orNone(r rule[float64]) rule[float64] {
	return rule[float64]{r.example, func(value any) (float64, error) {
		if value == any(int64(0)) || value == any(0.0) {
			return 0, nil
		}
		f, err := r.parse(value)
		if err != nil {
			return 0, fmt.Errorf("%w; or 0 for none", err)
		}
		return f, nil
	}}
}

// chance is a probability that leaves room for the other case: below 1.
func chance() rule[float64] {
	return rule[float64]{"0.2", func(value any) (float64, error) {
		f, err := fraction().parse(value)
		if err != nil || f == 1 {
			return 0, wanted("a number from 0 to below 1", value)
		}
		return f, nil
	}}
}

func duration() rule[time.Duration] {
	return span(1, `a duration above zero, such as "90s", "50m" or "1h30m"`)
}

// within is a duration above zero, and no longer than most.
func within(most time.Duration) rule[time.Duration] {
	want := fmt.Sprintf("a duration above zero and of at most %s", literal(most))
	return rule[time.Duration]{literal(most), func(value any) (time.Duration, error) {
		d, err := span(1, want).parse(value)
		if err == nil && d > most {
			err = wanted(want, value)
		}
		return d, err
	}}
}

// pause is a duration that may be none at all.
func pause() rule[time.Duration] {
	return span(0, `a duration, such as "0s", "90s" or "1h30m"`)
}

func span(least time.Duration, want string) rule[time.Duration] {
	return rule[time.Duration]{`"50m"`, func(value any) (time.Duration, error) {
		s, _ := value.(string)
		d, err := time.ParseDuration(s)
		if err != nil || d < least {
			return 0, wanted(want, value)
		}
		return d, nil
	}}
}

func oneOf(words ...string) rule[string] {
	return rule[string]{quote(words[0]), func(value any) (string, error) {
		s, err := text().parse(value)
		if err == nil && !slices.Contains(words, s) {
			err = wanted(strings.Join(mapped(words, quote), " or "), value)
		}
		return s, err
	}}
}

func storeKind() rule[string] {
	sqlite := oneOf("sqlite")
	return rule[string]{sqlite.example, func(value any) (string, error) {
		s, err := sqlite.parse(value)
		if strings.HasPrefix(s, "postgres") {
			err = errors.New(`PostgreSQL is not supported by this version, which has "sqlite" only`)
		}
		return s, err
	}}
}

func fleetName() rule[fleet.Name] {
	return rule[fleet.Name]{`"bob"`, func(value any) (fleet.Name, error) {
		s, err := text().parse(value)
		if err != nil {
			return "", err
		}
		return fleet.ParseName(s)
	}}
}

// pathIn is a path, absolute or relative to the folder base.
func pathIn(base string) rule[string] {
	return rule[string]{literal("."), func(value any) (string, error) {
		s, err := plainPath(value)
		switch {
		case err != nil:
			return "", err
		case s == "":
			return "", wanted("a path", value)
		case filepath.IsAbs(s):
			return filepath.Clean(s), nil
		}
		return filepath.Join(base, s), nil
	}}
}

// pathOrNone is pathIn, or empty.
func pathOrNone(base string) rule[string] {
	path := pathIn(base)
	return rule[string]{literal("prompts/code.md"), func(value any) (string, error) {
		if value == any("") {
			return "", nil
		}
		return path.parse(value)
	}}
}

// absolute is a path that means the same wherever it is read.
func absolute(example string) rule[string] {
	return rule[string]{literal(example), func(value any) (string, error) {
		s, err := plainPath(value)
		switch {
		case err != nil:
			return "", err
		case !filepath.IsAbs(s):
			return "", wanted("an absolute path", value)
		}
		return filepath.Clean(s), nil
	}}
}

// plainPath refuses a path that its author expects a shell to expand.
func plainPath(value any) (string, error) {
	s, err := text().parse(value)
	if err == nil && (s == "~" || strings.HasPrefix(s, "~/")) {
		err = fleet.WithHint(fmt.Errorf("%s: ~ is not expanded", describe(s)), "write the home folder's own path")
	}
	return s, err
}

func mapped[T, U any](items []T, f func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}
