package simulate

import "stint/internal/rank"

// memory is the sessions of a category of whose work something is yet to become.
type memory struct{ later []correction }

// correction has the final grade of a session, and when it is known.
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
