package simulate

import "stint/internal/rank"

// memory is the sessions of a category of whose work something is yet to become.
type memory struct{ later []correction }

// correction is what a grade will be once it is known what became of the work.
type correction struct {
	rank.Mark
	first, final float64
	known        int // at this fire
}

// correct has an arm's evidence go by what is known at a fire.
func (m *memory) correct(s rank.Settings, arm *rank.Arm, fire int) {
	var later []correction
	for _, c := range m.later {
		if c.known > fire {
			later = append(later, c)
			continue
		}
		s.Revise(arm, c.Mark, c.first, c.final)
	}
	m.later = later
}
