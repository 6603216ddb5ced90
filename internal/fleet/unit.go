package fleet

import (
	"fmt"
	"strings"
	"time"
)

// UnitSpec is a transient service that runs one worker.
type UnitSpec struct {
	Name        string
	Description string
	Slice       string
	Argv        []string // Argv[0] is an absolute path; every word passes CheckUnitWord
	Environment []string // NAME=value; every word passes CheckUnitWord
	RuntimeMax  time.Duration
	StopTimeout time.Duration
	Properties  map[string]any // from the config's [category.NAME.unit]
}

// UnitName is the transient service of a run. A category's "-" is escaped, as
// systemd-escape(1) does, so that the name splits in one way only.
func UnitName(n Name, c Category, r RunID) string {
	return fmt.Sprintf("stint-%s-%s-%s.service", n, strings.ReplaceAll(string(c), "-", `\x2d`), r)
}

// ScopeName is the transient scope of a run that is in no service.
func ScopeName(n Name, c Category, r RunID) string {
	return strings.TrimSuffix(UnitName(n, c, r), ".service") + ".scope"
}

// UnitPattern is the glob of a fleet's workers, as the service manager takes it.
func UnitPattern(n Name) string { return fmt.Sprintf("stint-%s-*.service", n) }

// WakeUnit is the transient timer that starts what a pool's timer does, between the times of that one's schedule.
func WakeUnit(timer string) string {
	return "stint-" + strings.TrimPrefix(strings.TrimSuffix(timer, ".timer"), "stint@") + "-wake.timer"
}

// WorkerUnit reports whether a unit is that of a run of this fleet. Others bear the fleet's
// name, too, such as one in which an operator starts a fire.
func WorkerUnit(n Name, unit string) bool {
	parts := strings.Split(strings.TrimSuffix(unit, ".service"), "-")
	if len(parts) != 4 || parts[0] != "stint" || parts[1] != string(n) {
		return false
	}
	_, err := ParseRunID(parts[3])
	return err == nil
}

// SliceName is the slice that holds every worker of a fleet.
func SliceName(n Name) string { return fmt.Sprintf("stint-%s.slice", n) }

// CheckUnitWord refuses what systemd would expand or split ("$", "%", quotes,
// white space) in a unit's arguments and environment. There is no portable way to
// switch expansion off: the flag that does so does not survive a daemon-reload
// on systemd 252. In front, "@" and "+" would say how a program is started.
func CheckUnitWord(s string) error {
	unsafe := func(r rune) bool {
		return !isLower(r) && (r < 'A' || r > 'Z') && !isDigit(r) && !strings.ContainsRune("_./=:@+-", r)
	}
	if s == "" || strings.ContainsRune("@+", rune(s[0])) || strings.ContainsFunc(s, unsafe) {
		return fmt.Errorf("%q cannot be handed to systemd: only letters, digits and _ . / = : @ + - are safe there", s)
	}
	return nil
}
