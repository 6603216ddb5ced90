package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/selector"
)

// SelectOptions narrow a ranking.
type SelectOptions struct {
	Workers  int            // of a fire; 0: as configured
	Category fleet.Category // rank this one alone; empty: all
	Seed     *uint64        // nil: by chance
}

// Select ranks the categories and writes nothing.
func (e *Engine) Select(ctx context.Context, o SelectOptions) (selector.Selection, error) {
	if _, ok := e.Config.Categories[o.Category]; o.Category != "" && !ok {
		return selector.Selection{}, e.unknownCategory(o.Category)
	}
	v, err := e.look(ctx)
	if err != nil {
		return selector.Selection{}, err
	}
	v.full = e.full(ctx)
	situation := e.situation(v)
	situation.Only = o.Category
	in := e.input(v, situation, o.Seed)
	in.Workers = e.Config.Fanout.Workers
	if o.Workers > 0 {
		in.Workers = o.Workers
	}
	return selector.Rank(in), nil
}

// situation is what decides who may be ranked.
func (e *Engine) situation(v view) selector.Situation {
	s := selector.Situation{Fire: v.snapshot.NextFire, At: v.now, Tasks: v.tasks, Held: v.held}
	shifts := e.lessonShifts(v)
	for _, name := range e.Config.CategoryNames() {
		c, arm := e.Config.Categories[name], v.snapshot.Arms[name]
		f := selector.Facts{
			Category:     name,
			Share:        c.Share,
			Allowed:      slices.Contains(e.Config.Fanout.Allow, name),
			SelfDirected: c.SelfDirected,
			Lanes:        c.Lanes,
			InFlight:     v.inFlight[name],
			Paused:       paused(v.snapshot.Pauses, name, v.now),
			Gate:         cmp.Or(v.full[name], e.withoutAgent(v, name)),
			LOO:          shifts[name],
			Arm:          arm.Arm,
		}
		if !arm.Ended.IsZero() {
			f.Rests = arm.Ended.Add(c.Cooldown)
		}
		s.Facts = append(s.Facts, f)
	}
	return s
}

// paused says what keeps a category from being started, or "".
func paused(pauses []fleet.Pause, c fleet.Category, now time.Time) string {
	for _, p := range pauses {
		if p.Category != "" && p.Category != c || !p.Until.IsZero() && !p.Until.After(now) {
			continue
		}
		reason := p.Reason
		if p.Category == "" {
			reason = "the whole fleet, " + reason
		}
		if !p.Until.IsZero() {
			reason += " (until " + p.Until.UTC().Format(time.RFC3339) + ")"
		}
		return reason
	}
	return ""
}

// input is what the ranking depends on.
func (e *Engine) input(v view, s selector.Situation, seed *uint64) selector.Input {
	in := selector.Input{
		Settings: e.Config.Selector.Settings, Fire: s.Fire, At: s.At,
		Free: max(0, e.Config.Fanout.Slots-v.running),
	}
	if e.Machine != nil {
		in.Closed = e.Config.Fanout.Limits.Refuse(e.Machine())
	}
	in.Candidates, in.Blocked = s.Assess()
	if seed == nil {
		in.Seed = e.Random()
	} else {
		in.Seed = *seed
	}
	return in
}

func (e *Engine) unknownCategory(c fleet.Category) error {
	return fleet.WithHint(
		fmt.Errorf("category %q is not in %s: %w", c, e.Config.Path, fleet.ErrUsage),
		fmt.Sprintf("the categories are %v", e.Config.CategoryNames()))
}
