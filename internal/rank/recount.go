package rank

import (
	"strconv"

	"stint/internal/fleet"
)

// Recount folds all events on record.
type Recount struct {
	Base     State                      // from which it counts; zero: from nothing
	Sessions map[fleet.RunID]*Recounted // that the events are about
	Off      []Difference               // of the states that are stored
}

// Recounter folds all events that are on record, and holds each stored state against what they come to.
type Recounter struct {
	Recount
	stored []State // that are yet to come, by Seq
	state  *State
}

// Recounted has the events' figures of a session.
type Recounted struct {
	Mark
	Category fleet.Category
	First    *float64 // its first grade; nil: none counted
	Final    *float64 // the one that counts; nil: none does
}

// NewRecounter begins with the states that are stored, by Seq. All events from the first one on, or from the
// first state on, are then to be taken in their order.
func NewRecounter(stored []State) *Recounter {
	return &Recounter{Recount: Recount{Sessions: map[fleet.RunID]*Recounted{}}, stored: stored}
}

// Take folds the next event.
func (r *Recounter) Take(e Event) {
	if r.state == nil {
		r.begin(e.Seq)
	}
	if e.Seq <= r.state.Seq {
		return // the base holds it
	}
	if want := r.state.Seq + 1; e.Seq != want {
		r.Off = append(r.Off, Difference{"", "events", "number " + strconv.Itoa(e.Seq), "number " + strconv.Itoa(want)})
	}
	m := r.state.Fold(e)
	if e.Run != "" {
		r.session(e, m)
	}
	for len(r.stored) > 0 && r.stored[0].Seq <= e.Seq {
		r.Off = append(r.Off, r.stored[0].Differs(r.state)...)
		r.stored = r.stored[1:]
	}
}

// session takes what an event says of one.
func (r *Recounter) session(e Event, m Mark) {
	s := r.Sessions[e.Run]
	if s == nil {
		if e.Kind != Began && e.Kind != Ended && e.Kind != Corrected {
			return // its beginning is older than the base, and this event has no mark
		}
		s = &Recounted{Mark: m, Category: e.Category}
		r.Sessions[e.Run] = s
	}
	if e.Kind != Ended && e.Kind != Corrected {
		return
	}
	if m.Round != s.Round || m.Load != s.Load {
		r.Off = append(r.Off, Difference{e.Category, "mark of run " + string(e.Run), "another", "that of its beginning"})
	}
	s.Counted, s.Final = m.Counted, &e.Grade
	if e.Kind == Ended {
		s.First = &e.Grade
	}
}

// begin chooses from where it counts.
func (r *Recounter) begin(first int) {
	switch {
	case len(r.stored) == 0:
		r.state = &State{Settings: Defaults()}
		r.Off = append(r.Off, Difference{"", "state", "missing", "one"})
	case first == 1:
		r.state = &State{Settings: r.stored[0].Settings}
	default:
		r.Base, r.state, r.stored = r.stored[0], r.stored[0].Clone(), r.stored[1:]
	}
}

// End is what it comes to. Stored states of which events are missing are off.
func (r *Recounter) End() Recount {
	for _, st := range r.stored {
		if r.state == nil && len(r.stored) == 1 {
			r.Base = st // all events that it holds are gone
			break
		}
		r.Off = append(r.Off, Difference{"", "events", "up to number " + strconv.Itoa(st.Seq), "fewer"})
	}
	return r.Recount
}
