package table

import (
	"fmt"
	"time"

	"stint/internal/fleet"
)

// Forgettable bounds runs by the first thousand that need not be kept: they ended before a time; the base of their
// category has their session and grade; nothing is held by them any more, waits for what becomes of them, or is
// reckoned by what they cost. Of each agent the first of its bills that count is found once; while it has fewer, the
// run after which they count. Others wait for as long as a batch takes.
func Forgettable(before time.Time) Only {
	return Only{
		fmt.Sprintf(`id in (with reckoned as materialized (select agent, coalesce((select id from runs where agent = agents.agent
and bill > agents.billed_after order by bill desc limit 1 offset %d), billed_after) as since from agents)
select id from runs where id < ? and ended_at < ? and held = 0
and (nth is null or nth <= coalesce((select sessions from checkpoints where category = runs.category order by seq limit 1), 0))
and (counted is null or counted <= coalesce((select graded from checkpoints where category = runs.category order by seq limit 1), 0))
and id not in (select run from lane_holds where released_at is null)
and id not in (select substr(holder, 5) from claims where released_at is null and holder >= 'run:' and holder < 'run;')
and id not in (select run from places where given_at is null)
and id not in (select run from feedback where said <> '')
and id not in (select run from tasks where rests > 0)
and (bill is null or id < coalesce((select since from reckoned where agent = runs.agent), '')) order by id limit 1000)`, fleet.BillsKept-1),
		[]Set{one(fleet.NewRunID(before, 0)), one(before.UnixMilli())},
	}
}

// Forget has runs deleted with all that was theirs, inputs and choices of fires after one and up to another, and the
// notices from before a time.
func (tx *Tx) Forget(runs []fleet.RunID, after, until fleet.FireID, before time.Time) {
	tx.Also("update fires set inputs = '', selection = '' where id > $1 and id <= $2", after, until)
	tx.Also("delete from choices where fire > $1 and fire <= $2", after, until)
	tx.Also("delete from notices where at < $1", before.UnixMilli())
	if len(runs) == 0 {
		return
	}
	for _, name := range []string{"lane_holds", "run_lessons", "fates", "grade_changes", "denials"} {
		tx.Also("delete from "+name+" where run in "+places(runs), args(runs)...)
	}
	tx.Also("delete from runs where id in "+places(runs), args(runs)...)
}
