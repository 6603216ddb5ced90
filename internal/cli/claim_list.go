package cli

import (
	"context"
	"fmt"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/wire"
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
	rows := [][]string{{"KEY", "KIND", "STATUS", "HOLDER", "EPOCH", "UNTIL", "NOTE"}}
	objects := wire.Claims{Schema: "stint/claims@1", Claims: []wire.ListedClaim{}}
	for _, c := range list {
		status := wire.ClaimFree
		switch {
		case held[c.Key]:
			status = wire.ClaimHeld
		case !c.ReleasedAt.IsZero():
			status = wire.ClaimReleased
		}
		objects.Claims = append(objects.Claims, wire.NewListedClaim(status, c))
		rows = append(rows, []string{string(c.Key), string(c.Key.Kind()), string(status), string(c.Holder), fmt.Sprint(c.Epoch), stamp(c.ExpiresAt), c.Note})
	}
	if a.asObject(objects) {
		return
	}
	if len(list) > 0 {
		a.table(rows)
	}
}
