package table

import (
	"strconv"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/book"
)

// One batch of what is forgotten: others wait for as long as it takes.
const mostForgotten, mostFiresForgotten = 1000, 100

// reckoned is each agent and the first of its bills that count; while it has fewer, the run after which they count. It
// is found once for each agent.
func reckoned() string {
	return "with reckoned as materialized (select agent, coalesce((select id from runs where " + latestBilled("agents.agent", "agents.billed_after") +
		" limit 1 offset " + strconv.Itoa(fleet.BillsKept-1) + "), billed_after) as since from agents) "
}

// forgettable is the runs that need not be kept, oldest first: they ended before $2, and so were made before $1;
// the base of their category has their session and grade; nothing is held by them any more, waits for what becomes
// of them, or is reckoned by what they cost.
func forgettable() string {
	return reckoned() + `select id from runs where id < $1 and ended_at < $2 and held = 0
and (nth is null or nth <= coalesce((select sessions from checkpoints where category = runs.category order by seq limit 1), 0))
and (counted is null or counted <= coalesce((select graded from checkpoints where category = runs.category order by seq limit 1), 0))
and id not in (select run from lane_holds where released_at is null)
and id not in (select substr(holder, 5) from claims where released_at is null and holder >= 'run:' and holder < 'run;')
and id not in (select run from places where given_at is null)
and id not in (select run from feedback where said <> '')
and id not in (select run from tasks where rests > 0)
and (bill is null or id < coalesce((select since from reckoned where agent = runs.agent), '')) order by id limit ` + strconv.Itoa(mostForgotten)
}

// forgets reads one batch of what may go.
func forgets(before time.Time, p *book.Page) []Statement {
	old := forgettable()
	made, at := fleet.NewRunID(before, 0), before.UnixMilli()
	of := "where run in (" + old + ")"
	fires := "from fires where id > (select kept_fire from fleet) and at < $1 order by id limit " + strconv.Itoa(mostFiresForgotten)
	return []Statement{
		{SQL: old, Args: []any{made, at}, Scan: func(row Scanner) error {
			var r book.Run
			err := row.Scan(&r.ID)
			p.Runs.Add(r)
			p.Old = append(p.Old, r.ID)
			return err
		}},
		Holds().Select(p.Holds.Add, of, made, at),
		Uses().Select(p.Uses.Add, of, made, at),
		Fates().Select(p.Fates.Add, of, made, at),
		Changes().Select(p.Changes.Add, of, made, at),
		Denials().Select(func(d fleet.DeniedClaim) { p.Denials.Kept = append(p.Denials.Kept, d) }, of, made, at),
		Fires().Without("inputs", "selection").Select(p.Fires.Add, "where id in (select id "+fires+")", at),
		Choices().Select(p.Choices.Add, "where fire in (select id "+fires+")", at),
		Notices().Select(p.Notices.Add, "where at < $1 order by at limit "+strconv.Itoa(mostForgotten), at),
		lastFire(&p.Number),
	}
}
