// Package gate keeps a category out while too many of its results wait for review:
// review is the bottleneck of a fleet, and results that nobody looks at are not worth making.
//
// How many wait, a configured command says, by printing a whole number. A gate whose
// command fails is open, and the caller is to say so loudly. It guards people's
// attention, of which a session too many costs little; the machine and the money have
// gates of their own. One that closed would idle the category for as long as nobody
// looked, on account of a tracker that was down for a minute, and a "grep -c" that
// counts none fails as well.
package gate

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"

	"stint/internal/agent/command"
	"stint/internal/fleet"
	"stint/internal/plain"
)

// Gate keeps one category out.
type Gate struct {
	Command command.Command // prints how many results wait for review
	Limit   int             // it is out when so many do, at least 1
}

// Gates are the gates of a fleet. Those of other categories are always open.
type Gates map[fleet.Category]Gate

// most bounds a command's output, in bytes: a number, and blanks around it.
const most = 4 << 10

// Full says which categories have as many results waiting as they may, and why they
// are out. A gate in failed could not be asked, and is open. The commands run at once,
// each within its own time.
func (g Gates) Full(ctx context.Context) (full map[fleet.Category]string, failed map[fleet.Category]error) {
	full, failed = map[fleet.Category]string{}, map[fleet.Category]error{}
	var (
		all   sync.WaitGroup
		guard sync.Mutex
	)
	for category, gate := range g {
		all.Go(func() {
			waiting, err := gate.waiting(ctx)
			guard.Lock()
			defer guard.Unlock()
			switch {
			case err != nil:
				failed[category] = fmt.Errorf("count what waits in %s: %w", category, err)
			case waiting >= gate.Limit:
				full[category] = fmt.Sprintf("%d of its results wait for review, and the limit is %d", waiting, gate.Limit)
			}
		})
	}
	all.Wait()
	return full, failed
}

// waiting takes nothing but one number: a command that prints a list, or an error, and
// ends well has not counted anything.
func (g Gate) waiting(ctx context.Context) (int, error) {
	c := g.Command
	c.Limit = most
	text, err := c.Output(ctx)
	if err != nil {
		return 0, err
	}
	said := string(bytes.TrimSpace(text))
	n, err := strconv.Atoi(said)
	if err != nil || n < 0 {
		shown := []rune(plain.Line(said))
		return 0, fleet.WithHint(
			fmt.Errorf("it printed %q, want one whole number", string(shown[:min(len(shown), 40)])),
			"count in the command, such as: gh pr list --json number --jq length")
	}
	return n, nil
}
