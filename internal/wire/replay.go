package wire

import (
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
