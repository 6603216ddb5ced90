package replay

import (
	"slices"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
)

// ledger carries the accounts on from fire to fire as other settings and other picks
// would have had them. Without it a share would change nothing: a fire's score depends
// on the debts that the fires before it made.
type ledger map[fleet.Category]entry

// entry is one category's account at the last fire that knew it.
type entry struct {
	recorded bandit.Account
	carried  bandit.Account
	settings bandit.Settings // of that fire
	round    fleet.Round     // in which the fire was
	begun    bool            // by it, and not by another machine's
	due      float64
	entitled bool // the fire could start it, and entitled it to due
	extra    int  // sessions that the other picks would have added; below 0: spared
}

// carry puts the carried accounts in place of the recorded ones. Loads and beliefs stay: nobody
// knows what sessions that never were would have taught.
func (l ledger) carry(in *selector.Input) {
	for i := range in.Candidates {
		c := &in.Candidates[i]
		e, ok := l[c.Category]
		if !ok || c.Arm.Sessions < e.recorded.Sessions {
			continue // not seen before, or forgotten since: its account starts here
		}
		c.Arm.Account = e.next(c.Arm.Account)
	}
}

// next is the carried account at the next fire, whose recorded account shows which sessions
// came between.
func (e entry) next(recorded bandit.Account) bandit.Account {
	a := e.carried
	came := recorded.Sessions - e.recorded.Sessions
	switch {
	case e.entitled && !e.begun:
		a.Due += e.due
		a.Entitled += e.due
	case e.entitled:
		// Sessions debited while the fire decided were settled with the one before.
		a.Since += came - recorded.Since
		a.Entitle(e.settings, e.due)
		came = recorded.Since
	}
	a.Since = max(0, a.Since+came+e.extra)
	a.Sessions, a.Load, a.LoadAt = recorded.Sessions, recorded.Load, recorded.LoadAt
	return a
}

// note keeps the accounts of a fire: as recorded, and as ranked again.
func (l ledger) note(recorded selector.Input, s selector.Selection, then, now []fleet.Category) {
	for _, c := range recorded.Candidates {
		l[c.Category] = entry{
			recorded: c.Arm.Account, round: c.Arm.Round, begun: c.Arm.Round != l[c.Category].round,
			extra: has(now, c.Category) - has(then, c.Category),
		}
	}
	for _, c := range s.Scores {
		e := l[c.Category]
		e.carried, e.settings, e.due, e.entitled = c.Arm.Account, s.Settings, c.Due, c.In && s.Picks > 0
		l[c.Category] = e
	}
}

func has(list []fleet.Category, c fleet.Category) int {
	if slices.Contains(list, c) {
		return 1
	}
	return 0
}
