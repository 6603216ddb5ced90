package fleet

import "time"

// FateKind is a kind of thing that becomes of a run's work once the run is over.
type FateKind string

const (
	// FateMerged is work that is in the target as it was made.
	FateMerged FateKind = "merged"
	// FateChanged is work that is in the target with changes, or in part.
	FateChanged FateKind = "changed"
	// FateUnreviewed is work that is in the target, and was to be reviewed: neither stint landed it, nor was it published.
	FateUnreviewed FateKind = "unreviewed"
	// FateRejected is work that nobody wants.
	FateRejected FateKind = "rejected"
	// FateReverted is work that was in the target, which took it back.
	FateReverted FateKind = "reverted"
	// FateTouched is work in the target of which others soon wrote lines anew.
	FateTouched FateKind = "touched"
)

// Landed reports whether the target has the work.
func (k FateKind) Landed() bool { return k == FateMerged || k == FateChanged || k == FateUnreviewed }

// ReviewOutcome is one event of a run's work in review.
type ReviewOutcome struct {
	Run     RunID     `json:"run"`
	At      time.Time `json:"at"` // when it happened
	Kind    FateKind  `json:"kind"`
	Witness string    `json:"witness"` // a commit, or who says so: a run's work has one fate of a kind by each
	Reason  string    `json:"reason"`  // empty: the kind says it all
	Grade   *float64  `json:"grade"`   // of the run, as of now; nil: it has none
}
