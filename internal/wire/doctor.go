package wire

import (
	"stint/internal/doctor"
	"stint/internal/fleet"
)

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
	Check string       `json:"check"`
	State doctor.State `json:"state"`
	What  string       `json:"what"`
	Why   string       `json:"why"`
	Fix   string       `json:"fix"`
}

// Repaired is what was done about one thing.
type Repaired struct {
	Repair doctor.Repair `json:"fix"`
	Done   []string      `json:"done"`
	Error  *string       `json:"error"` // null: it worked
}

// NewDoctor is what doctor found and fixed, as JSON.
func NewDoctor(f fleet.Name, list []doctor.Finding, done []doctor.Repaired, dryRun bool) Doctor {
	return Doctor{
		Schema: "stint/doctor@1", Fleet: f, DryRun: dryRun,
		OK: doctor.Count(list, doctor.OK), Warnings: doctor.Count(list, doctor.Warning),
		Problems: doctor.Count(list, doctor.Problem), Unknown: doctor.Count(list, doctor.Unknown),
		Findings: each(list, func(f doctor.Finding) DoctorFinding { return DoctorFinding{f.Check, f.State, f.What, f.Why, f.Fix} }),
		Repaired: each(done, func(r doctor.Repaired) Repaired {
			o := Repaired{Repair: r.Repair, Done: listed(r.Done)}
			if r.Err != nil {
				o.Error = new(r.Err.Error())
			}
			return o
		}),
	}
}
