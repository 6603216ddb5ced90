package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
)

// flagValue is a flag that checks itself, so that a wrong one is refused before anything is
// opened or written.
type flagValue[T any] struct {
	to    *T
	kind  string // what help calls it
	text  string // as given, or the default
	parse func(string) (T, error)
}

func (v *flagValue[T]) Type() string { return v.kind }

func (v *flagValue[T]) String() string { return v.text }

func (v *flagValue[T]) Set(s string) error {
	value, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.to, v.text = value, s
	return nil
}

// seedFlag is --seed: nil, by chance, unless given.
func seedFlag(to **uint64) *flagValue[*uint64] {
	return &flagValue[*uint64]{to, "N", "", func(s string) (*uint64, error) {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, errors.New("want a number from 0 to 18446744073709551615")
		}
		return &seed, nil
	}}
}

// countFlag is a number of 1 or more; 0 means that it was not given.
func countFlag[T ~int | ~int64](to *T) *flagValue[T] { return numberFlag(to, 1) }

// numberFlag is a number that is not below the least.
func numberFlag[T ~int | ~int64](to *T, least int64) *flagValue[T] {
	return &flagValue[T]{to, "N", "", func(s string) (T, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < least {
			return 0, fmt.Errorf("want a number of %d or more", least)
		}
		return T(n), nil
	}}
}

// leastInterval is such that looks, of a few milliseconds each, do not keep a machine busy
// that has work to do.
const leastInterval = 100 * time.Millisecond

// intervalFlag is the time between looks at the fleet.
func intervalFlag(to *time.Duration) *flagValue[time.Duration] {
	return durationFlag(to, leastInterval, fmt.Sprintf(`want a duration of %s or more, such as "2s"`, leastInterval))
}

// ttlFlag is a time-to-live: the store counts in milliseconds.
func ttlFlag(to *time.Duration) *flagValue[time.Duration] {
	return durationFlag(to, time.Millisecond, `want a duration of a millisecond or more, such as "90s" or "1h30m"`)
}

func durationFlag(to *time.Duration, least time.Duration, want string) *flagValue[time.Duration] {
	return &flagValue[time.Duration]{to, "DURATION", to.String(), func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d < least {
			return 0, errors.New(want)
		}
		return d, nil
	}}
}

// textFlag is a line for people: a note or a reason.
func textFlag(to *string) *flagValue[string] {
	return &flagValue[string]{to, "TEXT", "", func(s string) (string, error) {
		if _, err := fleet.ParseText("text", s); err != nil {
			return "", fmt.Errorf("want a line of text: %w", err)
		}
		return s, nil
	}}
}

// holderFlag is who claims. A name that came out empty, as of a variable that is not set, is
// no name: two scripts would else share a claim, or a list show everybody's.
func holderFlag(to *fleet.Holder) *flagValue[fleet.Holder] {
	return &flagValue[fleet.Holder]{to, "NAME", "", fleet.ParseHolder}
}

// spanValue is how far to look back: a duration that may begin with days.
type spanValue struct {
	span  time.Duration // 0: all of the record
	given bool
}

func (v *spanValue) Type() string { return "DURATION" }

func (v *spanValue) String() string {
	if !v.given {
		return ""
	}
	return v.span.String()
}

func (v *spanValue) Set(s string) error {
	span, err := parseSpan(s)
	if err != nil || span < 0 {
		return errors.New(`want a duration of zero or more, such as "90m", "24h" or "7d"`)
	}
	*v = spanValue{span, true}
	return nil
}

// parseSpan reads a duration, of which a day is 24 hours.
func parseSpan(s string) (time.Duration, error) {
	const day = 24 * time.Hour
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16) // 179 years; more would overflow
	if err != nil || rest == "" {
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(rest)
	if err == nil && (d < 0 || d >= day) {
		err = errors.New("hours beside days are below 24")
	}
	return time.Duration(n)*day + d, err
}

// before is where to begin to look.
func (v *spanValue) before(now time.Time) time.Time {
	if v.span == 0 {
		return time.Unix(0, 0)
	}
	return now.Add(-v.span)
}

// sinceOf is what of a list, newest first, is not older than was asked for.
func sinceOf[T any](v spanValue, list []T, now time.Time, at func(T) time.Time) []T {
	if !v.given {
		return list
	}
	if i := slices.IndexFunc(list, func(x T) bool { return at(x).Before(v.before(now)) }); i >= 0 {
		return list[:i]
	}
	return list
}
