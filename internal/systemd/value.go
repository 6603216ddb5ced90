package systemd

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"stint/internal/fleet"
)

// parser turns a value from the configuration (string, int64, float64, bool or
// []any) into the very Go type whose D-Bus signature systemd wants. Its errors say
// what would be right.
type parser func(value any) (any, error)

const (
	// infinity is "no limit" in unit files and, as noLimit, on the bus.
	infinity = "infinity"
	noLimit  = uint64(math.MaxUint64)
)

// Patterns are compiled where a value is read: as variables they would be compiled at every
// start of every command.
const (
	sizePattern  = `^([0-9]+(?:\.[0-9]+)?) *([BKMGTPE]?)$`
	quotaPattern = `^([0-9]+(?:\.[0-9]{1,2})?)%$`
	spanPattern  = `^([0-9]+(?:\.[0-9]+)?) *([a-zµ]*) *`
)

// boolean reads b, in any word that unit files take for it.
func boolean(value any) (any, error) {
	switch value {
	case true, "true", "yes", "on", "1":
		return true, nil
	case false, "false", "no", "off", "0":
		return false, nil
	}
	return nil, fmt.Errorf("%v: want true or false", value)
}

// word reads s, one of a few. Where "yes" and "no" are among them, so are true and
// false.
func word(words ...string) parser {
	return func(value any) (any, error) {
		s := value
		switch value {
		case true:
			s = "yes"
		case false:
			s = "no"
		}
		if s, ok := s.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		return nil, fmt.Errorf("%v: want one of %s", value, strings.Join(words, ", "))
	}
}

