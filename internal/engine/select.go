package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/selector"
)

// SelectOptions narrow a ranking.
type SelectOptions struct {
	Workers  int            // of a fire; 0: as configured
	Pool     string         // rank the categories of this one; empty: of that of Category, or else of the default one
	Category fleet.Category // rank this one alone; empty: all
	Seed     *uint64        // nil: by chance
}

// Select ranks the categories and writes nothing.
func (e *Engine) Select(ctx context.Context, o SelectOptions) (selector.Selection, error) {
	if _, ok := e.Config.Categories[o.Category]; o.Category != "" && !ok {
		return selector.Selection{}, e.unknownCategory(o.Category)
	}
	pool, err := e.selectPool(o)
	if err != nil {
		return selector.Selection{}, err
	}
	v, err := e.look(ctx)
	if err != nil {
		return selector.Selection{}, err
	}
	v.pool = pool
	v.full = e.full(ctx)
	situation := e.situation(v)
	situation.Only = o.Category
	in := e.input(v, situation, o.Seed)
	in.Workers = e.Config.Pools[pool].Workers
	if o.Workers > 0 {
		in.Workers = o.Workers
	}
	return selector.Rank(in), nil
}

// selectPool is the pool to rank. Asking for a category by name asks for its pool.
func (e *Engine) selectPool(o SelectOptions) (string, error) {
	own := config.DefaultPool
	if o.Category != "" {
		own = e.Config.Categories[o.Category].Pool
	}
	pool := cmp.Or(o.Pool, own)
	if _, err := e.Config.Pool(pool); err != nil {
		return "", err
	}
	if o.Category != "" && pool != own {
		return "", fmt.Errorf("category %s is of pool %s, not %s: %w", o.Category, own, pool, fleet.ErrUsage)
	}
	return pool, nil
}

// elsewhere is the pool of a category that fires of another pool than this one start, or "".
func (e *Engine) elsewhere(c fleet.Category, pool string) string {
	if own := e.Config.Categories[c].Pool; own != pool {
		return own
	}
	return ""
}

// free is how many sessions of the pool may be started: its own slots bound them, and the
// fleet's.
func (e *Engine) free(v view) int {
	all, own := 0, 0
	for c, n := range v.running {
		all += n
		if e.elsewhere(c, v.pool) == "" {
			own += n
		}
	}
	return max(0, min(e.Config.Fanout.Slots-all, e.Config.Pools[v.pool].Slots-own))
}

// queue is what decides which task a session tries first, of those that a fire starts next.
func (e *Engine) queue(v view) selector.Queue {
	return selector.Queue{Tasks: v.tasks, Held: v.held, At: v.now, RaiseAfter: e.Config.Tasks.RaiseAfter, Round: v.snapshot.Coming}
}

// situation is what decides who may be ranked.
func (e *Engine) situation(v view) selector.Situation {
	s := selector.Situation{Queue: e.queue(v)}
	shifts := e.lessonShifts(v)
	for _, name := range e.Config.CategoryNames() {
		c, arm := e.Config.Categories[name], v.snapshot.Arms[name]
		f := selector.Facts{
			Category:     name,
			Elsewhere:    e.elsewhere(name, v.pool),
			Share:        c.Share,
			Allowed:      slices.Contains(e.Config.Fanout.Allow, name),
			SelfDirected: c.SelfDirected,
			Lanes:        c.Lanes,
			InFlight:     v.inFlight[name],
			Paused:       paused(v.snapshot.Pauses, name, v.now),
			Review:       v.full[name],
			Gate:         e.withoutAgent(v, name),
			Unlisted:     e.unlisted(v.failed, name),
			Agents:       e.able(v, name),
			LOO:          shifts[name],
			Arm:          arm.Coming(),
		}
		// A fire closes the dead first, and the category rests from their end on.
		if ended := latest(arm.Ended, v.dead[name].at); !ended.IsZero() {
			f.Rests = ended.Add(c.Cooldown)
		}
		if fleet.Ahead(arm.AsleepSince, v.now) {
			f.Arm.AsleepUntil = 0 // no change of a task would end it
		}
		s.Facts = append(s.Facts, f)
	}
	return s
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
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
			reason += " (until " + plain.Stamp(p.Until) + ")"
		}
		return reason
	}
	return ""
}

// input is what the ranking depends on.
func (e *Engine) input(v view, s selector.Situation, seed *uint64) selector.Input {
	in := selector.Input{
		Settings: e.Config.Selector.Settings, Fire: v.snapshot.NextFire, At: s.At,
		Free: e.free(v), Seats: e.seats(v), Failed: v.failed,
	}
	if v.pool != config.DefaultPool {
		in.FirePool = v.pool
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
