package fleet

import (
	"fmt"
	"time"
)

// Lineage is the past of a store that several machines share. It shows that a store lost writes which it
// had acknowledged: a standby that lagged became the primary, or somebody restored a backup.
type Lineage struct {
	// Incarnation counts these losses. A claim that was granted in an earlier one continues
	// [EpochLeap] further on: the epochs that were lost are not granted twice.
	Incarnation int
	Servers     map[string]int // by identifier of the server, the timeline on which the fleet wrote there last
	Synchronous bool           // a standby had the last write, too, before it was acknowledged
	Since       time.Time      // of the incarnation; zero: it is the first
	Lost        int64          // acknowledged writes that are known to have been lost at its beginning
	GrantsFrom  time.Time      // no claim is granted before, as its holder may live; zero: nothing bars grants
}

// EpochLeap is more than the epochs of one claim that a store can lose.
const EpochLeap Epoch = 1_000_000

// Epoch is the one at which a claim is granted next, by its last and the incarnation of that.
func (l Lineage) Epoch(last Epoch, incarnation int) Epoch {
	return last + 1 + EpochLeap*Epoch(l.Incarnation-incarnation)
}

// Bars reports whether nothing is granted at a time.
func (l Lineage) Bars(now time.Time) bool { return now.Before(l.GrantsFrom) }

// Pause is the bar of all grants, as the pause of the whole fleet that it is.
func (l Lineage) Pause() Pause {
	return Pause{Since: l.Since, Until: l.GrantsFrom, Reason: l.Reason()}
}

// Reason says why grants are, or were, barred; empty: they never were.
func (l Lineage) Reason() string {
	switch {
	case l.Lost > 0:
		return fmt.Sprintf("the store lost acknowledged writes: %d", l.Lost)
	case !l.GrantsFrom.IsZero():
		return "the store may have lost acknowledged writes"
	}
	return ""
}
