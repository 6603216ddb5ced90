package wire

import (
	"stint/internal/fleet"
	"stint/internal/review"
)

// Landings is stint/landings@1.
type Landings struct {
	Schema   string    `json:"schema"`
	Target   string    `json:"target"` // the branch
	Landings []Landing `json:"landings"`
}

// Landing is what became of the work of one run.
type Landing struct {
	Run    fleet.RunID      `json:"run"`
	Task   *fleet.TaskID    `json:"task"`
	End    fleet.LandingEnd `json:"end"`    // landed, set aside or not tried
	Commit *string          `json:"commit"` // that the target has for it; null: none of this landing
	Reason string           `json:"reason"`
	Left   string           `json:"left"` // the work landed, or was set aside, and its task could not be changed
}

// NewLandings is what landed, as JSON.
func NewLandings(t review.Target, list []fleet.Landed) Landings {
	return Landings{"stint/landings@1", t.Name, each(list, func(l fleet.Landed) Landing {
		return Landing{l.Run, some(l.Task), l.End, some(l.Commit), l.Reason, l.Left}
	})}
}

// Reviewed is stint/reviewed@1: an item of review of which something was decided.
type Reviewed struct {
	Schema string        `json:"schema"`
	Run    fleet.RunID   `json:"run"`
	Task   *fleet.TaskID `json:"task"`
	Branch string        `json:"branch"`
	State  string        `json:"state"` // rejected, checked out or published
	Reason string        `json:"reason"`
	Dir    string        `json:"dir"` // where it is checked out
	URL    string        `json:"url"` // of the request, for published work
}

// NewReviewed is a decision as JSON, with what it says beside its item.
func NewReviewed(i review.Item, state string, r Reviewed) Reviewed {
	r.Schema, r.Run, r.Task, r.Branch, r.State = "stint/reviewed@1", i.Run, some(i.Session.Task), i.Name, state
	return r
}
