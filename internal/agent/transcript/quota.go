package transcript

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// QuotaKind says how long a limit lasts, roughly.
type QuotaKind string

const (
	// Exhausted is an allowance that is used up: nothing works until it comes back,
	// in hours or days.
	Exhausted QuotaKind = "exhausted"
	// Throttled is a service that wants a pause of seconds to minutes.
	Throttled QuotaKind = "throttled"
)

// Quota is a limit that an agent ran into.
type Quota struct {
	Kind       QuotaKind
	ResetAt    time.Time     // when it is over, if that was said
	RetryAfter time.Duration // how long it lasts, if only that was said
	Text       string        // what the agent said of it
}

// maxWait is past the longest allowance, which is a month's. A later time is a
// misreading or a lie, and would put the agent out of work for ever.
const maxWait = 35 * 24 * time.Hour

// Limits are the operator's patterns for what an agent prints at a limit.
type Limits struct {
	patterns []limitPattern
}

type limitPattern struct {
	kind QuotaKind
	*regexp.Regexp
}

// maxMatched bounds the part of a line that patterns are tried on, in bytes: an error message is short,
// and a line of output may be megabytes.
const maxMatched = 4 << 10

// ParseLimits reads regular expressions (regexp/syntax), matched line by line. A group
// named reset has the end of the limit: seconds since 1970, RFC 3339, or a time as
// people write it, such as "Nov 22nd, 2026 12:18 PM", "3pm" or "15:04". A group named
// after has its length: "7s", "1h30m", "3 days 4 hours". A group named throttle marks a
// pattern for a service that only slows the agent down.
func ParseLimits(patterns []string) (Limits, error) {
	var l Limits
	for _, text := range patterns {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return Limits{}, fmt.Errorf("read pattern %q: %w", text, err)
		}
		kind := Exhausted
		if pattern.SubexpIndex("throttle") >= 0 {
			kind = Throttled
		}
		l.patterns = append(l.patterns, limitPattern{kind, pattern})
	}
	return l, nil
}

// concern says whether a line is worth a copy: there may be millions.
func (l Limits) concern(line []byte) bool {
	return slices.ContainsFunc(l.patterns, func(p limitPattern) bool { return p.Match(line) })
}

// find is the limit that a text speaks of, by the first pattern that matches; nil if none
// does.
func (l Limits) find(text string, now time.Time) *Quota {
	text = text[:min(len(text), maxMatched)]
	for _, pattern := range l.patterns {
		groups := pattern.FindStringSubmatch(text)
		if groups == nil {
			continue
		}
		found := &Quota{Kind: pattern.kind, Text: text}
		for i, name := range pattern.SubexpNames() {
			switch name {
			case "reset":
				found.ResetAt = parseTime(groups[i], now)
			case "after":
				found.RetryAfter = parseWait(groups[i])
			}
		}
		return found
	}
	return nil
}

// claudeBanner reads the sentences by which Claude Code says that an allowance is used
// up: "You've hit your session limit · resets 12:20pm (UTC)", and of versions before
// 2, "Claude AI usage limit reached|1758598800".
func claudeBanner(text string, now time.Time) *Quota {
	plain := straight(text)
	if at, ok := claudeOldBanner(text, now); ok {
		return &Quota{Kind: Exhausted, ResetAt: at, Text: text}
	}
	rest, ok := strings.CutPrefix(plain, "You've hit your ")
	if !ok {
		rest, ok = strings.CutPrefix(plain, "You've reached your ")
	}
	limit, reset, _ := strings.Cut(rest, "resets ")
	if !ok || !strings.Contains(limit, "limit") {
		return nil
	}
	return &Quota{Kind: Exhausted, ResetAt: parseTime(reset, now), Text: text}
}

func claudeOldBanner(text string, now time.Time) (time.Time, bool) {
	rest, ok := strings.CutPrefix(straight(text), "Claude AI usage limit reached|")
	return parseTime(rest, now), ok
}

// codexLimit reads the sentences of codex-rs/protocol/src/error.rs.
func codexLimit(text string, now time.Time) *Quota {
	plain := strings.ToLower(straight(text))
	quota := &Quota{Text: text}
	switch {
	case containsAny(plain, "hit your usage limit", "out of credits", "hit your spend cap", "quota exceeded", "exceeded your current quota"):
		quota.Kind = Exhausted
	case containsAny(plain, "429 too many requests", "rate limit reached"):
		quota.Kind = Throttled
	default:
		return nil
	}
	if _, reset, ok := strings.Cut(plain, "try again at "); ok {
		quota.ResetAt = parseTime(reset, now)
	} else if _, wait, ok := strings.Cut(plain, "try again in "); ok {
		quota.RetryAfter = parseWait(wait)
	}
	return quota
}

// straight is the beginning of a text with typewriter's apostrophes, which not every
// version prints.
func straight(text string) string {
	text = text[:min(len(text), maxMatched)]
	return strings.TrimSpace(strings.ReplaceAll(text, "’", "'"))
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}
