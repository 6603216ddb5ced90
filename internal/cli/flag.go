package cli

import (
	"errors"
	"fmt"
	"math"
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

// textFlag is a line for people: a note or a reason.
func textFlag(to *string) *flagValue[string] {
	return &flagValue[string]{to, "TEXT", "", func(s string) (string, error) {
		if _, err := fleet.ParseText("text", s); err != nil {
			return "", fmt.Errorf("want a line of text: %w", err)
		}
		return s, nil
	}}
}

// taskFlag is a task's id.
func taskFlag(to *fleet.TaskID) *flagValue[fleet.TaskID] {
	return &flagValue[fleet.TaskID]{to, "TASK", "", fleet.ParseTaskID}
}

// outcomeFlag takes the outcome of a run.
func outcomeFlag(to *fleet.Outcome) *flagValue[fleet.Outcome] {
	return &flagValue[fleet.Outcome]{to, "OUTCOME", "", func(s string) (fleet.Outcome, error) {
		known := fleet.Outcomes()
		if !slices.Contains(known, fleet.Outcome(s)) {
			return "", fleet.WithHint(errors.New("there is none of that name"), fleet.Meant(s, known, "the outcomes are "+fleet.Listed(known)))
		}
		return fleet.Outcome(s), nil
	}}
}

// holderFlag takes the holder of a claim. A name that came out empty, as of a variable that is not set, is
// no name: two scripts would else share a claim, or a list show everybody's.
func holderFlag(to *fleet.Holder) *flagValue[fleet.Holder] {
	return &flagValue[fleet.Holder]{to, "NAME", "", fleet.ParseHolder}
}

// spanFlag takes a length of time: a duration that may begin with days.
func spanFlag(to *time.Duration) *flagValue[time.Duration] {
	return &flagValue[time.Duration]{to, "DURATION", "", func(s string) (time.Duration, error) {
		span, err := parseSpan(s)
		if err != nil || span < time.Millisecond || span >= (maxDays+1)*day { // the store counts in milliseconds
			return 0, fmt.Errorf(`want a duration from 1ms to below %dd, such as "90m", "24h" or "7d"`, maxDays+1)
		}
		return span, nil
	}}
}

const (
	day     = 24 * time.Hour
	maxDays = math.MaxUint16 // 179 years; more would overflow
)

// parseSpan reads a duration, of which a day is 24 hours.
func parseSpan(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16) // at most maxDays
	if err != nil || rest == "" {
		return time.Duration(n) * day, err
	}
	d, err := time.ParseDuration(rest)
	if err == nil && (d < 0 || d >= day) {
		err = errors.New("hours beside days are below 24")
	}
	return time.Duration(n)*day + d, err
}

// pastFlag is a time of the record, see [timeOf]; 0 is the time before all of it.
func pastFlag(to *time.Time, now func() time.Time) *flagValue[time.Time] {
	return &flagValue[time.Time]{to, "TIME", "", func(s string) (time.Time, error) {
		if span, err := parseSpan(s); err == nil && span == 0 {
			return time.Unix(0, 0), nil
		}
		t, err := timeOf(s, now(), -1)
		if err == nil && t.After(now()) {
			err = errors.New("that time is in the future")
		}
		return t, err
	}}
}

// comingFlag is a time to come, see [timeOf].
func comingFlag(to *time.Time, now func() time.Time) *flagValue[time.Time] {
	return &flagValue[time.Time]{to, "TIME", "", func(s string) (time.Time, error) {
		t, err := timeOf(s, now(), 1)
		if err == nil && !t.After(now()) {
			err = errors.New("that time is in the past")
		}
		return t, err
	}}
}

// timeOf reads a time: an exact one, a span from now, or a day, which begins at midnight here. A
// span, and the day of a name, are before now with the direction -1, and after it with 1. Today is the
// last day of its name.
func timeOf(s string, now time.Time, direction int) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	if span, err := parseSpan(s); err == nil && span >= 0 {
		return now.Add(time.Duration(direction) * span), nil
	}
	here := now.In(time.Local)
	names := map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}
	for n := range 7 {
		days := -n
		if direction > 0 {
			days = n + 1
		}
		names[strings.ToLower(here.AddDate(0, 0, days).Weekday().String())] = days
	}
	days, known := names[strings.ToLower(s)]
	if !known {
		return time.Time{}, errors.New("want a time, such as 2026-11-21, 2026-11-21T09:00:00Z, monday, yesterday, 90m or 7d")
	}
	return time.Date(here.Year(), here.Month(), here.Day()+days, 0, 0, 0, 0, time.Local), nil
}

// sinceOf returns the part of a list, newest first, that is not older than was asked for.
func sinceOf[T any](since time.Time, list []T, at func(T) time.Time) []T {
	if i := slices.IndexFunc(list, func(x T) bool { return at(x).Before(since) }); i >= 0 {
		return list[:i]
	}
	return list
}
