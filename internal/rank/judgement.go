package rank

// Judgement says whether a category got about what fires entitled it to.
type Judgement string

const (
	// Fair is a category that got what the ranking promises, or too few sessions to judge.
	Fair Judgement = ""
	// Neglected is a category below its floor by more than the ranking ever lets it be.
	Neglected Judgement = "neglected"
	// OverAllocated is a category above its cap by more than that.
	OverAllocated Judgement = "over-allocated"
)

// Judge holds a category's sessions in a span of time against what the fires of that time
// entitled it to. The account keeps sessions ≥ floor·entitled - deficit and sessions ≤
// cap·entitled + surplus over any span, and in a healthy fleet neither queue comes to more
// than [Settings.Leeway]. A span is then judged wrongly in less than one case of a hundred:
// the queues were at most 5.0 sessions, which is the leeway, in 9,360 simulated days, 1,152
// weeks and 240 months of all scenarios of scripts/lab. The price is patience: a category that
// gets nothing is neglected once its floor has come to more than the leeway.
func (s Settings) Judge(sessions int, entitled float64) Judgement {
	switch n := float64(sessions); {
	case s.Floor > 0 && n < float64(s.Floor*entitled)-s.Leeway():
		return Neglected
	case s.Cap > 0 && n > float64(s.Cap*entitled)+s.Leeway():
		return OverAllocated
	}
	return Fair
}

// Leeway bounds the sessions by which a category of a healthy fleet is below its floor or above its
// cap: half of those that cost one whole grade, as categories that differ by more are rare.
func (s Settings) Leeway() float64 { return s.maxSurplus() / 2 }
