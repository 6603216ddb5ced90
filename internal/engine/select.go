package engine

import (
	"context"
	"fmt"
	"slices"

	"stint/internal/fleet"
	"stint/internal/selector"
)

// SelectOptions narrow a ranking.
type SelectOptions struct {
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
	in := e.input(v, o.Seed)
	in.Only = o.Category
	return selector.Rank(in), nil
}

// input is what the ranking depends on.
func (e *Engine) input(v view, seed *uint64) selector.Input {
	in := selector.Input{Fire: v.snapshot.NextFire, At: v.now, Tasks: v.tasks, Held: v.held}
	if seed == nil {
		in.Seed = e.Random()
	} else {
		in.Seed = *seed
	}
	for _, name := range e.Config.CategoryNames() {
		c := e.Config.Categories[name]
		in.Candidates = append(in.Candidates, selector.Candidate{
			Category:     name,
			Allowed:      slices.Contains(e.Config.Fanout.Allow, name),
			SelfDirected: c.SelfDirected,
			Lanes:        c.Lanes,
			InFlight:     v.inFlight[name],
			Posterior:    v.snapshot.Posteriors[name],
		})
	}
	return in
}

func (e *Engine) unknownCategory(c fleet.Category) error {
	return fleet.WithHint(
		fmt.Errorf("category %q is not in %s: %w", c, e.Config.Path, fleet.ErrUsage),
		fmt.Sprintf("the categories are %v", e.Config.CategoryNames()))
}
