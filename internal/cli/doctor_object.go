package cli

import (
	"stint/internal/doctor"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/wire"
)

// doctorObject is what doctor found and fixed, as JSON.
func doctorObject(f fleet.Name, list []doctor.Finding, done []doctor.Repaired, dryRun bool) wire.Doctor {
	findings := plain.Each(list, func(f doctor.Finding) wire.DoctorFinding {
		return wire.DoctorFinding{Check: f.Check, State: string(f.State), What: f.What, Why: f.Why, Fix: f.Fix}
	})
	return wire.NewDoctor(f, findings, plain.Each(done, func(r doctor.Repaired) wire.Repaired {
		o := wire.Repaired{Repair: string(r.Repair), Done: append([]string{}, r.Done...)}
		if r.Err != nil {
			o.Error = new(r.Err.Error())
		}
		return o
	}), dryRun)
}
