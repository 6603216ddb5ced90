package table

import (
	"time"

	"stint/internal/fleet"
)

// Forgettable bounds runs by the first thousand that need not be kept: they ended before a time; nothing is held by
// them any more, or waits for what becomes of them.
func Forgettable(before time.Time) Only {
	return Only{
		`id < ? and ended_at < ? and held = 0
and not exists (select 1 from reviews where run = runs.id and (taken = 1 or said <> ''))
and id not in (select substr(holder, 5) from claims where released_at is null and holder >= 'run:' and holder < 'run;')
and id not in (select run from tasks where rests > 0)
order by id limit 1000`,
		[]Set{one(fleet.NewRunID(before, 0)), one(before.UnixMilli())},
	}
}

// Forget has runs deleted with all that was theirs, inputs and choices of fires after one and up to another, and the
// notices from before a time. The ranking is counted from the last state that was stored on a day before.
func (tx *Tx) Forget(runs []fleet.RunID, after, until fleet.FireID, before time.Time) {
	tx.Also("update fires set inputs = '', selection = '', choices = '[]' where id > $1 and id <= $2", after, until)
	tx.Also("delete from notices where at < $1", before.UnixMilli())
	const first = "(select max(seq) from rankings where day < $1)"
	day := before.UTC().Format(time.DateOnly)
	tx.Also("delete from events where seq <= "+first, day)
	tx.Also("delete from rankings where seq < "+first, day)
	if len(runs) == 0 {
		return
	}
	tx.Also("delete from denials where run in "+places(runs), args(runs)...)
	tx.Also("delete from runs where id in "+places(runs), args(runs)...)
}
