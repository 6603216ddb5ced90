package why

import (
	"fmt"
	"math"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/selector"
)

// OfRanking is what a question is about that asks what has changed: it has no name of its own.
const OfRanking Kind = "ranking"

// Change compares, pool by pool, how fires ranked then and how they rank now.
type Change struct {
	Now, Since time.Time
	Only       fleet.Category // empty: any
	Pools      []PoolChange
}

// PoolChange is the ranking of one pool by two of its fires, which may be the same.
type PoolChange struct {
	Pool       string
	Then, Last Ranked
}

// Ranked is a recorded fire, ranked again from its inputs.
type Ranked struct {
	ID        fleet.FireID
	At        time.Time
	Selection selector.Selection
	Odds      map[fleet.Category]float64 // of being started
}

// oddsMoved is the difference from which on a probability has moved: redraws measure it to
// some 0.03.
const oddsMoved = 0.05

// Answer says of every category what of its rank is another than it was.
func (c Change) Answer() Answer {
	a := Answer{Kind: OfRanking, Subject: plain.Stamp(c.Since), Verdict: "unchanged"}
	for _, p := range c.Pools {
		title := fmt.Sprintf("Pool %s", p.Pool)
		if p.Then.ID == p.Last.ID {
			a.Lead = append(a.Lead, sentence("In pool %s no fire has ranked since fire %d, at %s", p.Pool, p.Last.ID, moment(p.Last.At, c.Now)))
			continue
		}
		said, same := p.differences(c.Only)
		if len(said) > 0 {
			a.Verdict = "changed"
		}
		a.Lead = append(a.Lead, sentence("In pool %s, fire %d, at %s, ranked %s otherwise than fire %d, at %s",
			p.Pool, p.Last.ID, moment(p.Last.At, c.Now), orNothing(said.names()), p.Then.ID, moment(p.Then.At, c.Now)))
		if c.Only == "" {
			a.add(title, p.limits()...)
		}
		for _, d := range said {
			a.add(string(d.category), d.sentences...)
		}
		if len(same) > 0 && len(said) > 0 {
			a.add("As before", sentence("%s", listed(same)))
		}
	}
	return a
}

type difference struct {
	category  fleet.Category
	sentences []string
}

type differences []difference

func (d differences) names() []string {
	return plain.Each(d, func(x difference) string { return string(x.category) })
}

// differences are the categories of which something differs, by name, and those of which
// nothing does.
func (p PoolChange) differences(only fleet.Category) (said differences, same []string) {
	var names []fleet.Category
	for _, s := range slices.Concat(p.Then.Selection.Scores, p.Last.Selection.Scores) {
		if !slices.Contains(names, s.Category) && (only == "" || s.Category == only) && s.Candidate.Pool == "" {
			names = append(names, s.Category)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if d := p.of(name); len(d) > 0 {
			said = append(said, difference{name, d})
		} else {
			same = append(same, string(name))
		}
	}
	return said, same
}

// limits are what differs for all categories alike.
func (p PoolChange) limits() (list []string) {
	then, last := p.Then.Selection, p.Last.Selection
	if then.Workers != last.Workers {
		list = append(list, sentence("A fire starts %d at most, and started %d", last.Workers, then.Workers))
	}
	if then.Settings != last.Settings {
		list = append(list, sentence("The settings of [selector] are others: stint replay --since shows what such a change does"))
	}
	switch {
	case last.Closed != "" && then.Closed == "":
		list = append(list, sentence("Nothing can start: %s", last.Closed))
	case last.Closed == "" && then.Closed != "":
		list = append(list, sentence("Nothing could start, and now it can: %s", then.Closed))
	}
	return list
}

// of says what of a category differs.
func (p PoolChange) of(name fleet.Category) (list []string) {
	then, was := p.Then.score(name)
	last, is := p.Last.score(name)
	switch {
	case !was:
		return []string{"It was not in the configuration."}
	case !is:
		return []string{"It is not in the configuration any more."}
	}
	list = append(list, p.chances(then, last)...)
	if a, b := digits(then.Share), digits(last.Share); a != b {
		list = append(list, sentence("Its share is %s, and was %s", b, a))
	}
	if a, b := then.Tasks, last.Tasks; a != b {
		list = append(list, sentence("%s can be worked on, and %d could", plain.Plural(b, "task"), a))
	}
	if a, b := digits(then.Beta.Mean()), digits(last.Beta.Mean()); a != b {
		text := fmt.Sprintf("Its mean grade is believed to be %s, and was to be %s", b, a)
		if more := last.Arm.Graded - then.Arm.Graded; more > 0 {
			text += fmt.Sprintf(", after %s more", plain.Plural(more, "graded session"))
		}
		list = append(list, sentence("%s", text))
	}
	for _, part := range []struct {
		what       string
		then, last float64
	}{
		{"Its debt or surplus", then.Div, last.Div},
		{"The time of day", then.Season, last.Season},
		{"Its recent load", then.Plateau, last.Plateau},
		{"The effect of its lessons", then.Components.LOO, last.Components.LOO},
	} {
		if a, b := signed(part.then), signed(part.last); a != b {
			list = append(list, sentence("%s counts %s in its score, and counted %s", part.what, b, a))
		}
	}
	return list
}

// chances say whether a fire can start a category, and how likely that is.
func (p PoolChange) chances(then, last selector.Score) []string {
	before, now := p.Then.Odds[then.Category], p.Last.Odds[last.Category]
	switch {
	case then.In && !last.In:
		return []string{sentence("It cannot be started: %s", last.Out), sentence("It could, with a probability of %s", digits(before))}
	case !then.In && last.In:
		return []string{sentence("It can be started, with a probability of %s", digits(now)), sentence("It could not: %s", then.Out)}
	case !last.In && then.Out != last.Out:
		return []string{sentence("It cannot be started: %s", last.Out), sentence("It could not before: %s", then.Out)}
	case last.In && math.Abs(now-before) >= oddsMoved:
		return []string{sentence("A fire starts it with a probability of %s, and did with %s", digits(now), digits(before))}
	}
	return nil
}

func (r Ranked) score(name fleet.Category) (selector.Score, bool) {
	for _, s := range r.Selection.Scores {
		if s.Category == name {
			return s, true
		}
	}
	return selector.Score{}, false
}

// digits and signed are numbers as the answer prints them: a difference in further digits is
// none for a person.
func digits(x float64) string { return fmt.Sprintf("%.2f", x) }

func signed(x float64) string {
	if text := fmt.Sprintf("%+.2f", x); text != "-0.00" {
		return text
	}
	return "+0.00"
}
