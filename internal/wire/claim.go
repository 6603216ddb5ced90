package wire

import "stint/internal/fleet"

// ClaimStatus is what a claim command says of a claim.
type ClaimStatus string

const (
	ClaimGranted  ClaimStatus = "granted"
	ClaimRenewed  ClaimStatus = "renewed"
	ClaimDenied   ClaimStatus = "denied"
	ClaimFree     ClaimStatus = "free"
	ClaimHeld     ClaimStatus = "held"
	ClaimReleased ClaimStatus = "released"
	ClaimLost     ClaimStatus = "lost"
)

// Claim is stint/claim@1. Holder and times are those of the claim that
// stands, or that was given back; they are empty and null when there is none.
type Claim struct {
	Schema     string       `json:"schema"`
	Task       fleet.Key    `json:"task"`
	Status     ClaimStatus  `json:"status"`
	Holder     fleet.Holder `json:"holder"`
	Epoch      fleet.Epoch  `json:"epoch"`
	AcquiredAt *string      `json:"acquired_at"`
	ExpiresAt  *string      `json:"expires_at"`
	Note       string       `json:"note"`
	DryRun     bool         `json:"dry_run,omitempty"` // nothing was written
	Lanes      []Claim      `json:"lanes,omitempty"`   // of the category that was checked; it is free if one of them is
}

// NewClaim is a claim as JSON.
func NewClaim(status ClaimStatus, c fleet.Claim) Claim {
	return Claim{
		Schema: "stint/claim@1", Task: c.Key, Status: status, Holder: c.Holder, Epoch: c.Epoch,
		AcquiredAt: Time(c.AcquiredAt), ExpiresAt: Time(c.ExpiresAt), Note: c.Note,
	}
}
