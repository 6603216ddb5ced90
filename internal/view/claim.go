package view

import (
	"time"

	"stint/internal/fleet"
)

// ClaimStatus names a claim command's answer.
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

// ClaimState is a claim, and what is said of it. Holder and times are those of the claim that stands, or that was given back;
// they are empty and null when there is none.
type ClaimState struct {
	fleet.Claim
	Status ClaimStatus
	DryRun bool
	Lanes  []ClaimState
}

// Claim is a claim as a command leaves it.
func Claim() View[ClaimState] {
	return append(claim(),
		Bool("dry_run", "nothing was written", func(c ClaimState) bool { return c.DryRun }).OrAbsent(),
		Each("lanes", "of the category that was checked; it is free if one of them is", claim(),
			func(c ClaimState) []ClaimState { return c.Lanes }).OrAbsent(),
	)
}

func claim() View[ClaimState] {
	type claim = ClaimState
	return View[claim]{
		Schema[claim]("stint/claim@1"),
		Text("task", "Key", "", func(c claim) fleet.Key { return c.Key }),
		Word("", "Kind", "", func(c claim) fleet.ClaimKind { return c.Key.Kind() }),
		Word("status", "Status", "granted, renewed, denied, free, held, released or lost", func(c claim) ClaimStatus { return c.Status }),
		TextLink("holder", "Holder", "", func(c claim) Ref { return OfHolder(c.Holder) }),
		Int("epoch", "Epoch", "", func(c claim) fleet.Epoch { return c.Epoch }),
		At("acquired_at", "Since", "", func(c claim) time.Time { return c.AcquiredAt }).OrNull().Wide(),
		At("expires_at", "Until", "", func(c claim) time.Time { return c.ExpiresAt }).OrNull(),
		Text("note", "Note", "", func(c claim) string { return c.Note }),
	}
}

// ListedClaim is a claim, and how it ended if it did.
func ListedClaim() View[ClaimState] {
	type claim = ClaimState
	return With(Claim(), func(c claim) claim { return c },
		Word("kind", "", `"task", or "lane" for that of a session's lane`, func(c claim) fleet.ClaimKind { return c.Key.Kind() }),
		Word("ending", "", "released, done or abandoned; empty: none of these", func(c claim) fleet.Ending { return c.Ending }),
		At("released_at", "", "", func(c claim) time.Time { return c.ReleasedAt }).OrNull(),
		Text("reason", "", "", func(c claim) string { return c.Reason }))
}

// Claims are claims, each with how it ended if it did.
func Claims() View[[]ClaimState] { return List("stint/claims@1", "claims", "", ListedClaim()) }

// Held are claims that are held.
func Held(list []fleet.Claim) (held []ClaimState) {
	for _, c := range list {
		held = append(held, ClaimState{Claim: c, Status: ClaimHeld})
	}
	return held
}

// OfHolder leads to the run that has a claim, if one has it.
func OfHolder(who fleet.Holder) Ref {
	if run, ok := who.Run(); ok {
		return Ref{string(who), OfRun(run).Path}
	}
	return Ref{ID: string(who)}
}
