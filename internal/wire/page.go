package wire

import (
	"stint/internal/fleet"
	"stint/internal/replay"
	"stint/internal/selector"
)

// PageError is stint/page-error@1: why a page of the web has no object.
type PageError struct {
	Schema string `json:"schema"`
	Status int    `json:"status"` // of HTTP
	Error  string `json:"error"`
	Hint   string `json:"hint"`
}

// ListedClaim is a claim, and how it ended if it did.
type ListedClaim struct {
	Claim
	Kind       fleet.ClaimKind `json:"kind"` // "task", or "lane" for that of a session's lane
	Ending     fleet.Ending    `json:"ending"`
	ReleasedAt *string         `json:"released_at"`
	Reason     string          `json:"reason"`
}

// NewListedClaim is a claim as a list of them has it.
func NewListedClaim(status ClaimStatus, c fleet.Claim) ListedClaim {
	return ListedClaim{NewClaim(status, c), c.Key.Kind(), c.Ending, Time(c.ReleasedAt), c.Reason}
}

// Claims is stint/claims@1.
type Claims struct {
	Schema string        `json:"schema"`
	Claims []ListedClaim `json:"claims"`
}

// NewClaims are the claims that are held, as JSON.
func NewClaims(held []fleet.Claim) Claims {
	return Claims{"stint/claims@1", each(held, func(c fleet.Claim) ListedClaim { return NewListedClaim(ClaimHeld, c) })}
}

// Fires is stint/fires@1.
type Fires struct {
	Schema string `json:"schema"`
	Fires  []Fire `json:"fires"` // newest first
}

// NewFires are fires as JSON.
func NewFires(list []fleet.Fire) Fires { return Fires{"stint/fires@1", each(list, NewFire)} }

// Ranking is stint/ranking@1: a recorded fire, ranked again.
type Ranking struct {
	Schema    string            `json:"schema"`
	Fire      Fire              `json:"fire"`
	Followed  string            `json:"followed"`  // "stint", or "other" for another selector's payload
	Identical bool              `json:"identical"` // it came out as it was recorded
	Sentences []string          `json:"sentences"` // the winner first, then the others in order, then what is out
	Selection *selector.Payload `json:"selection"` // null: the record cannot be ranked again
	Runs      []Run             `json:"runs"`      // of this fire
}

// NewRanking is a fire's ranking as JSON.
func NewRanking(f fleet.Fire, r *replay.Result, runs []fleet.RunStatus) Ranking {
	o := Ranking{Schema: "stint/ranking@1", Fire: NewFire(f), Followed: "other", Sentences: []string{}, Runs: each(runs, newRun)}
	if r != nil {
		o.Selection, o.Sentences = new(r.Selection.Payload()), append(o.Sentences, r.Selection.Sentences(selector.Figures)...)
		o.Identical = len(r.Differences) == 0
		if r.Followed {
			o.Followed, o.Fire.Tier = "stint", int(r.Selection.Tier)
		}
	}
	return o
}
