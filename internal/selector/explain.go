package selector

import (
	"fmt"
	"math"
	"strings"

	"stint/internal/bandit"
)

// shown is the least part of a score that a reason mentions: three decimals.
const shown = 0.0005

// Reason says why a category is in, or out.
func (c Score) Reason() string {
	if !c.In {
		return c.Out
	}
	var b strings.Builder
	fmt.Fprintf(&b, "drew %.3f from Beta(%.2f, %.2f)", c.TS, c.Beta.A, c.Beta.B)
	for _, part := range []struct {
		name  string
		value float64
	}{
		{"lessons", c.Components.LOO}, {"season", c.Season}, {"load", c.Plateau}, {"debt", c.Div},
	} {
		if math.Abs(part.value) >= shown {
			fmt.Fprintf(&b, ", %s %+.3f", part.name, part.value)
		}
	}
	if c.Leads {
		fmt.Fprintf(&b, "; leads: %q is active", c.Next.ID)
	}
	return b.String()
}

// Sentences explain the ranking, one sentence a category: the winner first, then the
// others in order, then what is out.
func (s Selection) Sentences() []string {
	var list []string
	if s.Closed != "" {
		list = append(list, fmt.Sprintf("Nothing can start: %s.", s.Closed))
	}
	for i, c := range s.Scores {
		switch {
		case !c.In:
			list = append(list, fmt.Sprintf("%s is out: %s.", c.Category, c.Out))
		case i == 0:
			list = append(list, s.winner(c))
		default:
			list = append(list, s.loser(i, c))
		}
	}
	return list
}

func (s Selection) winner(c Score) string {
	if c.Leads {
		return fmt.Sprintf("%s %s because its task %q is begun; %s.", c.Category, s.verb("leads", "would lead"), c.Next.ID, c.made(s.Settings))
	}
	return fmt.Sprintf("%s %s with %.3f: %s.", c.Category, s.verb("wins", "would win"), c.Value, c.made(s.Settings))
}

// verb is what the first category does, or would do where nothing can start.
func (s Selection) verb(does, would string) string {
	if s.Picks == 0 {
		return would
	}
	return does
}

func (s Selection) loser(i int, c Score) string {
	first := s.Scores[0]
	verdict := fmt.Sprintf("is number %d and is started, too", i+1)
	switch {
	case c.Picked:
	case c.Full != "":
		verdict = fmt.Sprintf("is number %d and is not started: %s", i+1, c.Full)
	default:
		verdict = fmt.Sprintf("is number %d where %d can start", i+1, s.Picks)
	}
	behind := fmt.Sprintf("%.3f behind %s", first.Value-c.Value, first.Category)
	if first.Leads && c.Value > first.Value {
		behind = fmt.Sprintf("%.3f before %s, whose task is begun", c.Value-first.Value, first.Category)
	}
	return fmt.Sprintf("%s %s, %s: %s.", c.Category, verdict, behind, c.made(s.Settings))
}

// made says in words what the score is made of.
func (c Score) made(s bandit.Settings) string {
	words := []string{fmt.Sprintf("it drew %.3f where %.3f is expected", c.TS, c.Beta.Mean())}
	if debt := c.Explain(s).Debt(); debt != "" {
		words = append(words, fmt.Sprintf("%s (%+.3f)", debt, c.Div))
	}
	if math.Abs(c.Season) >= shown {
		words = append(words, fmt.Sprintf("the time of day counts %+.3f", c.Season))
	}
	if math.Abs(c.Plateau) >= shown {
		words = append(words, fmt.Sprintf("its recent load counts %+.3f", c.Plateau))
	}
	if math.Abs(c.Components.LOO) >= shown {
		words = append(words, fmt.Sprintf("its lessons count %+.3f", c.Components.LOO))
	}
	return strings.Join(words, ", ")
}

// leastDebt is the least debt that is worth a word, in sessions: one decimal.
const leastDebt = 0.05

// Debt says what the category is owed, and what it had too much of; empty: neither. Both
// can be, of different times, and Div is what they come to together.
func (e Explain) Debt() string {
	switch owed, over := e.Deficit >= leastDebt, e.Surplus >= leastDebt; {
	case owed && over:
		return fmt.Sprintf("it is owed %.1f sessions of its floor and is %.1f over its cap", e.Deficit, e.Surplus)
	case owed:
		return fmt.Sprintf("it is owed %.1f sessions of its floor", e.Deficit)
	case over:
		return fmt.Sprintf("it is %.1f sessions over its cap", e.Surplus)
	}
	return ""
}

// Health says how the control loop does, from sums alone.
type Health struct {
	MinRatio  float64 // of sessions to entitlement, over categories entitled to at least one; 0 without any
	MaxRatio  float64
	Effective float64 // number of categories, as the exponential of the entropy of their sessions
	Alarms    int     // changes detected
	Sessions  int
	NoopRate  float64 // part of the sessions that did nothing, in [0,1]
}

// Health sums up the candidates' accounts.
func (s Selection) Health() Health {
	h := Health{}
	first, noops := true, 0
	for _, c := range s.Scores {
		h.Sessions += c.Arm.Sessions
		h.Alarms += c.Arm.Alarms
		noops += c.Arm.NoopsEver
		if c.Arm.Entitled < 1 {
			continue
		}
		ratio := float64(c.Arm.Sessions) / c.Arm.Entitled
		if first || ratio < h.MinRatio {
			h.MinRatio = ratio
		}
		h.MaxRatio, first = max(h.MaxRatio, ratio), false
	}
	if h.Sessions == 0 {
		return h
	}
	h.NoopRate = float64(noops) / float64(h.Sessions)
	entropy := 0.0
	for _, c := range s.Scores {
		if p := float64(c.Arm.Sessions) / float64(h.Sessions); p > 0 {
			entropy -= float64(p * math.Log(p))
		}
	}
	h.Effective = math.Exp(entropy)
	return h
}
