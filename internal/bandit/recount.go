package bandit

import "stint/internal/fleet"

// History is what happened to an arm in a span of time.
type History struct {
	Graded []Learnt      // sessions whose grades were learnt, in the order in which they were
	Moves  []Move        // in order
	Debits []fleet.Round // in which its sessions began, in order
}

// Learnt is a session whose grade was learnt, and the round that its category was in then.
type Learnt struct {
	Graded
	In fleet.Round
}

// Move is a fire that counts for a category: it begins a round, or takes part in the current one.
type Move struct {
	Round    fleet.Round
	Due      float64 // to which it entitled the category
	Entitled bool    // it did
}

// Recount works an arm out anew, to the last bit, from what it was before a span of time without an
// alarm and what happened in it: its account and its evidence. The change detector and the
// back-off depend on more, such as what was believed of all arms then: they are left as they were.
func (s Settings) Recount(a Arm, h History) Arm {
	a.Evidence = s.Relearn(a.Evidence, h.Graded)
	debits := h.Debits
	until := func(now fleet.Round) {
		for len(debits) > 0 && debits[0] <= now {
			a.Debit(debits[0])
			debits = debits[1:]
		}
	}
	for _, m := range h.Moves {
		until(m.Round - 1)
		a.Move(s, m)
	}
	until(a.Round)
	return a
}

// Relearn is evidence after these grades, counted as [Settings.Learn] counts them one by one, but
// without the change detector: a grade that was corrected since stands where the first one stood,
// with the weight that the session's age leaves it.
func (s Settings) Relearn(e Evidence, list []Learnt) Evidence {
	for _, x := range list {
		e = s.forward(e, x.In)
		s.count(&e, x.Graded)
		e.Graded++
	}
	return e
}
