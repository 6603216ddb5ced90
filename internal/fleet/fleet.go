// Package fleet holds the words of stint: categories, tasks, claims, fires,
// runs, outcomes and the few errors callers branch on. Every other package
// speaks in these types. It imports the standard library only, reads no clock
// and does no I/O; a value that passed its Parse or Validate function is safe to
// store, to print in a log line and to build a file name from.
package fleet

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Name is a fleet's name: it becomes part of unit and slice names, where "-"
// nests slices and listing patterns end in "-*", hence the narrow alphabet.
type Name string

// ParseName checks a fleet's name.
func ParseName(s string) (Name, error) {
	if !word(s, "_") {
		return "", fmt.Errorf("fleet name %q: want 1 to 32 of a-z, 0-9 and _", s)
	}
	return Name(s), nil
}

// word reports whether s is 1 to 32 of a-z, 0-9 and the others. The patterns of this
// package are written out by hand because they are needed, and would be compiled, at
// every start.
func word(s, others string) bool {
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool {
		return !isLower(r) && !isDigit(r) && !strings.ContainsRune(others, r)
	})
}

func isLower(r rune) bool { return r >= 'a' && r <= 'z' }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// Category names a kind of work: code, triage, research.
type Category string

// ParseCategory checks a category's name.
func ParseCategory(s string) (Category, error) {
	if !word(s, "_-") || s[0] == '_' || s[0] == '-' {
		return "", fmt.Errorf("category %q: want 1 to 32 of a-z, 0-9, _ and -, not starting with _ or -", s)
	}
	return Category(s), nil
}

// TaskID identifies a task within a fleet. For Markdown tasks it is the
// file's stem, so it may hold spaces, quotes and any script, but never a slash,
// a control character or invalid UTF-8.
type TaskID string

// ParseTaskID checks a task's id.
func ParseTaskID(s string) (TaskID, error) {
	if _, err := ParseKey(s); err != nil {
		return "", fmt.Errorf("task id: %w", err)
	}
	if strings.ContainsRune(s, '/') {
		return "", fmt.Errorf("task id %q: a slash is not allowed", s)
	}
	return TaskID(s), nil
}

// Key is the claim key under which the task is worked.
func (t TaskID) Key() Key { return Key(t) }

// Key names what a claim is on: a task, any other piece of work agreed on by
// hand, or a lane. A session without a task works under the claim of its lane.
type Key string

const (
	maxKeyBytes    = 512  // keys are file stems and ticket ids; the kernel's limit for a stem is 255
	maxHolderBytes = 512  // user@host, or a run's holder
	maxTextBytes   = 4096 // notes and reasons are a line for a person
	laneKeyPrefix  = "category:"
)

// ParseKey checks a claim key: 1 to 512 bytes of UTF-8 without control
// characters, and outside the prefix reserved for lanes.
func ParseKey(s string) (Key, error) {
	if err := checkText("key", s, maxKeyBytes); err != nil {
		return "", err
	}
	if s == "" {
		return "", fmt.Errorf("key: must not be empty")
	}
	if strings.HasPrefix(s, laneKeyPrefix) {
		return "", fmt.Errorf("key %q: the prefix %q is reserved for lanes", s, laneKeyPrefix)
	}
	return Key(s), nil
}

// LaneKey is the key that a session claims with its lane. Lanes count from 1.
func LaneKey(c Category, lane int) Key {
	return Key(fmt.Sprintf("%s%s:%d", laneKeyPrefix, c, lane))
}

// ClaimKind says what a claim is on.
type ClaimKind string

const (
	ClaimOnTask ClaimKind = "task" // or on any other piece of work
	ClaimOnLane ClaimKind = "lane" // of a category, which every session claims
)

// Kind is the kind of thing that the key names.
func (k Key) Kind() ClaimKind {
	if strings.HasPrefix(string(k), laneKeyPrefix) {
		return ClaimOnLane
	}
	return ClaimOnTask
}

// IsLane reports whether the key is that of a lane.
func (k Key) IsLane() bool { return k.Kind() == ClaimOnLane }

