package fleet

import "fmt"

// Discrepancy is a figure that does not add up: it is kept, and the record of what ran gives
// another.
type Discrepancy struct {
	Kind     DiscrepancyKind
	Subject  string // whose figure it is: a category, a scope and its day, a key, a run
	Figure   string
	Stored   string
	Recorded string // what it comes to by the record
	Run      RunID  // it is one only while the session of this run lives; empty: in any case
}

// DiscrepancyKind is a kind of figure that does not add up.
type DiscrepancyKind string

const (
	MismatchBelief DiscrepancyKind = "belief"  // what is believed of a category
	OffAccount     DiscrepancyKind = "account" // what a category was entitled to, and what it got
	OffBudget      DiscrepancyKind = "budget"  // what was used in a day
	OffEpoch       DiscrepancyKind = "epoch"   // who held a claim, and at which epoch
	OffRecord      DiscrepancyKind = "record"  // the record itself has gaps
)

func (d Discrepancy) String() string {
	return fmt.Sprintf("%s of %s: %s is %s, and the record gives %s", d.Kind, d.Subject, d.Figure, d.Stored, d.Recorded)
}
