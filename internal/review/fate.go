package review

import (
	"slices"

	"stint/internal/fleet"
)

// Watched is a run of which git is asked what became of its work.
type Watched struct {
	Run     fleet.RunID
	Branch  string                // of its own; empty: it worked on that of the workspace
	Commits []string              // that it made, oldest first
	Known   []fleet.ReviewOutcome // what became of it, as far as it was found out

	Reviewed bool // who brought it into the target reviewed it, or nobody was to
}

// Fate returns the fate that the landing of a run's work gives it, and the branch that shows it. It goes by
// the last commit of the run, or else by its branch's tip, which is the work with changes. Work that nobody
// reviewed is unreviewed in the target. News is false if the fate is known already.
func (w Watched) Fate(list []Branch) (f fleet.ReviewOutcome, by Branch, news bool) {
	f.Run = w.Run
	for _, b := range list {
		switch b.Landing {
		case Reverted:
			f.Kind = fleet.FateReverted
		case Merged, Copied:
			// Commits of others on a branch may be no more than where the target is.
			if w.asMade(b) {
				f.Kind = fleet.FateMerged
			} else if b.Landing == Copied {
				f.Kind = fleet.FateChanged
			}
		case Covered:
			if len(b.Files) > 0 {
				f.Kind = fleet.FateChanged
			}
		case Waiting:
		}
		if f.Kind != "" {
			by = b
			break
		}
	}
	if f.Witness = by.By; f.Witness == "" {
		f.Witness = by.Tip
	}
	if f.Kind.Landed() && !w.Reviewed {
		if f.Kind = fleet.FateUnreviewed; w.last().Landed() {
			f.Kind = w.last()
		}
	}
	// Work that was made in the target is no more than made.
	return f, by, f.Kind != "" && f.Kind != w.last() && (w.Branch != "" || f.Kind == fleet.FateReverted)
}

// asMade reports whether the target has a branch, and as the run left it.
func (w Watched) asMade(b Branch) bool {
	return (b.Landing == Merged || b.Landing == Copied) && b.Tip == w.Commits[len(w.Commits)-1]
}

// last returns the latest known fate of the work as a whole.
func (w Watched) last() (kind fleet.FateKind) {
	for _, f := range w.Known {
		if f.Kind != fleet.FateTouched {
			kind = f.Kind
		}
	}
	return kind
}

// Touchable reports whether the work, of which a branch shows what became, is in the target as it was made, and it would be news
// that others touched it.
func (w Watched) Touchable(b Branch) bool {
	return w.Branch != "" && w.asMade(b) && !slices.ContainsFunc(w.Known, func(f fleet.ReviewOutcome) bool { return f.Kind == fleet.FateTouched })
}

// touchedPart is the share of a run's added lines that others must rewrite before its work counts as touched.
const touchedPart = 0.25

// Rewritten reports whether so many of the lines that a run added are gone that others have written
// its work anew.
func Rewritten(gone, added int) bool {
	return gone > 0 && float64(gone) >= touchedPart*float64(added)
}
