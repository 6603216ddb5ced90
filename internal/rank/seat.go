package rank

import (
	"fmt"
	"maps"
	"strings"

	"stint/internal/plain"
)

// Seats are the slots of the agents that have a limit of their own, by agent. A fire gives
// them away from the best category on.
type Seats map[string]Slot

// Slot counts the sessions that an agent can take.
type Slot struct {
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

// AgentNames are the names, in their order.
func AgentNames(order []AgentDraw) []string {
	return plain.Each(order, func(d AgentDraw) string { return d.Agent })
}

// Chosen says why the first of a category's agents comes before the next; "" where it is the only one.
func Chosen(order []AgentDraw) string {
	if len(order) < 2 {
		return ""
	}
	a, b := order[0], order[1]
	by := "drew %.2f here"
	switch {
	case a.Draw+a.Price == b.Draw+b.Price:
		return fmt.Sprintf("agent %s: the first of equals", a.Agent)
	case a.Price < 0 || b.Price < 0:
		by = "drew %.2f here, less its price"
	}
	return fmt.Sprintf("agent %s "+by+"; %s %.2f", a.Agent, a.Draw+a.Price, b.Agent, b.Draw+b.Price)
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
		if _, c.Full, c.Picked = seats.Take(AgentNames(c.Order)); c.Picked {
			picks++
		}
	}
	return picks
}
