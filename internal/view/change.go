package view

import (
	"time"

	"stint/internal/fleet"
)

// Pause shows a pause that was set or ended.
func Pause(set, changed, dryRun bool, running int) View[fleet.Pause] {
	type p = fleet.Pause
	return append(View[p]{
		Schema[p]("stint/pause@1"), Is[p]("dry_run", "", dryRun), Is[p]("paused", "", set), Is[p]("changed", "", changed),
		Is[p]("running", "of a pause: sessions under way, which go on", running),
	}, pause()...)
}

func pause() View[fleet.Pause] {
	type pause = fleet.Pause
	return View[pause]{
		Word("category", "", "empty: the whole fleet", func(p pause) fleet.Category { return p.Category }),
		At("until", "", "null: until it is resumed", func(p pause) time.Time { return p.Until }).OrNull(),
		Text("reason", "", "", func(p pause) string { return p.Reason }),
	}
}

// Away shows whether the reviewer is away. Without a reason the reviewer is back.
func Away(changed, dryRun bool) View[fleet.Away] {
	type a = fleet.Away
	return append(View[a]{
		Schema[a]("stint/away@1"), Is[a]("dry_run", "", dryRun), Bool("away", "", func(a a) bool { return a.Reason != "" }),
		Is[a]("changed", "", changed),
	}, away()...)
}

func away() View[fleet.Away] {
	type away = fleet.Away
	return View[away]{
		At("until", "", `null: until "stint review away --end"`, func(a away) time.Time { return a.Until }).OrNull(),
		Text("reason", "", "", func(a away) string { return a.Reason }),
	}
}
