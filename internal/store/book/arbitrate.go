package book

import (
	"fmt"
	"maps"
	"slices"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Arbitrate adjusts a fire, and the runs that it starts, to the runs open by now, and to what paused says of a category. A
// choice whose room was taken since the fire looked, or which a person has paused since, becomes a skip. Its category gets
// no due for a session that could not start, and the dues of the others are cut to the sessions that do start. If a fire
// starts nothing for this reason alone, it counts as one without room: it is no round.
func Arbitrate(f store.Firing, open []fleet.Run, paused func(fleet.Category) string) (fleet.Fire, []fleet.Run) {
	fire := f.Fire
	fire.Choices = slices.Clone(fire.Choices)
	var starts []fleet.Run
	taken := map[fleet.Category]bool{}
	bounds := f.Bounds
	bounds.Seen = maps.Clone(bounds.Seen)
	if bounds.Seen == nil {
		bounds.Seen = map[fleet.RunID]bool{}
	}
	for _, r := range f.Runs {
		reason, by := "", fleet.HinderedByPause
		if r.Source != fleet.FromHand {
			reason = paused(r.Category)
		}
		if reason == "" {
			reason, by = Taken(bounds, r, slices.Concat(open, starts)), fleet.HinderedByRival
		}
		if reason == "" {
			bounds.Seen[r.ID] = true // it takes room, and is no rival
			starts = append(starts, r)
			continue
		}
		taken[r.Category] = true
		for i := range fire.Choices {
			if c := &fire.Choices[i]; c.Run == r.ID {
				skip(c, by, reason, fire.Own)
			}
		}
	}
	switch {
	case len(taken) == 0:
	case len(starts) == 0:
		fire.Due, fire.Moves = nil, nil
	default:
		fire.Due = withdraw(fire.Due, taken, len(starts))
	}
	return fire, starts
}

// skip turns a spawn into a skip. The reason of stint's own ranking stays beside the new one.
func skip(c *fleet.Choice, by fleet.Hindrance, reason string, own bool) {
	c.Decision, c.By, c.Agent, c.Unit, c.Run = fleet.Skip, by, "", "", ""
	if !own {
		c.Reason = reason
		return
	}
	c.Refusal = reason
	c.Reason += "; " + reason
}

// withdraw returns the dues of the other categories, cut to the sessions that start.
func withdraw(due map[fleet.Category]float64, taken map[fleet.Category]bool, starts int) map[fleet.Category]float64 {
	left, sum := map[fleet.Category]float64{}, 0.0
	for _, c := range slices.Sorted(maps.Keys(due)) { // a fixed order: the sum's last bit depends on it
		if !taken[c] {
			left[c] = due[c]
			sum += due[c]
		}
	}
	if most := float64(starts); sum > most {
		for c := range left {
			left[c] *= most / sum
		}
	}
	return left
}

// Taken tells which room for a run was taken since the fire looked, or "". It needs at least one run that the fire did
// not see.
func Taken(b store.Bounds, r fleet.Run, open []fleet.Run) string {
	full := func(most int, counts func(fleet.Run) bool) (by fleet.RunID) {
		n := 0
		for _, o := range open {
			lives, seen := b.Seen[o.ID]
			if !counts(o) || seen && !lives {
				continue
			}
			if n++; !seen {
				by = o.ID
			}
		}
		if n < most {
			return ""
		}
		return by
	}
	if most, bound := b.Lanes[r.Category]; bound {
		by := full(most, func(o fleet.Run) bool { return o.Category == r.Category })
		switch {
		case by != "" && most == 1:
			return fmt.Sprintf("lane %s.1 was taken since: run %s", r.Category, by)
		case by != "":
			return fmt.Sprintf("the last lane of %s was taken since: run %s", r.Category, by)
		}
	}
	if most, bound := b.Agents[r.Agent]; bound {
		if by := full(most, func(o fleet.Run) bool { return o.Agent == r.Agent }); by != "" {
			return fmt.Sprintf("the last slot of agent %s was taken since: run %s", r.Agent, by)
		}
	}
	for _, s := range b.Slots {
		if !s.Bounds(r.Category) {
			continue
		}
		if by := full(s.Most, func(o fleet.Run) bool { return s.Bounds(o.Category) && o.Host == r.Host }); by != "" {
			return fmt.Sprintf("the last slot was taken since: run %s", by)
		}
	}
	return ""
}
