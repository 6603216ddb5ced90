package fleet

import "time"

// Host is a machine of the fleet, as it said of itself at its last fire, or before its first.
type Host struct {
	ID        string   // of its state folder
	Name      string   // for people; no two that are not gone have one name
	Machine   string   // machine-id(5) of it; empty: it has none
	Boot      string   // which start of it was the last that fired; empty: nobody knows
	Boots     []string // its starts that were seen, the oldest first: a process of one that was followed by another is a copy's
	Version   string   // of stint
	Arch      string   // as Go names it
	Workspace string   // its path there
	Slots     int      // for sessions; 0: nobody bounded them
	Labels    []string
	Config    string    // digest of its configuration file; empty: nobody knows
	Ahead     int64     // of its clock, the store's, in milliseconds; negative: its clock is behind
	FiredAt   time.Time // its last fire; zero: it never fired, and people work there
	HeardAt   time.Time // its last fire, the last heartbeat of a session there, or a person's command
	GoneAt    time.Time // since when a person says that it is off; zero: nobody does
	Reason    string    // why
}

// Tail is the last of what the agent of a run printed, for other machines than the one that has its log.
type Tail struct {
	Run  RunID
	At   time.Time // when its machine reported it
	Text string
}

// MostTail is its maximum, in bytes.
const MostTail = 64 << 10

// Gone reports whether a person says that the machine is off. It is back as soon as it fires.
func (h Host) Gone() bool { return !h.GoneAt.IsZero() }

const (
	// hostSilence is the longest silence of a machine with sessions at work: each has a heartbeat
	// every few minutes.
	hostSilence = 10 * time.Minute
	// hostAbsence is the longest silence of a machine without any.
	hostAbsence = 24 * time.Hour
)

// Trouble says in words what is wrong with a machine, on which sessions may be at work, or "".
func (h Host) Trouble(working bool, now time.Time) string {
	switch {
	case h.Gone():
		return "gone: " + h.Reason
	case working && h.Silent(now):
		return "silent, with sessions at work"
	case now.Sub(h.HeardAt) > hostAbsence:
		return "silent"
	}
	return ""
}

// Silent reports whether nothing was heard of the machine for longer than its sessions let pass.
func (h Host) Silent(now time.Time) bool { return now.Sub(h.HeardAt) > hostSilence }
