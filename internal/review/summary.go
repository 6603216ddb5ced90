package review

import (
	"fmt"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Summary sums up the work that waits for review, in a few words.
type Summary struct {
	Known    bool // the branches were looked at
	Branches int  // of runs, merged or not
	Open     int
	Rotten   int         // of the open ones, see [Item.Rotten]
	Oldest   time.Time   // of the open ones; zero: there is none
	Next     fleet.RunID // that is best looked at next
}

// Count adds items, in their order.
func (g *Summary) Count(items []Item) {
	for _, i := range items {
		if !i.Open() {
			continue
		}
		if g.Open == 0 {
			g.Next = i.Run
		}
		if g.Open++; i.Rotten() {
			g.Rotten++
		}
		if g.Oldest.IsZero() || i.Since.Before(g.Oldest) {
			g.Oldest = i.Since
		}
	}
}

// Text is one line; empty: nothing waits.
func (g Summary) Text(now time.Time) string {
	if !g.Known && g.Branches > 0 {
		return fmt.Sprintf("%d branches of sessions are too many for a glance", g.Branches)
	}
	if g.Open == 0 {
		return ""
	}
	parts := []string{plain.Plural(g.Open, "result") + " to review", "the oldest " + plain.Ago(g.Oldest, now)}
	if g.Rotten > 0 {
		parts = append(parts, fmt.Sprintf("%d in conflict or red", g.Rotten))
	}
	return strings.Join(parts, ", ")
}
