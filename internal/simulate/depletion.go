package simulate

import (
	"math"

	"stint/internal/fleet"
)

// strain is a category's recent load: each session adds as much as makes a load of 1 of
// a session at every fire.
type strain struct {
	load float64
	at   fleet.FireID
}

func (s strain) now(d *Depletion, fire fleet.FireID) float64 {
	return s.load * math.Exp2(-float64(fire-s.at)/d.HalfLife)
}

func (s *strain) add(d *Depletion, fire fleet.FireID) {
	*s = strain{s.now(d, fire) + 1 - math.Exp2(-1/d.HalfLife), fire}
}
