package wire

import (
	"strconv"

	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/selector"
)

// Fire is stint/fire@1.
type Fire struct {
	Schema     string       `json:"schema"`
	Fire       fleet.FireID `json:"fire"` // 0 with a dry run
	DryRun     bool         `json:"dry_run"`
	Pool       string       `json:"pool"`
	At         string       `json:"at"`
	Seed       string       `json:"seed"`
	Tier       int          `json:"tier"` // 0: another selector's payload
	Spawned    int          `json:"spawned"`
	Skipped    int          `json:"skipped"`
	Failed     int          `json:"failed"`
	Fallback   string       `json:"fallback"` // why the external selector was not followed; empty: it was, or there is none
	Categories []Choice     `json:"categories"`

	// The terms of the scores, by category; only of a fire that is under way.
	Explain map[string]selector.Explain `json:"explain,omitempty"`
}

// Choice is what a fire decided about one category.
type Choice struct {
	Category fleet.Category `json:"category"`
	Decision fleet.Decision `json:"decision"`
	Reason   string         `json:"reason"`
	Source   fleet.Source   `json:"source"`
	Rank     int            `json:"rank"`
	Score    float64        `json:"score"`
	Odds     *float64       `json:"odds"`  // probability of being started; null: another selector's ranking
	Agent    string         `json:"agent"` // that is to work; empty: it is not started
	Unit     string         `json:"unit"`
	Run      fleet.RunID    `json:"run"`
}

// NewFire tells of a fire.
func NewFire(r engine.FireReport) Fire {
	o := Fire{
		Schema: "stint/fire@1", Fire: r.ID, DryRun: r.DryRun, Pool: r.Pool, At: plain.Stamp(r.At), Seed: strconv.FormatUint(r.Seed, 10),
		Tier: int(r.Tier), Spawned: r.Count(fleet.Spawn), Skipped: r.Count(fleet.Skip), Failed: r.Count(fleet.StartFailed),
		Fallback: r.Fallback, Categories: []Choice{},
	}
	for _, c := range r.Choices {
		o.Categories = append(o.Categories, Choice(c))
	}
	if r.Ranking != nil {
		o.Explain = r.Ranking.Payload().Explain
	}
	return o
}
