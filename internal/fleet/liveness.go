package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Liveness is the known state of a session's processes.
type Liveness string

const (
	// Lives means that a process of the session is there.
	Lives Liveness = "lives"
	// Gone means that it is proven that no process of the session is left.
	Gone Liveness = "gone"
	// Unknown means that the session cannot be asked: it never ran on this
	// machine, or its manager does not answer.
	Unknown Liveness = "unknown"
)

// Location is a machine since it was last started: a session is at work there.
type Location struct {
	Host string // the machine's identity; empty: nobody knows which it was
	Boot string // empty: nobody knows which start of it that was
}

// Says judges a session at another location without a look at any process: one on another machine may
// live, and one from before this machine's start is gone. Certain is false where it takes a look.
func (here Location) Says(there Location) (l Liveness, certain bool) {
	switch {
	case here.Host == "" || there.Host == "":
	case here.Host != there.Host:
		return Unknown, true
	case here.Boot != there.Boot && here.Boot != "" && there.Boot != "":
		return Gone, true
	}
	return Unknown, false
}

// OnOtherHost reports whether a session is another machine's.
func (here Location) OnOtherHost(there Location) bool {
	said, certain := here.Says(there)
	return certain && said == Unknown
}

const runHolderPrefix = "run:"

// Holder is the name under which the run, and the agent for it, holds claims.
func (r RunID) Holder() Holder { return Holder(runHolderPrefix + string(r)) }

// Run is the run that holds under this name, if it is a run's.
func (h Holder) Run() (RunID, bool) {
	id, found := strings.CutPrefix(string(h), runHolderPrefix)
	if !found {
		return "", false
	}
	run, err := ParseRunID(id)
	return run, err == nil
}

// ClockSlack is the distance by which a time of the past may lie ahead: clocks are set by seconds, and
// two that look at once do not look in the same instant.
const ClockSlack = time.Minute

// Ahead reports whether a time of the past lies ahead: it was written by a clock that was
// wrong, and a wait that counts from it is over.
func Ahead(past, now time.Time) bool { return past.After(now.Add(ClockSlack)) }

// Current reports whether the claim's holder may still write under it. One that may
// not may yet be free for nobody: see [Claim.Free].
func (c Claim) Current(now time.Time) bool {
	return c.ReleasedAt.IsZero() && c.ExpiresAt.After(now)
}

// Free reports whether the claim's key may be taken. It is the one predicate by
// which claims are granted and tasks are offered:
//
//   - A claim that was given back is free.
//   - A claim of a session that lives is not, whatever the clock says: its work
//     goes on.
//   - A claim of a session that is proven gone is, without waiting for the clock.
//   - Any other is free once it is expired, or when it is further ahead than it is long: the
//     clock was wrong when it was taken.
func (c Claim) Free(now time.Time, holder Liveness) bool {
	if !c.ReleasedAt.IsZero() {
		return true
	}
	if _, session := c.Holder.Run(); session {
		switch holder {
		case Lives:
			return false
		case Gone:
			return true
		case Unknown:
		}
	}
	return !c.Current(now) || c.AcquiredAt.Sub(now) > c.ExpiresAt.Sub(c.AcquiredAt)
}

const (
	// leaseSlack is the time from the expiry of the claims of another machine's run until the run is
	// closed: its session has ended itself by then.
	leaseSlack = 30 * time.Second
	// silence is the time that such a run may take without a claim: it has just ended, or it is planned and nobody
	// knows its limit.
	silence = 10 * time.Minute
)

// Silent reports whether a run of another machine is to be closed, by claims that it has among them.
// Only its own machine could say that its session is gone; but once its last lease is over, it may
// not be at work any more. Its supervisor renews the claims on its key and its lane; what its agent
// took beside them may last for days. A planned run has no lease: its unit is over after its whole time.
func (r Run) Silent(claims []Claim, now time.Time) bool {
	var lease time.Time
	for _, c := range claims {
		own := c.Holder == r.ID.Holder() && (c.Key == r.Key || c.Key == LaneKey(r.Category, r.Lane))
		if own && c.ReleasedAt.IsZero() && c.ExpiresAt.After(lease) {
			lease = c.ExpiresAt
		}
	}
	if !lease.IsZero() {
		return now.Sub(lease) >= leaseSlack
	}
	may := silence
	if r.StartedAt.IsZero() && r.EndedAt.IsZero() {
		may = cmp.Or(r.Limit, silence)
	}
	return now.Sub(slices.MaxFunc([]time.Time{r.CreatedAt, r.NotBefore, r.StartedAt, r.EndedAt}, time.Time.Compare)) >= may
}