// ParseAnyKey checks the key of a claim that is there: a lane's, too.
func ParseAnyKey(s string) (Key, error) {
	if rest, isLane := strings.CutPrefix(s, laneKeyPrefix); isLane {
		_, err := ParseKey(rest)
		return Key(s), err
	}
	return ParseKey(s)
}

// Holder names who holds a claim.
type Holder string

// ParseHolder checks a holder: 1 to 512 bytes of UTF-8 without control
// characters.
func ParseHolder(s string) (Holder, error) {
	if err := checkText("holder", s, maxHolderBytes); err != nil {
		return "", err
	}
	if s == "" {
		return "", fmt.Errorf("holder: must not be empty")
	}
	return Holder(s), nil
}

// ParseText checks a note or a reason, named by what: up to 4096 bytes of
// UTF-8 without control characters.
func ParseText(what, s string) (string, error) {
	return s, checkText(what, s, maxTextBytes)
}

func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%s: %d bytes, want at most %d", what, len(s), limit)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %q: not valid UTF-8", what, s)
	case strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s %q: control characters are not allowed", what, s)
	}
	return nil
}

// Epoch is a claim's fencing number: 1 at the first grant of a key, one more
// at each new grant, unchanged by a renewal.
type Epoch int64

// Claim is the exclusive, expiring right to work on what Key names.
type Claim struct {
	Key        Key
	Holder     Holder
	Epoch      Epoch
	AcquiredAt time.Time // when this epoch was granted
	ExpiresAt  time.Time // the claim is expired from this instant on
	Note       string
	ReleasedAt time.Time // zero while not released
	Ending     Ending    // how it was released, empty while it was not
	Reason     string    // why it was released
	Attempt    string    // the take that was granted this epoch; empty: it has no name
	ReadAt     time.Time // by the store's clock; zero where the claim is in nobody's way
}

// Denial is the answer to a caller who wants a claim that is another's: as it was when it was read,
// whatever the caller's clock shows.
func (c Claim) Denial() string {
	expiry := c.ExpiresAt.UTC().Format(time.RFC3339)
	if c.ExpiresAt.After(c.ReadAt) {
		return fmt.Sprintf("DENIED — %s held by %s (expires %s)", c.Key, c.Holder, expiry)
	}
	return fmt.Sprintf("DENIED — %s held by %s (expired %s, but its session lives)", c.Key, c.Holder, expiry)
}

// Ending says how a claim's holder gave it back.
type Ending string

const (
	EndingReleased  Ending = "released"  // given back, the work is open
	EndingDone      Ending = "done"      // given back, the work is finished
	EndingAbandoned Ending = "abandoned" // given back, the work was given up
)

// Grant is the answer to an attempt to take a claim.
type Grant string

const (
	Granted Grant = "granted" // the claim is the caller's, at a new epoch
	Renewed Grant = "renewed" // the claim was the caller's already; its expiry moved
	Denied  Grant = "denied"  // the claim is another's
)

// RunID identifies a run: letters and digits, sorting by time of creation.
type RunID string

// ParseRunID checks a run's id.
func ParseRunID(s string) (RunID, error) {
	if !word(s, "") {
		return "", fmt.Errorf("run id %q: want 1 to 32 of a-z and 0-9", s)
	}
	return RunID(s), nil
}

// NewRunID makes an id from the time of creation, to the millisecond, and 30
// random bits, in the digits of Crockford's base 32.
func NewRunID(now time.Time, random uint32) RunID {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	var id [16]byte // 50 bits of time, 30 of chance
	for i, v := 9, uint64(now.UnixMilli()); i >= 0; i, v = i-1, v>>5 {
		id[i] = digits[v&31]
	}
	for i := 15; i >= 10; i, random = i-1, random>>5 {
		id[i] = digits[random&31]
	}
	return RunID(id[:])
}

// FireID numbers the fires of a fleet from 1.
type FireID int64

// Round is a reading of one category's clock, by which evidence fades, loads fall and
// back-offs end. Each fire of the category's pool that could start something moves it on by
// one; while the pool has a timer, only those of the timer do. A category that is moved into another pool keeps its reading: those of two categories
// are not to be compared.
type Round int64
