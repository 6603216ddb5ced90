package selector

import (
	"fmt"
	"maps"
	"strings"
)

// Seats are the slots of the agents that have a limit of their own, by agent. A fire gives
// them away from the best category on.
type Seats map[string]Seat

// Seat is what an agent can still take.
type Seat struct {
	All  int `json:"all"`  // its slots
	Free int `json:"free"` // of these, not in use
}

// Take gives a slot of the first agent that has one, in the order of preference. Full says
// why the agents before that one, or all of them, were passed over.
func (s Seats) Take(agents []string) (agent, full string, ok bool) {
	var reasons []string
	for _, name := range agents {
		seat, limited := s[name]
		if limited && seat.Free <= 0 {
			reasons = append(reasons, fmt.Sprintf("agent %s: all of its %d slots are in use or taken by this fire", name, seat.All))
			continue
		}
		if limited {
			seat.Free--
			s[name] = seat
		}
		return name, strings.Join(reasons, "; "), true
	}
	return "", strings.Join(reasons, "; "), len(agents) == 0
}

// pick marks what a fire starts: the best, as far as workers, slots and the slots of their
// agents go, and says how many these are.
func (in Input) pick(ranked []Score) (picks int) {
	if in.Closed != "" {
		return 0
	}
	seats := maps.Clone(in.Seats)
	for i := range ranked {
		if picks >= min(in.Workers, in.Free) {
			break
		}
		c := &ranked[i]
		if _, c.Full, c.Picked = seats.Take(c.Agents); c.Picked {
			picks++
		}
	}
	return picks
}
