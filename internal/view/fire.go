package view

import (
	"fmt"
	"strconv"
	"time"

	"stint/internal/explain/replay"
	"stint/internal/explain/report"
	"stint/internal/explain/why"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
)

// OfFire links to a fire's page.
func OfFire(id fleet.FireID) Ref { return Ref{fmt.Sprint(id), fmt.Sprintf("/fires/%d", id)} }

// Fire shows a fire as recorded.
func Fire() View[fleet.Fire] { return FireUnderWay(false, 0, nil) }

// Fires shows fires, newest first.
func Fires() View[[]fleet.Fire] { return List("stint/fires@1", "fires", "newest first", Fire()) }

// FireUnderWay shows a fire made just now, with the terms of its scores.
func FireUnderWay(dryRun bool, tier rank.Tier, explain map[string]rank.Explain) View[fleet.Fire] {
	type fire = fleet.Fire
	return View[fire]{
		Schema[fire]("stint/fire@1"),
		Data("fire", "integer", "0 with a dry run", func(f fire) fleet.FireID { return f.ID }),
		Link("", "Fire", "", func(f fire) Ref { return OfFire(f.ID) }),
		Bool("dry_run", "", func(fire) bool { return dryRun }),
		Age("at", "", func(f fire) time.Time { return f.At }),
		Word("pool", "Pool", "", func(f fire) string { return f.Pool }),
		Word("seed", "", "", func(f fire) string { return strconv.FormatUint(f.Seed, 10) }),
		Int("tier", "", "0: another selector's payload", func(fire) rank.Tier { return tier }),
		Int("spawned", "", "", func(f fire) int { return f.Count(fleet.Spawn) }),
		Int("skipped", "", "", func(f fire) int { return f.Count(fleet.Skip) }),
		Int("failed", "", "", func(f fire) int { return f.Count(fleet.StartFailed) }),
		Links("Started", func(f fire) []Ref {
			spawned := plain.Kept(f.Choices, func(c fleet.Choice) bool { return c.Decision == fleet.Spawn })
			return plain.Each(spawned, func(c fleet.Choice) Ref { return Ref{string(c.Category), OfRun(c.Run).Path} })
		}),
		Text("", "Why nothing", "", func(f fire) string { return why.Nothing(f) }),
		Text("fallback", "", "why the external selector was not followed; empty: it was, or there is none",
			func(f fire) string { return f.Fallback }),
		Each("categories", "", Choice(), func(f fire) []fleet.Choice { return f.Choices }),
		ByName("explain", "object", "The terms of the scores, by category; only of a fire that is under way.",
			func(fire) map[string]rank.Explain { return explain }).OrAbsent().Tagged(rank.Explain{}),
	}
}

// Choice shows a fire's decision about one category.
func Choice() View[fleet.Choice] {
	type choice = fleet.Choice
	return View[choice]{
		TextLink("category", "Category", "", func(c choice) Ref { return OfCategory(c.Category) }),
		Word("decision", "", "spawn, skip or failed", func(c choice) fleet.Decision { return c.Decision }),
		Sign("Decision", func(c choice) fleet.Sign { return c.Decision.Sign() }),
		Word("source", "",
			"of its place in the ranking: selected.category, diversity_alternatives, alternatives, all_scores, allow-list, hand or respawn",
			func(c choice) fleet.Source { return c.Source }),
		Int("rank", "", "", func(c choice) int { return c.Rank }),
		Int("", "Rank", "", func(c choice) int { return c.Rank }).OrNull(),
		Number("score", "", func(c choice) float64 { return c.Score }),
		Figure("", "Score", "", three, func(c choice) (score *float64) {
			if c.Odds != nil { // stint's own ranking chose
				score = &c.Score
			}
			return score
		}),
		Figure("odds", "", "probability of being started; null: another selector's ranking", report.Percent,
			func(c choice) *float64 { return c.Odds }),
		Text("reason", "Reason", "", func(c choice) string { return c.Reason }),
		Word("agent", "", "that is to work; empty: it is not started", func(c choice) string { return c.Agent }),
		Word("task", "", "that another selector chose, tried first; empty: the usual order", func(c choice) fleet.TaskID { return c.Task }),
		Text("unit", "", "", func(c choice) string { return c.Unit }),
		TextLink("run", "Run", "", func(c choice) Ref { return OfRun(c.Run) }),
	}
}

// Ranking shows a recorded fire and its ranking computed anew; nil: that is not possible. Runs are the fire's.
func Ranking(r *replay.Result, runs []fleet.RunStatus) View[fleet.Fire] {
	type fire = fleet.Fire
	followed, tier := "other", rank.Tier(0)
	if r != nil && r.Followed {
		followed, tier = "stint", r.Selection.Tier
	}
	return View[fire]{
		Schema[fire]("stint/ranking@1"),
		Part("fire", "", FireUnderWay(false, tier, nil), func(f fire) fire { return f }),
		Word("followed", "", `"stint", or "other" for another selector's payload`, func(fire) string { return followed }),
		Bool("identical", "it came out as it was recorded", func(fire) bool { return r != nil && len(r.Differences) == 0 }),
		Texts("sentences", "", "the winner first, then the others in order, then what is out", func(fire) []string {
			if r == nil {
				return nil
			}
			return r.Selection.Sentences(rank.Figures)
		}),
		Data("selection", "object or null", "null: the record cannot be ranked again", func(fire) *rank.Payload {
			if r == nil {
				return nil
			}
			return new(r.Selection.Payload())
		}).Tagged(rank.Payload{}),
		Each("runs", "of this fire", Run(), func(fire) []fleet.RunStatus { return runs }),
	}
}

// DecidedAgain returns the choices as decided anew, each with its unit and run on record.
func DecidedAgain(r replay.Result) []fleet.Choice {
	return plain.Each(r.Choices, func(c fleet.Choice) fleet.Choice {
		recorded := r.Fire.Choice(c.Category)
		c.Unit, c.Run = recorded.Unit, recorded.Run
		return c
	})
}

// Replay shows a fire that was ranked and decided anew.
func Replay() View[replay.Result] {
	type result = replay.Result
	return View[result]{
		Schema[result]("stint/replay@1"),
		Int("fire", "", "", func(r result) fleet.FireID { return r.Fire.ID }),
		At("at", "", "", func(r result) time.Time { return r.Fire.At }),
		Word("seed", "", "", func(r result) string { return strconv.FormatUint(r.Fire.Seed, 10) }),
		Bool("identical", "", func(r result) bool { return len(r.Differences) == 0 }),
		Word("followed", "", `"stint", or "other" for another selector's payload`, func(r result) string {
			if r.Followed {
				return "stint"
			}
			return "other"
		}),
		Each("differences", "", View[replay.Difference]{
			Text("field", "", "", func(d replay.Difference) string { return d.Field }),
			Text("recorded", "", "", func(d replay.Difference) string { return d.Recorded }),
			Text("replayed", "", "", func(d replay.Difference) string { return d.Replayed }),
		}, func(r result) []replay.Difference { return r.Differences }),
		Each("categories", "decided again; unit and run are the record's", Choice(), DecidedAgain),
		Data("selection", "object", "ranked again", func(r result) rank.Payload { return r.Selection.Payload() }).Tagged(rank.Payload{}),
	}
}
