package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stint/internal/config"
	"stint/internal/explain/replay"
	"stint/internal/fleet"
	"stint/internal/rank"
)

// Ranked has the belief of a category, and its place in the last fire of its pool.
type Ranked struct {
	Belief
	Low, High float64       // of the mean grade, with 95 % certainty
	Rank      int           // of that fire, from 1; 0: it was left out, or there was no fire
	Score     float64       // of that fire
	Draw      *float64      // nil: it was not ranked
	Choice    *fleet.Choice // nil: the fire decided nothing about it
	Out       string        // why no fire would start it; empty: nothing is known to keep it out
}

// Ranking has the categories as the last fires ranked them, then the others by what is
// believed.
func (s Status) Ranking() (list []Ranked) {
	for _, b := range s.Beliefs {
		r := Ranked{Belief: b}
		r.Low, r.High = b.Credible()
		if bar, barred := s.Bars[b.Category]; barred {
			r.Out = bar.String()
		}
		list = append(list, r)
	}
	pools := map[string]bool{}
	for _, f := range s.Fires { // newest first
		in, err := replay.Read(f)
		if err != nil || pools[in.FirePool] {
			continue // a record that cannot be read is for "stint replay" to complain of
		}
		pools[in.FirePool] = true
		for place, score := range rank.Rank(in).Scores {
			i := slices.IndexFunc(list, func(r Ranked) bool { return r.Category == score.Category })
			if i >= 0 && list[i].Draw == nil {
				list[i].fired(f, place+1, score)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Ranked) int {
		if (a.Rank == 0) != (b.Rank == 0) {
			return cmp.Compare(b.Rank, a.Rank) // who was left out stands below
		}
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(b.Mean(), a.Mean()))
	})
	return list
}

// fired notes what a fire made of the category.
func (r *Ranked) fired(f fleet.Fire, place int, s rank.Score) {
	draw := s.TS
	r.Draw, r.Score = &draw, s.Value
	if s.In {
		r.Rank = place
	}
	if i := slices.IndexFunc(f.Choices, func(c fleet.Choice) bool { return c.Category == r.Category }); i >= 0 {
		r.Choice = &f.Choices[i]
	}
}

// Started reports whether the fire started a session of the category.
func (r Ranked) Started() bool { return r.Choice != nil && r.Choice.Decision == fleet.Spawn }

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
