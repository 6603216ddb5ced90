package report

import (
	"cmp"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Lane has the runs of one lane.
type Lane struct {
	Category fleet.Category
	Number   int
	Held     []Held // in the order in which they were taken
}

// Held is one hold of a lane, and the run that had it.
type Held struct {
	fleet.LaneHold
	Outcome fleet.Outcome // empty: open
	Task    fleet.TaskID
	Grade   *float64
}

// LanesFrom is the time from which on lanes are shown: they begin with the first run that is.
func (p Report) LanesFrom() time.Time {
	first := p.To
	for _, l := range p.Lanes {
		for _, h := range l.Held {
			if h.AcquiredAt.Before(first) {
				first = h.AcquiredAt
			}
		}
	}
	return plain.Latest(first, p.From)
}

// lanes sorts the holds of the runs that are known by lanes.
func lanes(holds []fleet.LaneHold, p Report) (list []Lane) {
	runs := make(map[fleet.RunID]*fleet.Run, len(p.Runs))
	for i := range p.Runs {
		runs[p.Runs[i].ID] = &p.Runs[i]
	}
	for _, h := range holds {
		r, known := runs[h.Run]
		if !known {
			continue
		}
		at, found := slices.BinarySearchFunc(list, h, func(l Lane, h fleet.LaneHold) int {
			return cmp.Or(cmp.Compare(l.Category, h.Category), cmp.Compare(l.Number, h.Lane))
		})
		if !found {
			list = slices.Insert(list, at, Lane{Category: h.Category, Number: h.Lane})
		}
		list[at].Held = append(list[at].Held, Held{h, r.Verdict.Outcome, r.Task, r.Verdict.Grade})
	}
	return list
}
