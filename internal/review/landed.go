package review

import (
	"cmp"
	"time"

	"stint/internal/fleet"
)

// Landed is the work of a run that is in the target, or was.
type Landed struct {
	fleet.Run
	Kind   fleet.FateKind
	Commit string // the run's last
	As     string // the target's commit that has it
	By     string // who decided: a user's name, "forge" or "git"
	At     time.Time
}

// LandedOf is that of a run on record. False: the target never had it.
func LandedOf(r fleet.Run, d fleet.Review) (l Landed, is bool) {
	l.Run = r
	if n := len(r.Commits); n > 0 {
		l.Commit = r.Commits[n-1]
	}
	for _, f := range r.Fates {
		switch {
		case f.Kind.Landed() && f.Witness == ByForge:
			l.Kind, l.As, l.By, l.At = f.Kind, "", "forge", f.At
		case f.Kind.Landed():
			l.Kind, l.As, l.By, l.At = f.Kind, f.Witness, "git", f.At
		case f.Kind == fleet.FateReverted:
			l.Kind = f.Kind
		}
	}
	if d.Decision == fleet.DecisionLanded {
		l.Kind, l.Commit, l.As, l.By, l.At = cmp.Or(l.Kind, fleet.FateMerged), cmp.Or(l.Commit, d.Tip), d.Commit, d.By, d.DecidedAt
	}
	return l, l.By != ""
}

// Item is the work as one whose branch may be gone.
func (l Landed) Item(d fleet.Review) Item {
	b := Branch{Run: l.ID, Name: l.Branch, Tip: cmp.Or(d.Tip, l.Commit), Landing: Merged, By: l.As, Since: l.At, Commits: l.Commits}
	states := map[fleet.FateKind]State{fleet.FateChanged: StateChanged, fleet.FateReverted: StateReverted}
	return Item{Branch: b, State: cmp.Or(states[l.Kind], StateMerged), Session: l.Run, Decision: d}
}

// LandedAs is the target's commit that has the item's work; empty: none has.
func (i Item) LandedAs() string {
	switch i.Landing {
	case Merged, Copied, Covered:
		return cmp.Or(i.Decision.Commit, i.By)
	case Waiting, Reverted:
	}
	return ""
}
