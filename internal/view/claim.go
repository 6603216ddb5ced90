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

// ClaimState is a claim, and a command's answer about it. Holder and times are those of the present claim, or of the one
// that was released; without a claim they are empty.
type ClaimState struct {
	fleet.Claim
	Status ClaimStatus
	DryRun bool
	Lanes  []ClaimState
}

// Claim shows a claim after a command.
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

// ListedClaim shows a claim, and its end if it has ended.
func ListedClaim() View[ClaimState] {
	type claim = ClaimState
	return With(Claim(), func(c claim) claim { return c },
		Word("kind", "", `"task", or "lane" for that of a session's lane`, func(c claim) fleet.ClaimKind { return c.Key.Kind() }),
		Word("ending", "", "released, done or abandoned; empty: none of these", func(c claim) fleet.Ending { return c.Ending }),
		At("released_at", "", "", func(c claim) time.Time { return c.ReleasedAt }).OrNull(),
		Text("reason", "", "", func(c claim) string { return c.Reason }))
}

// Claims shows claims, with their ends.
func Claims() View[[]ClaimState] { return List("stint/claims@1", "claims", "", ListedClaim()) }

// Held returns the claims that are held.
func Held(list []fleet.Claim) (held []ClaimState) {
	for _, c := range list {
		held = append(held, ClaimState{Claim: c, Status: ClaimHeld})
	}
	return held
}

// OfHolder links to the run that holds a claim; without a run it only names the holder.
func OfHolder(who fleet.Holder) Ref {
	if run, ok := who.Run(); ok {
		return Ref{string(who), OfRun(run).Path}
	}
	return Ref{ID: string(who)}
}
