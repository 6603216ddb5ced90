package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/replay"
)

// The flag values here check themselves, so that a wrong one is refused before
// anything is opened or written.

// seedValue is --seed: by chance unless given.
type seedValue struct{ seed *uint64 }

func (v *seedValue) Type() string { return "N" }

func (v *seedValue) String() string {
	if v.seed == nil {
		return ""
	}
	return strconv.FormatUint(*v.seed, 10)
}

func (v *seedValue) Set(s string) error {
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("want a number from 0 to 18446744073709551615")
	}
	v.seed = &seed
	return nil
}

// countValue is a number of 1 or more; 0 means that it was not given.
type countValue int64

func (v *countValue) Type() string { return "N" }

func (v *countValue) String() string { return strconv.FormatInt(int64(*v), 10) }

func (v *countValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return errors.New("want a number of 1 or more")
	}
	*v = countValue(n)
	return nil
}

// or is the value, or what holds when none was given.
func (v *countValue) or(otherwise int) int {
	if *v == 0 {
		return otherwise
	}
	return int(*v)
}

// lastValue is a number of runs, 0 or more.
type lastValue int

func (v *lastValue) Type() string { return "N" }

func (v *lastValue) String() string { return "" }

func (v *lastValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("want a number of 0 or more")
	}
	*v = lastValue(n)
	return nil
}

// intervalValue is the time between looks at the fleet.
type intervalValue time.Duration

// leastInterval is such that looks, of a few milliseconds each, do not keep a machine busy
// that has work to do.
const leastInterval = 100 * time.Millisecond

func (v *intervalValue) Type() string { return "duration" }

func (v *intervalValue) String() string { return time.Duration(*v).String() }

func (v *intervalValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < leastInterval {
		return fmt.Errorf(`want a duration of %s or more, such as "2s"`, leastInterval)
	}
	*v = intervalValue(d)
	return nil
}

// ttlValue is a time-to-live: the store counts in milliseconds.
type ttlValue time.Duration

func (v *ttlValue) Type() string { return "duration" }

func (v *ttlValue) String() string { return time.Duration(*v).String() }

func (v *ttlValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Millisecond {
		return errors.New(`want a duration of a millisecond or more, such as "90s" or "1h30m"`)
	}
	*v = ttlValue(d)
	return nil
}

// textValue is a line for people: a note or a reason.
type textValue string

func (v *textValue) Type() string { return "text" }

func (v *textValue) String() string { return string(*v) }

func (v *textValue) Set(s string) error {
	if _, err := fleet.ParseText("text", s); err != nil {
		return fmt.Errorf("want a line of text: %w", err)
	}
	*v = textValue(s)
	return nil
}

// holderValue is who claims. A name that came out empty, as of a variable that is not set, is
// no name: two scripts would else share a claim, or a list show everybody's.
type holderValue fleet.Holder

func (v *holderValue) Type() string { return "name" }

func (v *holderValue) String() string { return string(*v) }

func (v *holderValue) Set(s string) error {
	h, err := fleet.ParseHolder(s)
	*v = holderValue(h)
	return err
}

// spanValue is how far to look back: a duration that may begin with days.
type spanValue struct {
	span  time.Duration // 0: all of the record
	given bool
}

func (v *spanValue) Type() string { return "duration" }

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

// setValue is --set: other settings to rank under.
type setValue struct{ replay.Changes }

func (v *setValue) Type() string { return "KEY=VALUE" }

func (v *setValue) String() string { return strings.Join(v.Texts, ",") }

func (v *setValue) Set(s string) error { return v.Add(s) }