// number reads i, where unit files have words for numbers of the kernel's.
func number(of map[string]int32) parser {
	return func(value any) (any, error) {
		if s, ok := value.(string); ok {
			if n, ok := of[s]; ok {
				return n, nil
			}
		}
		return nil, fmt.Errorf("%v: want one of %s", value, strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
}

// integer reads i within bounds.
func integer(low, high int64) parser {
	return func(value any) (any, error) {
		n, ok := whole(value)
		if !ok || n < low || n > high {
			return nil, fmt.Errorf("%v: want a whole number from %d to %d", value, low, high)
		}
		return int32(n), nil
	}
}

// weight reads t, a share relative to 100.
func weight(value any) (any, error) {
	n, ok := whole(value)
	if !ok || n < 1 || n > 10000 {
		return nil, fmt.Errorf("%v: want a whole number from 1 to 10000; the default is 100", value)
	}
	return uint64(n), nil
}

// count reads t, a number of things.
func count(low int64) parser {
	return func(value any) (any, error) {
		if value == infinity {
			return noLimit, nil
		}
		if n, ok := whole(value); ok && n >= low {
			return uint64(n), nil
		}
		return nil, fmt.Errorf("%v: want a whole number from %d, or %q%s", value, low, infinity, notPercent(value))
	}
}

func whole(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// byteCount reads t, an amount of memory or storage in steps of 1024.
func byteCount(low int64) parser {
	return func(value any) (any, error) {
		if value == infinity {
			return noLimit, nil
		}
		if n, ok := size(value); ok && n >= float64(low) && n < math.MaxInt64 {
			return uint64(n), nil
		}
		return nil, fmt.Errorf("%v: want an amount such as %q or 1073741824, at least %d, or %q%s",
			value, "1.5G", low, infinity, notPercent(value))
	}
}

func size(value any) (float64, bool) {
	if n, ok := value.(int64); ok {
		return float64(n), true
	}
	s, _ := value.(string)
	m := regexp.MustCompile(sizePattern).FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	power := strings.Index("BKMGTPE", m[2]) // No suffix is found at 0, as B is.
	return math.Floor(math.Ldexp(n, 10*power)), err == nil
}

func notPercent(value any) string {
	if s, ok := value.(string); ok && strings.HasSuffix(s, "%") {
		return "; a share of the machine belongs in the fleet's slice, where it bounds all workers together"
	}
	return ""
}

// cpuQuota reads t, the microseconds of processor time in a second.
func cpuQuota(value any) (any, error) {
	if value == infinity {
		return noLimit, nil
	}
	s, _ := value.(string)
	if m := regexp.MustCompile(quotaPattern).FindStringSubmatch(s); m != nil {
		percent, err := strconv.ParseFloat(m[1], 64)
		if usec := math.Round(percent * 10_000); err == nil && usec >= 1 && usec < math.MaxInt64 {
			return uint64(usec), nil
		}
	}
	return nil, fmt.Errorf(`%v: want a share of one processor such as "50%%" or "200%%", above zero, or %q`, value, infinity)
}

// timeSpan reads t, microseconds, from what systemd.time(7) calls a time span; a bare
// number is seconds.
func timeSpan(value any) (any, error) {
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		text = strconv.FormatFloat(f, 'f', -1, 64) // Never with an exponent.
	}
	if text == infinity {
		return noLimit, nil
	}
	if usec, ok := span(strings.TrimSpace(text)); ok && usec >= 1 && usec < math.MaxInt64 {
		return uint64(usec), nil
	}
	return nil, fmt.Errorf(`%v: want seconds or a time span such as "90s", "5min" or "1h 30min", above zero`, value)
}

// span sums up terms such as "1h" and "30min", in microseconds.
func span(text string) (sum float64, ok bool) {
	for text != "" {
		term := regexp.MustCompile(spanPattern).FindStringSubmatch(text)
		if term == nil {
			return 0, false
		}
		n, err := strconv.ParseFloat(term[1], 64)
		unit, ok := timeUnit(term[2])
		if err != nil || !ok {
			return 0, false
		}
		sum += n * float64(unit.Microseconds())
		text = text[len(term[0]):]
	}
	return sum, true
}

// timeUnit knows systemd's names up to the week; a worker that runs for months is a
// mistake of "M" for "min".
func timeUnit(name string) (time.Duration, bool) {
	switch name {
	case "us", "usec", "µs":
		return time.Microsecond, true
	case "ms", "msec":
		return time.Millisecond, true
	case "", "s", "sec", "second", "seconds":
		return time.Second, true
	case "m", "min", "minute", "minutes":
		return time.Minute, true
	case "h", "hr", "hour", "hours":
		return time.Hour, true
	case "d", "day", "days":
		return 24 * time.Hour, true
	case "w", "week", "weeks":
		return 7 * 24 * time.Hour, true
	}
	return 0, false
}

// fileMode reads u, in octal. A TOML number is refused: 22 would be taken for 0026.
func fileMode(value any) (any, error) {
	if s, ok := value.(string); ok {
		if n, err := strconv.ParseUint(s, 8, 32); err == nil && n <= 0o777 {
			return uint32(n), nil
		}
	}
	return nil, fmt.Errorf(`%v: want octal digits in quotes, such as "0077"`, value)
}

// paths reads as. A leading "-" lets a path be missing. Over the bus nothing in a
// path is expanded, so "~" and "%h" are refused and not taken by the letter.
func paths(value any) (any, error) {
	return each(value, func(s string) (string, error) {
		if !filepath.IsAbs(strings.TrimPrefix(s, "-")) {
			return "", fmt.Errorf("%v: want an absolute path, or a list of them", s)
		}
		return s, fleet.CheckUnitWord(s)
	})
}

// each reads an item, or a list of them.
func each[T any](value any, parse func(string) (T, error)) (list []T, err error) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			s = fmt.Sprint(item) // which is no path and no name
		}
		v, err := parse(s)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// allowed is (bas): what is allowed, and nothing else, or what is not.
type allowed struct {
	Only  bool
	Names []string
}

// restriction reads what a process may use, in a list or with spaces between: with a "~" before
// the first, what it may not.
func restriction(pattern, example string) parser {
	return func(value any) (any, error) {
		if text, ok := value.(string); ok {
			var words []any
			for word := range strings.FieldsSeq(text) {
				words = append(words, word)
			}
			value = words
		}
		a := allowed{Only: true}
		_, err := each(value, func(s string) (string, error) {
			name, denied := strings.CutPrefix(s, "~")
			if denied && a.Names == nil {
				a.Only = false
				s = name
			}
			if a.Names = append(a.Names, s); !regexp.MustCompile(pattern).MatchString(s) {
				return "", fmt.Errorf(`%v: want names such as %q, or with "~" before the first those that are denied`, s, example)
			}
			return s, nil
		})
		if err == nil && len(a.Names) == 0 {
			err = fmt.Errorf("%v: want at least one name, such as %q", value, example)
		}
		return a, err
	}
}

// bind is (ssbt): one folder or file at another place, with the mounts below it.
type bind struct {
	Source, Target string
	MayBeMissing   bool
	Flags          uint64
}

// binds reads a(ssbt), from SOURCE or SOURCE:TARGET. A leading "-" lets the source be missing.
func binds(value any) (any, error) {
	return each(value, func(s string) (bind, error) {
		source, missing := strings.CutPrefix(s, "-")
		source, target, given := strings.Cut(source, ":")
		if !given {
			target = source
		}
		if !filepath.IsAbs(source) || !filepath.IsAbs(target) || strings.Contains(target, ":") {
			return bind{}, fmt.Errorf("%v: want an absolute path, or two with a colon between, or a list of such", s)
		}
		return bind{source, target, missing, unix.MS_REC}, fleet.CheckUnitWord(source + target)
	})
}

// pair is (ss).
type pair struct{ First, Second string }

// fileSystems reads a(ss), from PATH or PATH:OPTIONS.
func fileSystems(value any) (any, error) {
	return each(value, func(s string) (pair, error) {
		path, options, _ := strings.Cut(s, ":")
		if !filepath.IsAbs(path) || !regexp.MustCompile(`^[a-zA-Z0-9=%,._-]*$`).MatchString(options) {
			return pair{}, fmt.Errorf(`%v: want an absolute path, or one with options such as "/var/tmp:size=1G", or a list of such`, s)
		}
		return pair{path, options}, fleet.CheckUnitWord(path)
	})
}

// credentials reads a(ss), from NAME:PATH. The worker finds them in $CREDENTIALS_DIRECTORY.
func credentials(value any) (any, error) {
	return each(value, func(s string) (pair, error) {
		name, path, _ := strings.Cut(s, ":")
		if name == "" || strings.Contains(name, "/") || !filepath.IsAbs(path) {
			return pair{}, fmt.Errorf(`%v: want a name and an absolute path, such as "token:/home/me/token", or a list of such`, s)
		}
		return pair{name, path}, fleet.CheckUnitWord(name + path)
	})
}
