package bandit

import "stint/internal/fleet"

// History is what happened to an arm in a span of time.
type History struct {
	Graded []Graded      // sessions whose grades were learnt, in any order
	Moves  []Move        // of its clock, in order
	Debits []fleet.Round // in which its sessions began, in order
}

// Move is a fire for which the category's clock went on.
type Move struct {
	Round    fleet.Round // that began
	Due      float64     // to which it entitled the category
	Entitled bool        // it did
}

// Recount works an arm out anew, from what it was before a span of time without an alarm and what
// happened in it: its account, and its evidence as of the round now. The change
// detector and the back-off depend on more, such as the order of the grades: they are left as
// they were.
func (s Settings) Recount(a Arm, h History, now fleet.Round) Arm {
	e := s.forward(a.Evidence, now)
	for _, x := range h.Graded {
		s.count(&e, x)
		e.Graded++
	}
	a.Evidence = e
	debits := h.Debits
	until := func(now fleet.Round) {
		for len(debits) > 0 && debits[0] <= now {
			a.Debit(debits[0])
			debits = debits[1:]
		}
	}
	until(a.Round)
	for _, m := range h.Moves {
		if a.Round = m.Round; m.Entitled {
			a.Entitle(s, m.Due)
		}
		until(m.Round)
	}
	return a
}
