package review_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/testkit/must"
)

// TestLandedOf has each that can decide: a person's landing counts more than what git shows of it.
func TestLandedOf(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	fate := func(kind fleet.FateKind, witness string) fleet.ReviewOutcome {
		return fleet.ReviewOutcome{Kind: kind, Witness: witness, At: at}
	}
	landed := fleet.Review{Tip: "t", Decision: fleet.DecisionLanded, By: "ann", Commit: "l", DecidedAt: at.Add(time.Hour)}
	for name, test := range map[string]struct {
		fates []fleet.ReviewOutcome
		d     fleet.Review
		want  string // empty: it did not land
	}{
		"nothing":           {},
		"rejected":          {[]fleet.ReviewOutcome{fate(fleet.FateRejected, "ann")}, fleet.Review{Decision: fleet.DecisionRejected}, ""},
		"git":               {[]fleet.ReviewOutcome{fate(fleet.FateMerged, "m")}, fleet.Review{}, "merged c as m by git"},
		"with changes":      {[]fleet.ReviewOutcome{fate(fleet.FateChanged, "m")}, fleet.Review{}, "changed c as m by git"},
		"past review":       {[]fleet.ReviewOutcome{fate(fleet.FateUnreviewed, "m")}, fleet.Review{}, "unreviewed c as m by git"},
		"a forge":           {[]fleet.ReviewOutcome{fate(fleet.FateMerged, review.ByForge)}, fleet.Review{}, "merged c as  by forge"},
		"a person":          {nil, landed, "merged c as l by ann"},
		"a person, and git": {[]fleet.ReviewOutcome{fate(fleet.FateMerged, "m")}, landed, "merged c as l by ann"},
		"reverted":          {[]fleet.ReviewOutcome{fate(fleet.FateMerged, "m"), fate(fleet.FateReverted, "r")}, landed, "reverted c as l by ann"},
	} {
		l, is := review.LandedOf(fleet.Run{Commits: []string{"b", "c"}, Fates: test.fates}, test.d)
		got := ""
		if is {
			got = string(l.Kind) + " " + l.Commit + " as " + l.As + " by " + l.By
		}
		must.Equal(t, name, got, test.want)
	}
}

// TestDecided has a decision count for the commit that it was made of, and for no later one.
func TestDecided(t *testing.T) {
	t.Parallel()
	i := review.Item{Branch: review.Branch{Tip: "one"}, Decision: fleet.Review{Tip: "one", Decision: fleet.DecisionRejected}}
	if _, decided := i.Decided(); !decided {
		t.Error("not decided")
	}
	i.Tip = "two"
	if _, decided := i.Decided(); decided {
		t.Error("decided with another commit")
	}
}

// TestChecked has a try that failed count until the work lands as it is, where no check says that it passed.
func TestChecked(t *testing.T) {
	t.Parallel()
	failed := fleet.ReviewCheck{Tip: "one", Reason: "it conflicts"}
	for name, test := range map[string]struct {
		tip         string
		d           fleet.Review
		green, know bool
	}{
		"not tried":    {"one", fleet.Review{}, false, false},
		"passed":       {"one", fleet.Review{Check: fleet.ReviewCheck{Tip: "one", OK: true}}, true, true},
		"failed":       {"one", fleet.Review{Check: failed}, false, true},
		"failed since": {"one", fleet.Review{Check: failed, Decision: fleet.DecisionLanded, Tip: "before"}, false, true},
		"landed since": {"one", fleet.Review{Check: failed, Decision: fleet.DecisionLanded, Tip: "one"}, false, false},
		"goes on":      {"two", fleet.Review{Check: failed}, false, false},
	} {
		green, known := review.Item{Branch: review.Branch{Tip: test.tip}, Decision: test.d}.Checked()
		must.Equal(t, name, [2]bool{green, known}, [2]bool{test.green, test.know})
	}
}
