package report_test

import (
	"testing"
	"time"

	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestMergedWork counts the sessions whose work stood, and what all of them cost.
func TestMergedWork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	ago := func(days int) time.Time { return now.Add(-time.Duration(days) * day) }
	fate := func(days int, k fleet.FateKind) fleet.ReviewOutcome {
		return fleet.ReviewOutcome{At: ago(days), Kind: k}
	}
	var runs []fleet.Run
	for _, fates := range [][]fleet.ReviewOutcome{
		nil, // it was left
		{fate(40, fleet.FateMerged)},
		{fate(40, fleet.FateChanged), fate(20, fleet.FateReverted)},
		{fate(10, fleet.FateMerged), fate(8, fleet.FateTouched)},
		{fate(3, fleet.FateMerged)},
		{fate(9, fleet.FateRejected)},
	} {
		usd, cost := 1.5, fleet.CostReported
		if fates == nil {
			cost = fleet.CostAssumed
		}
		runs = append(runs, fleet.Run{
			Category: "code", Agent: "claude", Epoch: 1, CreatedAt: ago(50), EndedAt: ago(45), Usage: fleet.Usage{USD: &usd, Cost: cost}, Fates: fates,
		})
	}
	runs = append(runs, fleet.Run{Category: "code", Epoch: 1, CreatedAt: ago(99), EndedAt: ago(98)}, fleet.Run{Category: "code", CreatedAt: ago(1), EndedAt: ago(1)})
	got := report.New(report.Record{}, report.Options{Runs: runs, From: ago(60), To: now, Step: day}).Merged
	want := []report.MergedWork{{
		Category: "code", Agent: "claude", Sessions: 6, USD: 9, Guessed: 1.5, Merged: 3, Refused: 2,
		Week: report.Standing{Due: 3, Stood: 2}, Month: report.Standing{Due: 2, Stood: 1},
	}}
	must.Equal(t, "merged work", got, want)
	if usd, sessions := got[0].PerMerged(); usd != 3 || sessions != 2 {
		t.Errorf("got %v USD and %v sessions for each merged change, want 3 and 2", usd, sessions)
	}
}
