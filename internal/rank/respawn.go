package rank

import (
	"fmt"
	"strconv"

	"stint/internal/fleet"
)

// Chain has the facts that decide whether one more session of a category follows a good one.
type Chain struct {
	Outcome fleet.Outcome
	Grade   *float64
	Depth   int     // of the session that ended: so many came before it in the chain
	Most    int     // deepest that a session may be
	From    float64 // the least grade that is followed
	Out     string  // why the category cannot be started; empty: it can
	Surplus float64 // sessions above its cap, the one that ended among them
	Later   bool    // there is a service manager to start it when it has rested
}

// maxSurplus is by how many sessions a category may be over its cap and still be followed.
// The session that ended is debited before this is asked, so with several categories to
// choose from nearly every one is over its cap by a part of a session then. With none
// allowed, no session was ever followed from six equal categories on.
const maxSurplus = 1

// ChainEnds is the reason against a session that would be deeper in its chain than the most.
func ChainEnds(most int) string { return fmt.Sprintf("a chain ends after %d more", most) }

// Respawn says whether a session follows, and why, or why not.
func Respawn(c Chain) (follows bool, reason string) {
	switch {
	case c.Outcome != fleet.Productive || c.Grade == nil:
		return false, "it brought no grade"
	case *c.Grade < c.From:
		grade, from := apart(*c.Grade, c.From)
		return false, fmt.Sprintf("its grade %s is below %s", grade, from)
	case c.Depth >= c.Most:
		return false, ChainEnds(c.Most)
	case c.Surplus > maxSurplus:
		return false, fmt.Sprintf("the category is %.1f sessions over its cap", c.Surplus)
	case !c.Later:
		return false, "it ran without a service manager, which would start the next"
	case c.Out != "":
		return false, c.Out
	}
	return true, fmt.Sprintf("its grade %.2f is at least %.2f", *c.Grade, c.From)
}

// apart writes two grades that differ with two decimals, or with as many as tell them apart.
func apart(a, b float64) (first, second string) {
	for decimals := 2; first == second && decimals <= 20; decimals++ {
		first, second = strconv.FormatFloat(a, 'f', decimals, 64), strconv.FormatFloat(b, 'f', decimals, 64)
	}
	return first, second
}
