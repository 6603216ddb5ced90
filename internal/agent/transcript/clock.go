package transcript

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// epoch is a time in seconds since 1970, or in milliseconds where seconds would lie
// thousands of years ahead.
func epoch(seconds float64) time.Time {
	if seconds > 1e11 {
		seconds /= 1000
	}
	if seconds <= 0 || seconds > 1e11 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// parseTime reads a time as services and people write it; text after it is ignored.
// It is zero where there is none, or one too far ahead to be meant.
func parseTime(text string, now time.Time) time.Time {
	text = strings.TrimSpace(text)
	var at time.Time
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		at = epoch(seconds)
	} else if at, err = time.Parse(time.RFC3339, strings.ToUpper(text)); err != nil {
		at = parseWritten(text, now)
	}
	return soon(at, now)
}

// soon is a time in UTC, if it is not too far ahead to be meant.
func soon(at, now time.Time) time.Time {
	if !now.IsZero() && at.Sub(now) > maxWait {
		return time.Time{}
	}
	return at.UTC()
}

// parseWritten reads the longest run of words at the beginning that is a time.
func parseWritten(text string, now time.Time) time.Time {
	location := now.Location()
	text, zone, _ := strings.Cut(text, "(")
	zone, _, _ = strings.Cut(zone, ")")
	if named, err := time.LoadLocation(zone); err == nil && zone != "" {
		location = named
	}
	words := timeWords(text)
	for n := min(len(words), 4); n > 0; n-- {
		if at, ok := parseWords(strings.Join(words[:n], " "), now.In(location)); ok {
			return at
		}
	}
	return time.Time{}
}

// timeWords brings the ways to write a time to one: "Nov 22nd, 2026 12:18 PM." gives
// nov, 22, 2026, 12:18pm.
func timeWords(text string) []string {
	var words []string
	text = strings.NewReplacer(",", " ", " at ", " ", ";", " ").Replace(strings.ToLower(text))
	for _, word := range strings.Fields(text) {
		word = strings.TrimRight(word, ".")
		switch {
		case (word == "am" || word == "pm") && len(words) > 0:
			words[len(words)-1] += word
			continue
		case len(word) > 2 && word[0] >= '0' && word[0] <= '9' && slices.Contains([]string{"st", "nd", "rd", "th"}, word[len(word)-2:]):
			word = word[:len(word)-2]
		}
		words = append(words, word)
	}
	return words
}

// parseWords reads what lacks a date as the next such time, and what lacks a year as
// the next such date. A time that passed less than an hour ago is not read as the next one: the
// session went on for a while after it was reported.
func parseWords(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{"Jan 2 2006 3:04pm", "Jan 2 2006 3pm", "Jan 2 2006 15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, true
		}
	}
	past := now.Add(-time.Hour)
	for _, layout := range []string{"Jan 2 3:04pm", "Jan 2 3pm", "Jan 2 15:04"} {
		// A leap year, as February 29 is a date.
		if at, err := time.ParseInLocation("2006 "+layout, "2000 "+text, now.Location()); err == nil {
			at = onDate(at, now.Year(), at.Month(), at.Day())
			if at.Before(past) {
				at = onDate(at, now.Year()+1, at.Month(), at.Day())
			}
			return at, true
		}
	}
	for _, layout := range []string{"3:04pm", "3pm", "15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			at = onDate(at, now.Year(), now.Month(), now.Day())
			if at.Before(past) {
				at = onDate(at, now.Year(), now.Month(), now.Day()+1)
			}
			return at, true
		}
	}
	return time.Time{}, false
}

func onDate(clock time.Time, year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, clock.Location())
}

// parseWait reads a duration as "7s", "350ms", "1h30m" or "3 days 4 hours"; text after it is
// ignored. A bare number is seconds, as in Retry-After.
func parseWait(text string) (sum time.Duration) {
	next := regexp.MustCompile(`^[ ,]*([0-9.]+) *([a-z]*)`) // not at every start of the program
	for rest := strings.ToLower(text); ; {
		found := next.FindStringSubmatch(rest)
		if found == nil {
			return sum
		}
		n, err := strconv.ParseFloat(strings.TrimRight(found[1], "."), 64)
		unit, ok := timeUnit(found[2])
		if err != nil || !ok && (found[2] != "" || sum != 0) {
			return sum
		}
		if rest = rest[len(found[0]):]; n*float64(unit) > float64(maxWait-sum) {
			return 0
		}
		sum += time.Duration(n * float64(unit))
	}
}

// timeUnit is a second where none is named.
func timeUnit(name string) (time.Duration, bool) {
	for unit, names := range map[time.Duration]string{
		time.Millisecond: "ms msec msecs millisecond milliseconds", time.Second: "s sec secs second seconds",
		time.Minute: "m min mins minute minutes", time.Hour: "h hr hrs hour hours",
		24 * time.Hour: "d day days", 7 * 24 * time.Hour: "w week weeks",
	} {
		if slices.Contains(strings.Fields(names), name) {
			return unit, true
		}
	}
	return time.Second, false
}
