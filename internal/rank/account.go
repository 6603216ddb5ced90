package rank

import "stint/internal/fleet"

// loadHalfLife is the number of rounds after which a session counts half in a
// category's load.
const loadHalfLife = 6

// Account has a category's entitlement and its sessions. It holds, at every
// fire, sessions ≥ floor·entitled - deficit and sessions ≤ cap·entitled + surplus +
// forgiven exactly, also for sessions that people start.
//
// The surplus is bounded, see [Settings.maxSurplus]: sessions that people run by hand know
// no cap, and a category must not wait for hundreds of fires on their account. An excess above
// the bound is forgiven.
//
// A fire adds what it entitles a category to; the sessions that come of it, or from
// elsewhere, are debited when their claims are granted. Both are settled by the fire that
// begins the next round, against each other: Due and Since wait for it.
type Account struct {
	Sessions int         `json:"sessions"` // that were granted a claim, also by hand
	Entitled float64     `json:"entitled"` // to so many sessions, by all fires
	Deficit  float64     `json:"deficit"`  // below the floor by so many sessions, at least 0
	Surplus  float64     `json:"surplus"`  // above the cap by so many sessions, at least 0
	Forgiven float64     `json:"forgiven"` // sessions above the cap that are held against it no longer
	Due      float64     `json:"due"`      // entitled by the fires since the last settlement
	Since    int         `json:"since"`    // sessions since then
	Load     float64     `json:"load"`     // of recent sessions, in [0,1] at one session a round
	LoadAt   fleet.Round `json:"load_at"`
}

// Entitle settles the last round and adds what the fire that begins another entitles the category to.
func (a *Account) Entitle(s Settings, due float64) {
	*a = a.settled(s)
	a.Due, a.Entitled = due, a.Entitled+due
}

// Debit counts a session, and returns the load before it.
func (a *Account) Debit(now fleet.Round) (load float64) {
	load = a.LoadNow(now)
	a.Sessions++
	a.Since++
	a.Load, a.LoadAt = load+1-exp2(-1.0/loadHalfLife), now
	return load
}

// LoadNow is the category's recent load: sessions, of which one counts half after six
// rounds, so that one in every round is a load of 1.
func (a *Account) LoadNow(now fleet.Round) float64 {
	return float64(a.Load * fade(float64(now-a.LoadAt), loadHalfLife))
}

// settled is the account with the sessions since the last fire set against what that
// fire entitled the category to.
func (a Account) settled(s Settings) Account {
	x := float64(a.Since)
	a.Deficit = max(0, a.Deficit+float64(s.Floor*a.Due)-x)
	a.Surplus = max(0, a.Surplus+x-float64(s.Cap*a.Due))
	if more := a.Surplus - s.maxSurplus(); more > 0 && s.Cap > 0 {
		a.Surplus, a.Forgiven = s.maxSurplus(), a.Forgiven+more
	}
	if s.Floor == 0 {
		a.Deficit = 0
	}
	if s.Cap == 0 {
		a.Surplus = 0
	}
	a.Due, a.Since = 0, 0
	return a
}

// minBound is a bound of the surplus, in sessions, that no queue of a fire's own making
// comes near, however small V is.
const minBound = 4

// maxSurplus bounds a surplus, in sessions. V of them cost one whole grade, more than
// categories differ by: a larger surplus would not keep a category out more surely, only
// longer. After 300 fires beside one session by hand each, a category of twelve equal ones
// starts again at the 20th fire; without a bound it was the 524th.
func (s Settings) maxSurplus() float64 { return max(s.V, minBound) }

// Settled is the deficit below the floor and the surplus above the cap, in sessions.
func (a *Account) Settled(s Settings) (deficit, surplus float64) {
	now := a.settled(s)
	return now.Deficit, now.Surplus
}

// Debt returns the account's term of a score, in units of grade.
func (a *Account) Debt(s Settings) float64 {
	deficit, surplus := a.Settled(s)
	return (deficit - surplus) / s.V
}

// Entitlement divides so many sessions among categories by their shares, none of them
// getting more than one: a fire starts a category once (water-filling). Shares are at
// least 0 and count relative to each other; the rest goes to those without one, in equal parts.
// Sessions are at most as many as categories.
func Entitlement(shares []float64, sessions int) []float64 {
	due := make([]float64, len(shares))
	left := float64(min(sessions, len(shares)))
	left -= fill(due, shares, left)
	if left > 0 {
		without := make([]float64, len(shares))
		for i, s := range shares {
			if s == 0 {
				without[i] = 1
			}
		}
		fill(due, without, left)
	}
	return due
}

// fill divides left among those with a share, up to one each, and returns what it
// gave.
func fill(due, shares []float64, left float64) (given float64) {
	for {
		sum := 0.0
		for i, s := range shares {
			if due[i] < 1 {
				sum += s
			}
		}
		if sum == 0 || left <= given {
			return given
		}
		rate, full := (left-given)/sum, false
		for i, s := range shares {
			if due[i] < 1 && s > 0 && float64(rate*s) >= 1 {
				due[i], given, full = 1, given+1, true
			}
		}
		if full {
			continue
		}
		for i, s := range shares {
			if due[i] < 1 && s > 0 {
				due[i] = float64(rate * s)
			}
		}
		return left
	}
}
