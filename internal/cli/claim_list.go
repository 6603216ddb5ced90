package cli

import (
	"context"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/view"
)

func (a *app) claimList(ctx context.Context, o claimOptions) error {
	return a.withStore(ctx, reading, func(cfg *config.Config, s store.Store) error {
		if s == nil {
			a.nothingYet()
			a.printClaims(nil, nil)
			return nil
		}
		now, err := s.List(ctx, store.Listing{All: o.all, Holder: o.holder})
		if err != nil {
			return err
		}
		held := a.desk(cfg, s).Held(ctx, now)
		list := now.Claims
		if !o.all {
			list = held
		}
		keys := map[fleet.Key]bool{} // the listed claims are looked up one by one, and may be many
		for _, c := range held {
			keys[c.Key] = true
		}
		a.printClaims(list, keys)
		return nil
	})
}

func (a *app) printClaims(list []fleet.Claim, held map[fleet.Key]bool) {
	states := plain.Each(list, func(c fleet.Claim) view.ClaimState {
		status := view.ClaimFree
		switch {
		case held[c.Key]:
			status = view.ClaimHeld
		case !c.ReleasedAt.IsZero():
			status = view.ClaimReleased
		}
		return view.ClaimState{Claim: c, Status: status}
	})
	show(a, view.Claims().JSON(states), view.ListedClaim(), states)
}
