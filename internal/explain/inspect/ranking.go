package inspect

import (
	"cmp"
	"context"
	"fmt"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/rank"
)

// SelectOptions narrow a ranking.
type SelectOptions struct {
	Workers  int            // of a fire; 0: as configured
	Pool     string         // rank the categories of this one; empty: of that of Category, or else of the default one
	Category fleet.Category // rank this one alone; empty: all
	Seed     *uint64        // nil: by chance
}

// Select ranks the categories and writes nothing.
func (e *Explainer) Select(ctx context.Context, o SelectOptions) (rank.Selection, error) {
	if _, ok := e.Config.Categories[o.Category]; o.Category != "" && !ok {
		return rank.Selection{}, e.UnknownCategory(o.Category)
	}
	pool, err := e.selectPool(o)
	if err != nil {
		return rank.Selection{}, err
	}
	v, err := e.Look(ctx)
	if err != nil {
		return rank.Selection{}, err
	}
	v.Pool = pool
	v.Full = e.Full(ctx)
	situation := e.Situation(v)
	situation.Only = o.Category
	in := e.Input(v, situation, o.Seed)
	in.Workers = e.Config.Pools[pool].Workers
	if o.Workers > 0 {
		in.Workers = o.Workers
	}
	return rank.Rank(in), nil
}

// selectPool is the pool to rank. Asking for a category by name asks for its pool.
func (e *Explainer) selectPool(o SelectOptions) (string, error) {
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
