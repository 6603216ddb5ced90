package fleet

import "time"

// ReviewDecision is a decision on the work that a run left on its branch.
type ReviewDecision string

const (
	// DecisionPublished is work that waits elsewhere, as in a merge request.
	DecisionPublished ReviewDecision = "published"
	// DecisionRejected is work that a person does not want.
	DecisionRejected ReviewDecision = "rejected"
	// DecisionSuperseded is work in whose place other work of the same task is in the target.
	DecisionSuperseded ReviewDecision = "superseded"
	// DecisionLanded is work that is in the target.
	DecisionLanded ReviewDecision = "landed"
)

// Final reports whether nobody has to look at the work any more.
func (d ReviewDecision) Final() bool {
	return d == DecisionRejected || d == DecisionSuperseded || d == DecisionLanded
}

// Review has the decision on a run's work, and the findings about it.
type Review struct {
	Run       RunID
	Tip       string         // of the branch, when it was decided: a later commit opens the work again
	Decision  ReviewDecision // empty: none
	Reason    string
	URL       string // of the request, for published work
	By        string // who decided: a user's name
	Commit    string // that the target has for landed work
	Base      string // that the target had before it; empty: nobody knows
	DecidedAt time.Time
	Check     ReviewCheck
}

// Passed reports whether the work went the way of review: stint landed it, or it was published for review elsewhere.
func (r Review) Passed() bool {
	return r.Decision == DecisionLanded || r.Decision == DecisionPublished
}

// Failed reports whether the work did not fit when it was last tried. What landed since, where no check is configured, did.
func (r Review) Failed() bool {
	landed := r.Decision == DecisionLanded && r.Tip == r.Check.Tip
	return r.Check.Tip != "" && !r.Check.OK && !landed
}

// ReviewCheck is the result of trying a run's work on the target.
type ReviewCheck struct {
	Tip    string // of the branch; empty: it was never tried
	OK     bool
	Reason string // for which it failed
	At     time.Time
}

// Tracking says what is wrong between the target and its upstream.
type Tracking struct {
	Text  string // empty: nothing is, or it has no upstream
	Fix   string // what to do
	Stuck bool   // work does not come in until a person does it; else others do not see this work
}
