package review

import "slices"

// Landing says whether, and in which form, a target branch has a change that a session committed.
type Landing string

const (
	// Waiting changes are not in the target.
	Waiting Landing = "waiting"
	// Merged commits are in the target themselves.
	Merged Landing = "merged"
	// Copied changes are in the target as other commits: after a rebase, a squash or a
	// cherry-pick.
	Copied Landing = "copied"
	// Covered changes are not in the target as they are. They were merged with changes, as a
	// commit says that names them, or merging them would change nothing.
	Covered Landing = "covered"
	// Reverted changes were in the target, which took them back.
	Reverted Landing = "reverted"
)

// Commit is one commit of the target, as far as the landing of a change depends on it.
type Commit struct {
	ID      string
	Patch   PatchID // empty: a merge, or a commit that changes no file
	Reverts []string
	Merges  []string // its parents but the first
	Copies  []string // that its message names as those of which it was made
}

// PatchID identifies what a commit changes, wherever it stands: git-patch-id(1).
type PatchID string

// Change is one commit of a session, or all of its commits taken together.
type Change struct {
	Commits []string // in the session's branch
	Patch   PatchID
	Inverse PatchID // of the commit that takes it back; empty: not asked for
}

// Land follows a change through the history of the target since the session's branch left
// it, oldest first. held reports that the target has the change's own commits. The last word
// counts: a reverted change waits for nobody, until the revert is reverted.
func Land(c Change, held bool, target []Commit) (l Landing, by string) {
	l = Waiting
	landed, reverts := map[string]bool{}, map[string]bool{}
	how := Copied
	if held {
		l, how = Merged, Merged
		for _, id := range c.Commits {
			landed[id] = true
		}
	}
	for _, t := range target {
		switch {
		case anyOf(landed, t.Reverts) || c.Inverse != "" && l != Waiting && t.Patch == c.Inverse:
			l, by = Reverted, t.ID
			reverts[t.ID] = true
		case anyOf(reverts, t.Reverts), c.Patch != "" && t.Patch == c.Patch:
			l, by = how, t.ID
			landed[t.ID] = true
		case !held && allOf(t.Copies, c.Commits):
			l, by, how = Covered, t.ID, Covered
			landed[t.ID] = true
		case held && anyOf(landed, t.Merges):
			landed[t.ID] = true // a merge is reverted by its own name
			if by == "" {
				by = t.ID
			}
		}
	}
	return l, by
}

// LandAll finds in which form the target has a session's work, commit by commit and as one change. It
// returns the commits that wait, and the landing of all. Work that came as one commit is there as a whole;
// otherwise all of it waits as long as one commit does.
func LandAll(commits []Change, whole Change, target []Commit) (waiting []string, l Landing, by string) {
	if l, by := Land(whole, false, target); l != Waiting {
		return nil, l, by
	}
	l = Copied
	for _, c := range commits {
		switch single, at := Land(c, false, target); single {
		case Waiting:
			waiting = append(waiting, c.Commits...)
		case Reverted:
			l, by = Reverted, at
		case Merged, Copied, Covered:
			if by == "" {
				by = at
			}
			if single == Covered && l == Copied {
				l = Covered
			}
		}
	}
	if len(waiting) > 0 {
		return waiting, Waiting, ""
	}
	return nil, l, by
}

// allOf reports whether a list has all of some ids, of which there are any.
func allOf(list, ids []string) bool {
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(list, id) })
}

func anyOf(set map[string]bool, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return set[id] })
}
