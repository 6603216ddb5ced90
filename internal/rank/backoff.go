package rank

import (
	"time"

	"stint/internal/fleet"
)

// Backoff keeps a category out that found nothing to do, or whose sessions cannot begin. Such a session is no grade:
// counting it as 0 would call the work bad where there was none.
type Backoff struct {
	Noops       int          `json:"noops"`        // in a row: times it backed off without a grade between
	NoopsEver   int          `json:"noops_ever"`   // sessions that did nothing, of all
	AsleepUntil fleet.Round  `json:"asleep_until"` // the first round in which it may start
	AsleepSince time.Time    `json:"asleep_since"`
	VainAt      fleet.TaskID `json:"vain_at"` // at which the last session brought nothing; empty: none, or it brought something
}

// Vain takes in a session that brought nothing at its task, and backs off where the task may not
// be what is to blame: another task brought nothing just before, no other is left, or it
// had none.
func (b *Backoff) Vain(task fleet.TaskID, last bool, now fleet.Round, at time.Time) {
	if task == "" || last || b.VainAt != "" && b.VainAt != task {
		b.Sleep(now, at)
	}
	b.VainAt = task
}

// Sleep backs off for twice as long as the last time: the first round in which the category
// may start is 2, 4, … 64 later.
func (b *Backoff) Sleep(now fleet.Round, at time.Time) {
	b.Noops++
	b.AsleepUntil, b.AsleepSince = now+1<<min(b.Noops, fleet.MostDoublings), at
}

// Asleep reports whether the category is out in a round. News is when its workable tasks
// last changed: news after its beginning ends the back-off.
func (b *Backoff) Asleep(now fleet.Round, news time.Time) bool {
	return now < b.AsleepUntil && !news.After(b.AsleepSince)
}

// Wake ends the back-off: there was something to do, or a person says so.
func (b *Backoff) Wake() {
	b.Noops, b.AsleepUntil, b.AsleepSince, b.VainAt = 0, 0, time.Time{}, ""
}
