package wire

import (
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/report"
)

// Audit is stint/audit@1.
type Audit struct {
	Schema             string                `json:"schema"`
	PeakConcurrency    int                   `json:"peak_concurrency"`
	TotalAcquisitions  int                   `json:"total_acquisitions"`
	SameLockViolations int                   `json:"same_lock_violations"`
	Violations         []Violation           `json:"violations"`
	Overruns           []Overrun             `json:"overruns"` // sessions that ended after their leases were over; there should be none
	Denials            int                   `json:"denials"`
	Pivots             int                   `json:"pivots"`
	Runs               int                   `json:"runs"` // that ended
	Outcomes           map[fleet.Outcome]int `json:"outcomes"`
	Graded             int                   `json:"graded"`
	Grade              float64               `json:"grade"` // their mean; 0 without any
	NoopRate           float64               `json:"noop_rate"`
	Busy               int                   `json:"busy"`       // runs that found no lane or slot free
	Idle               int                   `json:"idle"`       // runs that found no workable task
	SafetyNet          int                   `json:"safety_net"` // runs for which the allow-list stood in for a payload
	Fallbacks          int                   `json:"fallbacks"`  // fires for which the external selector failed
	Categories         []ReportCategory      `json:"categories"`
	Fruitless          []Fruitless           `json:"fruitless"`               // chosen, and never at work
	Failing            []Failing             `json:"failing"`                 // tasks at which most sessions fail
	Discrepancies      []Discrepancy         `json:"discrepancies,omitempty"` // figures that do not add up; left out where there are none
}

// Overrun is a session that ended after its lease was over.
type Overrun struct {
	Run           fleet.RunID    `json:"run"`
	Host          string         `json:"host"` // the identity of its machine, by whose word it ended
	Category      fleet.Category `json:"category"`
	LeaseOver     string         `json:"lease_over"`
	Ended         string         `json:"ended"`
	SharedSeconds float64        `json:"shared_seconds"` // of the time between: others had its lane, or worked at its task
}

// Discrepancy is a figure that is kept and that does not come of the record.
type Discrepancy struct {
	Kind     fleet.DiscrepancyKind `json:"kind"`
	Subject  string                `json:"subject"` // whose figure it is
	Figure   string                `json:"figure"`
	Stored   string                `json:"stored"`
	Recorded string                `json:"recorded"` // what it comes to by the record
}

// Failing is a task at which most sessions fail.
type Failing struct {
	Task     fleet.TaskID   `json:"task"`
	Category fleet.Category `json:"category"`
	Sessions int            `json:"sessions"`
	Failed   int            `json:"failed"`
	Reason   string         `json:"reason"` // of the last that failed
}

// Fruitless is a category that is chosen and never gets to work.
type Fruitless struct {
	Category fleet.Category `json:"category"`
	Runs     int            `json:"runs"`
}

// Violation is a lane that two runs held at once, from At on.
type Violation struct {
	Category fleet.Category `json:"category"`
	Lane     int            `json:"lane"`
	Runs     [2]fleet.RunID `json:"runs"`
	At       string         `json:"at"`
}

// NewAudit is an audit as JSON.
func NewAudit(r report.Audit) Audit {
	return Audit{
		Schema: "stint/audit@1", PeakConcurrency: r.PeakConcurrency, TotalAcquisitions: r.TotalAcquisitions,
		SameLockViolations: len(r.Violations), Violations: each(r.Violations, func(v report.Violation) Violation {
			return Violation{v.Category, v.Lane, [2]fleet.RunID{v.First, v.Second}, plain.Stamp(v.At)}
		}),
		Overruns: each(r.Overruns, func(o report.Overrun) Overrun {
			return Overrun{o.Run, o.Host, o.Category, plain.Stamp(o.LeaseOver), plain.Stamp(o.Ended), o.Shared.Seconds()}
		}),
		Denials: r.Denials, Pivots: r.Pivots, Runs: r.All.Ended, NoopRate: r.All.NoopRate(), Busy: r.All.Outcomes[fleet.Busy], Idle: r.All.Outcomes[fleet.Idle],
		Outcomes: r.All.Outcomes, Graded: r.All.Graded, Grade: r.All.Mean(),
		SafetyNet: r.SafetyNet, Fallbacks: r.Fallbacks, Categories: each(r.Categories, newReportCategory),
		Fruitless: each(r.Fruitless, func(f report.Fruitless) Fruitless { return Fruitless(f) }),
		Failing:   each(r.Failing, func(f report.Failing) Failing { return Failing(f) }),
		Discrepancies: each(r.Off, func(d fleet.Discrepancy) Discrepancy {
			return Discrepancy{d.Kind, d.Subject, d.Figure, d.Stored, d.Recorded}
		}),
	}
}
