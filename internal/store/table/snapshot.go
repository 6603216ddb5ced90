package table

import (
	"context"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// Snapshot reads a ranking's input, as of one instant.
func (r Reader) Snapshot(ctx context.Context) (s store.Snapshot, err error) {
	s.Arms = map[fleet.Category]store.Arm{}
	var (
		st       rank.State
		ends     = map[fleet.Category]time.Time{}
		reserves []Run // open runs with a reserve
		spent    []Spent
	)
	err = r.Read(ctx, func(now time.Time) []Statement {
		list := append(standing(&s.ClaimsAt, store.Listing{}, now, func(r Run) {
			s.Open = append(s.Open, r.Run)
			if r.ReservedTokens != 0 || r.ReservedUSD != 0 {
				reserves = append(reserves, r)
			}
		}),
			Fleets().Select(func(f Fleet) { s.NextFire, s.Away, s.Lineage = f.Fires+1, f.Away, f.Lineage }, ""),
			Lessons().Select(func(l store.Lesson) { s.Lessons = append(s.Lessons, l) }, "order by lesson, version, category"),
			Pauses().Select(func(p fleet.Pause) { s.Pauses = append(s.Pauses, p) }, "order by category"),
			Agents().Select(func(a fleet.AgentState) { s.Agents = append(s.Agents, a) }, "order by agent"),
			Spending().Select(func(s Spent) { spent = append(spent, s) }, "where day = $1 order by scope", now.UTC().Format(time.DateOnly)),
			Tasks().Select(func(m fleet.TaskMemory) { s.Tasks = append(s.Tasks, m) }, "order by task"))
		list = append(list, ranking(&st)...)
		list = append(list, r.lastEnds(ends, now))
		return append(list, hosts(&s.Hosts)...)
	})
	for c, a := range st.Arms {
		s.Arms[c] = store.Arm{Arm: *a, Ended: ends[c]}
	}
	s.Rounds, s.Prices, s.Pairs = st.Rounds, st.Prices, st.Pairs
	if s.Lineage.Bars(s.At) {
		s.Pauses = append([]fleet.Pause{s.Lineage.Pause()}, s.Pauses...)
	}
	slices.SortFunc(s.Claims, byKey)
	s.Spent = reserved(spent, reserves)
	return s, wrap(err, "read store")
}

// ranking folds the events since the last stored state.
func ranking(st *rank.State) []Statement {
	return []Statement{
		Rankings().Select(func(r Ranking) { *st = r.State }, "where seq = (select max(seq) from rankings)"),
		Events().Select(func(e rank.Event) { st.Fold(e) }, "where seq > (select coalesce(max(seq), 0) from rankings) order by seq"),
	}
}

// RankingAt reads the ranking's state at a time: the last state of an earlier day, and the events from then on. It is
// zero if the record does not go back so far.
func (r Reader) RankingAt(ctx context.Context, at time.Time) (st rank.State, err error) {
	const before, after = "(select max(seq) from rankings where day < $1)", "(select min(seq) from rankings where day >= $1)"
	day := at.UTC().Format(time.DateOnly)
	err = r.Read(ctx, func(time.Time) []Statement {
		st = rank.State{}
		return []Statement{
			Rankings().Select(func(r Ranking) { st = r.State }, "where seq = "+before, day),
			Events().Select(func(e rank.Event) {
				if e.Seq == st.Seq+1 && e.At.Before(at) {
					st.Fold(e)
				}
			}, "where seq > coalesce("+before+", 0) and seq <= coalesce("+after+", seq) order by seq", day),
		}
	})
	return st, wrap(err, "read the ranking of %s", day)
}

// lastEnds reads when the last session of each category ended, on this machine or an unknown one: a cooldown protects
// this machine's work tree. An end in the future comes from a wrong clock, and causes no cooldown. The query steps from
// category to category: otherwise a store reads all runs.
func (r Reader) lastEnds(all map[fleet.Category]time.Time, now time.Time) Statement {
	const last = `(select max(ended_at) from runs where runs.category = names.category and key <> '' and ended_at <= $1 and host = `
	here := ""
	if r.Host != nil {
		here = r.Host()
	}
	return Statement{
		SQL: `with recursive names as (select min(category) as category from runs
union all select (select min(category) from runs where runs.category > names.category) from names where names.category is not null)
select category, ` + last + "''), " + last + "$2) from names where category is not null",
		Args: []any{now.Add(fleet.ClockSlack).UnixMilli(), here},
		Scan: func(row Scanner) error {
			var (
				c                fleet.Category
				somewhere, ended time.Time
			)
			err := row.Scan(&c, When(&somewhere), When(&ended))
			if somewhere.After(ended) {
				ended = somewhere
			}
			all[c] = ended
			return err
		},
	}
}

// reserved adds the reserves of open sessions to a day's use.
func reserved(spent []Spent, open []Run) (list []fleet.Spent) {
	for _, s := range spent {
		for _, r := range open {
			if r.Day == s.Day && (s.Scope == fleet.FleetScope || s.Scope == fleet.AgentScope(r.Agent) || s.Scope == fleet.CategoryScope(r.Category)) {
				s.ReservedTokens += r.ReservedTokens
				s.ReservedUSD += r.ReservedUSD
			}
		}
		list = append(list, s.Spent)
	}
	return list
}

// Hosts reads the machines of the fleet.
func (r Reader) Hosts(ctx context.Context) (list []fleet.Host, at time.Time, err error) {
	err = r.Read(ctx, func(now time.Time) []Statement {
		at = now
		return hosts(&list)
	})
	return list, at, wrap(err, "read hosts")
}

func hosts(list *[]fleet.Host) []Statement {
	heard := map[string]time.Time{}
	return []Statement{
		LastHeard().Select(func(h Heard) { heard[h.Host] = h.At }, ""),
		Hosts().Without("boots").Select(func(h fleet.Host) {
			h.HeardAt = heard[h.ID]
			*list = append(*list, h)
		}, "order by name, id"),
	}
}
