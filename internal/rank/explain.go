package rank

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// shown is the least part of a score that a reason mentions: three decimals.
const shown = 0.0005

// part is one of the parts of a score beside its draw and its debt.
type part struct {
	words, verb string
	value       float64
}

// parts are those that show.
func (c Score) parts() (list []part) {
	for _, p := range []part{
		{"the time of day or week", "counts", c.Season},
		{"its recent load", "counts", c.Plateau},
		{"its lessons", "count", c.Components.LOO},
		{"what its sessions use", "", c.Price()},
	} {
		if math.Abs(p.value) >= shown {
			list = append(list, p)
		}
	}
	return list
}

// Reason says in plain words why a category is in, or out.
func (c Score) Reason() string {
	if !c.In {
		return c.Out
	}
	if c.Alone {
		return fleet.ReasonAlone
	}
	text := "ranked by its grades"
	if c.Arm.Graded == 0 {
		text = "ranked by chance, as it has no grades yet"
	}
	var raised, lowered []string
	if c.Div >= shown {
		raised = append(raised, "what it is owed")
	} else if c.Div <= -shown {
		lowered = append(lowered, "what it had too much of")
	}
	for _, p := range c.parts() {
		if p.value > 0 {
			raised = append(raised, p.words)
		} else {
			lowered = append(lowered, p.words)
		}
	}
	if len(raised) > 0 {
		text += ", raised by " + strings.Join(raised, " and ")
	}
	if len(lowered) > 0 {
		text += ", lowered by " + strings.Join(lowered, " and ")
	}
	if c.Leads {
		text += fmt.Sprintf("; its task %q is begun", c.Next.ID)
	}
	return text
}

// Detail bounds what is said of a ranking.
type Detail bool

const (
	Plain   Detail = false // words
	Figures Detail = true  // what each score was computed from, too
)

// Sentences explain the ranking, one sentence a category: the winner first, then the
// others in order, then what is out.
func (s Selection) Sentences(d Detail) []string {
	var list []string
	if s.Closed != "" {
		list = append(list, fmt.Sprintf("Nothing can start: %s.", s.Closed))
	}
	for i, c := range s.Scores {
		switch {
		case !c.In:
			list = append(list, fmt.Sprintf("%s is out: %s.", c.Category, c.Out))
		case c.Alone && c.Picked:
			list = append(list, fmt.Sprintf("%s starts: %s.", c.Category, fleet.ReasonAlone))
		case c.Alone:
			list = append(list, fmt.Sprintf("%s does not start: %s.", c.Category, cmp.Or(c.Full, s.Closed, "no slot is free")))
		case d == Plain:
			list = append(list, fmt.Sprintf("%s %s: %s.", c.Category, s.place(i, c), c.Reason()))
		case i == 0:
			list = append(list, s.winner(c))
		default:
			list = append(list, s.loser(i, c))
		}
	}
	return list
}

// place gives a category's place, and whether it starts.
func (s Selection) place(i int, c Score) string {
	switch {
	case c.Picked:
		return fmt.Sprintf("is number %d and starts", i+1)
	case c.Full != "":
		return fmt.Sprintf("is number %d and does not start: %s", i+1, c.Full)
	}
	return fmt.Sprintf("is number %d where %d can start", i+1, s.Picks)
}

func (s Selection) winner(c Score) string {
	if c.Leads {
		return fmt.Sprintf("%s %s because its task %q is begun; %s.", c.Category, s.verb("leads", "would lead"), c.Next.ID, c.made(s.Settings))
	}
	return fmt.Sprintf("%s %s with %.3f: %s.", c.Category, s.verb("wins", "would win"), c.Value, c.made(s.Settings))
}

// verb says what the first category does, or would do if nothing can start.
func (s Selection) verb(does, would string) string {
	if s.Picks == 0 {
		return would
	}
	return does
}

func (s Selection) loser(i int, c Score) string {
	first := s.Scores[0]
	behind := fmt.Sprintf("%.3f behind %s", first.Value-c.Value, first.Category)
	if first.Leads && c.Value > first.Value {
		behind = fmt.Sprintf("%.3f before %s, whose task is begun", c.Value-first.Value, first.Category)
	}
	return fmt.Sprintf("%s %s, %s: %s.", c.Category, s.place(i, c), behind, c.made(s.Settings))
}

// Behind says by which sessions the belief goes.
func (c Score) Behind() string { return plain.Plural(c.Arm.Behind(), "graded session") }

// made says what the score is made of, in figures.
func (c Score) made(s Settings) string {
	words := []string{fmt.Sprintf("it drew %.3f from Beta(%.2f, %.2f) where %.3f is expected", c.TS, c.Beta.A, c.Beta.B, c.Beta.Mean())}
	if debt := c.Explain(s).Debt(); debt != "" {
		words = append(words, fmt.Sprintf("%s (%+.3f)", debt, c.Div))
	}
	for _, p := range c.parts() {
		if p.verb != "" {
			words = append(words, fmt.Sprintf("%s %s %+.3f", p.words, p.verb, p.value))
		}
	}
	return strings.Join(append(words, c.Expenses()...), ", ")
}

// Expenses say what a session is expected to use of each resource that binds, and what that takes from the score.
func (c Score) Expenses() (words []string) {
	for r, cost := range c.Costs {
		if cost.Price > -shown {
			continue
		}
		switch Resource(r) {
		case USD:
			words = append(words, fmt.Sprintf("its sessions cost %.2f USD each, and the budget binds: %+.3f", cost.Use, cost.Price))
		case Tokens:
			tokens := plain.Count(int64(cost.Use))
			words = append(words, fmt.Sprintf("its sessions take %s tokens each, and the budget binds: %+.3f", tokens, cost.Price))
		case Hours:
			words = append(words, fmt.Sprintf("its sessions take %.2f hours each, and the slots are full: %+.3f", cost.Use, cost.Price))
		case resources: // the number of them
		}
	}
	return words
}

// minDebt is the least debt that is worth a word, in sessions: one decimal.
const minDebt = 0.05

// Debt says what the category is owed, and what it had too much of; empty: neither. Both
// can be, of different times, and Div has their sum.
func (e Explain) Debt() string {
	switch owed, over := e.Deficit >= minDebt, e.Surplus >= minDebt; {
	case owed && over:
		return fmt.Sprintf("it is owed %.1f sessions of its floor and is %.1f over its cap", e.Deficit, e.Surplus)
	case owed:
		return fmt.Sprintf("it is owed %.1f sessions of its floor", e.Deficit)
	case over:
		return fmt.Sprintf("it is %.1f sessions over its cap", e.Surplus)
	}
	return ""
}
