package simulate

import "math"

// strain is a category's recent load: each session adds as much as makes a load of 1 of
// a session at every fire.
type strain struct {
	load float64
	at   int // round
}

func (s strain) now(d *Depletion, round int) float64 {
	return s.load * math.Exp2(-float64(round-s.at)/d.HalfLife)
}

func (s *strain) add(d *Depletion, round int) {
	*s = strain{s.now(d, round) + 1 - math.Exp2(-1/d.HalfLife), round}
}
