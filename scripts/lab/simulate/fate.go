package simulate

import "stint/internal/bandit"

// memory is what the evidence of a category is worked out from anew once grades are corrected: what
// the store has on record.
type memory struct {
	since  bandit.Evidence // before the first of the grades
	grades []bandit.Learnt // since an alarm, in the order in which they came, without those that are final and old
	later  []correction    // of each of these
}

// correction is what a grade will be once it is known what became of the work.
type correction struct {
	grade float64
	known int // at this fire
	done  bool
}

// add notes a grade that an arm has learnt.
func (m *memory) add(arm *bandit.Arm, x bandit.Graded, alarm bool, final float64, known int) {
	if alarm { // which has all grades forgotten
		*m = memory{since: arm.Evidence}
		return
	}
	m.grades = append(m.grades, bandit.Learnt{Graded: x, In: arm.Round})
	m.later = append(m.later, correction{grade: final, known: known})
}

// correct has an arm's evidence go by what is known at a fire.
func (m *memory) correct(s bandit.Settings, arm *bandit.Arm, fire int) {
	news := false
	for i := range m.later {
		if c := &m.later[i]; !c.done && c.known <= fire {
			c.done, news = true, true
			m.grades[i].Shift = c.grade - m.grades[i].Grade
			m.grades[i].Grade = c.grade
		}
	}
	if !news {
		return
	}
	for len(m.later) > 0 && m.later[0].done {
		m.since = s.Relearn(m.since, m.grades[:1])
		m.grades, m.later = m.grades[1:], m.later[1:]
	}
	e := s.Relearn(m.since, m.grades)
	arm.Fast, arm.Slow, arm.Slope, arm.Evidence.Season, arm.Shift = e.Fast, e.Slow, e.Slope, e.Season, e.Shift
}
