package wire

import "stint/internal/fleet"

// Doctor is stint/doctor@1.
type Doctor struct {
	Schema   string          `json:"schema"`
	Fleet    fleet.Name      `json:"fleet"` // empty: there is no configuration that can be used
	DryRun   bool            `json:"dry_run"`
	OK       int             `json:"ok"`
	Warnings int             `json:"warnings"`
	Problems int             `json:"problems"`
	Unknown  int             `json:"unknown"`
	Findings []DoctorFinding `json:"findings"`
	Repaired []Repaired      `json:"fixed"` // by --fix, before the findings
}

// DoctorFinding is what a check found.
type DoctorFinding struct {
	Check string `json:"check"`
	State string `json:"state"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Fix   string `json:"fix"`
}

// Repaired is what was done about one thing.
type Repaired struct {
	Repair string   `json:"fix"`
	Done   []string `json:"done"`
	Error  *string  `json:"error"` // null: it worked
}

// NewDoctor is what doctor found and fixed, as JSON.
func NewDoctor(f fleet.Name, findings []DoctorFinding, repaired []Repaired, dryRun bool) Doctor {
	d := Doctor{Schema: "stint/doctor@1", Fleet: f, DryRun: dryRun, Findings: listed(findings), Repaired: listed(repaired)}
	for _, f := range findings {
		*map[string]*int{"ok": &d.OK, "warning": &d.Warnings, "problem": &d.Problems, "unknown": &d.Unknown}[f.State]++
	}
	return d
}
