package wire

import (
	"strconv"

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
	Task     fleet.TaskID   `json:"task"`  // that another selector chose, tried first; empty: the usual order
	Unit     string         `json:"unit"`
	Run      fleet.RunID    `json:"run"`
}

// NewFire is a fire as it was recorded.
func NewFire(f fleet.Fire) Fire {
	return Fire{
		Schema: "stint/fire@1", Fire: f.ID, Pool: f.Pool, At: plain.Stamp(f.At), Seed: strconv.FormatUint(f.Seed, 10),
		Spawned: f.Count(fleet.Spawn), Skipped: f.Count(fleet.Skip), Failed: f.Count(fleet.StartFailed),
		Fallback: f.Fallback, Categories: each(f.Choices, newChoice),
	}
}

func newChoice(c fleet.Choice) Choice {
	return Choice{c.Category, c.Decision, c.Reason, c.Source, c.Rank, c.Score, c.Odds, c.Agent, c.Task, c.Unit, c.Run}
}
