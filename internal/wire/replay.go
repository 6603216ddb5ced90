package wire

import (
	"math"
	"strconv"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/replay"
	"stint/internal/selector"
)

// Replay is stint/replay@1.
type Replay struct {
	Schema      string           `json:"schema"`
	Fire        fleet.FireID     `json:"fire"`
	At          string           `json:"at"`
	Seed        string           `json:"seed"`
	Identical   bool             `json:"identical"`
	Followed    string           `json:"followed"` // "stint", or "other" for another selector's payload
	Differences []Difference     `json:"differences"`
	Categories  []Choice         `json:"categories"` // decided again; unit and run are the record's
	Selection   selector.Payload `json:"selection"`  // ranked again
}

// Difference is what came out otherwise than it was recorded.
type Difference struct {
	Field    string `json:"field"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// NewReplay is a fire that was ranked and decided again, as JSON.
func NewReplay(r replay.Result) Replay {
	o := Replay{
		Schema: "stint/replay@1", Fire: r.Fire.ID, At: plain.Stamp(r.Fire.At), Seed: strconv.FormatUint(r.Fire.Seed, 10),
		Identical: len(r.Differences) == 0, Followed: "other", Selection: r.Selection.Payload(),
		Differences: each(r.Differences, func(d replay.Difference) Difference { return Difference(d) }),
		Categories: each(r.Choices, func(c fleet.Choice) Choice {
			recorded := r.Fire.Choice(c.Category)
			c.Unit, c.Run = recorded.Unit, recorded.Run
			return newChoice(c)
		}),
	}
	if r.Followed {
		o.Followed = "stint"
	}
	return o
}

// ReplaySince is stint/replay-since@1.
type ReplaySince struct {
	Schema     string        `json:"schema"`
	Set        []string      `json:"set"`
	Fires      int           `json:"fires"`
	Foreign    int           `json:"foreign"`    // left out: another selector's payload
	Unreadable int           `json:"unreadable"` // left out: another format
	Changed    []ChangedFire `json:"changed"`
	Categories []Picks       `json:"categories"`
	Estimate   Worth         `json:"estimate"`
}

// ChangedFire is a fire that would have started others.
type ChangedFire struct {
	Fire fleet.FireID     `json:"fire"`
	At   string           `json:"at"`
	Then []fleet.Category `json:"then"`
	Now  []fleet.Category `json:"now"`
}

// Picks counts the fires that picked a category.
type Picks struct {
	Category fleet.Category `json:"category"`
	Then     int            `json:"then"`
	Now      int            `json:"now"`
}

// Worth is of the mean grade of a graded session; null: not known.
type Worth struct {
	Sessions  int      `json:"sessions"`
	Logged    *float64 `json:"logged"`
	LoggedCI  *float64 `json:"logged_ci95"` // half of the 95 % confidence interval
	Estimate  *float64 `json:"estimate"`
	CI        *float64 `json:"ci95"`
	Effective float64  `json:"effective_sessions"`
	Clip      float64  `json:"clip"`
	Clipped   int      `json:"clipped"`
	Uncovered float64  `json:"uncovered"`
	Warnings  []string `json:"warnings"`
}

// NewReplaySince is what other settings would have changed, as JSON.
func NewReplaySince(w replay.Window, set []string) ReplaySince {
	return ReplaySince{
		Schema: "stint/replay-since@1", Set: listed(set), Fires: w.Fires, Foreign: w.Foreign, Unreadable: w.Unreadable,
		Changed: each(w.Changed, func(c replay.Change) ChangedFire {
			return ChangedFire{c.Fire, plain.Stamp(c.At), listed(c.Then), listed(c.Now)}
		}),
		Categories: each(w.Categories, func(p replay.Picks) Picks { return Picks(p) }),
		Estimate: Worth{
			Sessions: w.Sessions, Logged: known(w.Mean), LoggedCI: known(replay.Half95 * w.MeanSE),
			Estimate: known(w.Other), CI: known(replay.Half95 * w.OtherSE),
			Effective: w.Effective, Clip: w.Clip, Clipped: w.Clipped, Uncovered: w.Uncovered, Warnings: listed(w.Warnings()),
		},
	}
}

// known gives JSON a null for a figure that is not.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}
