package table

import (
	"strconv"
	"strings"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// The rows that a session's end is about: the run's own, and those of its agent's failures that are
// held back.
const ending = "select id from runs where id = $1 union select id from runs where held = 1 and agent = (select agent from runs where id = $1)"

// Day is SQL for the day of a time, as stores write it.
func Day(at time.Time) string { return at.UTC().Format("'" + time.DateOnly + "'") }

// Load reads what a write needs onto its page. Today is SQL for the day by the store's clock, which
// a store may read together with these rows.
func Load(n book.Need, p *book.Page, today string) (list []Statement) {
	if n.Every {
		return All(p)
	}
	add := func(s ...Statement) { list = append(list, s...) }
	if n.Key != "" {
		add(Claims().Select(p.Claims.Add, "where key = $1", n.Key))
	}
	if n.Key.IsLane() {
		add(Holds().Select(p.Holds.Add, "where released_at is null and run in (select substr(holder, 5) from claims where key = $1)", n.Key))
	}
	if n.Holder != "" {
		add(Claims().Select(p.Claims.Add, "where holder = $1 and released_at is null", n.Holder))
	}
	if run, session := n.Holder.Run(); session {
		add(Holds().Select(p.Holds.Add, "where run = $1 and released_at is null", run))
	}
	if len(n.Runs) > 0 {
		add(Runs().Select(p.Runs.Add, "where id in "+places(n.Runs), args(n.Runs)...))
	}
	if n.Open {
		add(brief(p))
	}
	if n.Holds != "" {
		add(Holds().Select(p.Holds.Add, "where category = $1 and released_at is null", n.Holds))
	}
	if n.Task != "" {
		n.Tasks = append(n.Tasks, n.Task)
	}
	if len(n.Tasks) > 0 {
		add(Tasks().Select(p.Tasks.Add, "where task in "+places(n.Tasks), args(n.Tasks)...))
	}
	if n.Begins != "" {
		add(begins(n, p, today)...)
	}
	if n.Room {
		add(Statement{SQL: "select count(*) from places where given_at is null", Scan: func(row Scanner) error { return row.Scan(&p.Taken) }})
	}
	if n.Room || n.Away {
		add(Away().Select(p.Away.Add, ""))
	}
	if n.Ends != "" {
		add(ends(n.Ends, p)...)
	}
	if len(n.Fates) > 0 {
		add(fates(n.Fates, p)...)
	}
	if len(n.Moves) > 0 {
		in, of := places(n.Moves), args(n.Moves)
		add(Arms().Select(p.Arms.Add, "where category in "+in, of...), lastCheckpoints(p, in, of...))
	}
	if n.Attempt != "" {
		add(Fires().Select(p.Fires.Add, "where attempt = $1", n.Attempt),
			Choices().Select(p.Choices.Add, "where fire in (select id from fires where attempt = $1)", n.Attempt))
	}
	if n.Fire != 0 {
		add(Choices().Select(p.Choices.Add, "where fire = $1", n.Fire))
	}
	if n.Number {
		add(lastFire(&p.Number))
	}
	if n.Oldest {
		add(oldestTails(p))
	}
	if n.Budgets {
		add(Spent().Select(p.Spent.Add, "where day = "+today), Agents().Select(p.Agents.Add, ""),
			Statement{SQL: "select coalesce(max(id), '') from runs", Scan: func(row Scanner) error { return row.Scan(&p.Newest) }})
	}
	if n.Resumes {
		add(Pauses().Select(p.Pauses.Add, ""), Arms().Select(p.Arms.Add, ""), Agents().Select(p.Agents.Add, ""),
			Tasks().Select(p.Tasks.Add, "where rests > 0"), Runs().Select(p.Runs.Add, "where id in (select run from tasks where rests > 0)"))
	}
	if n.Vain != "" {
		add(Arms().Select(p.Arms.Add, "where vain_at = $1", n.Vain), Feedback().Select(p.Feedback.Add, "where task = $1", n.Vain))
	}
	if len(n.Places) > 0 {
		add(Places().Select(p.Places.Add, "where run in "+places(n.Places), args(n.Places)...))
	}
	if len(n.Reviews) > 0 {
		add(Reviews().Select(p.Reviews.Add, "where run in "+places(n.Reviews), args(n.Reviews)...))
	}
	if n.Host != "" {
		add(Hosts().Select(p.Hosts.Add, ""), Boots().Select(p.Boots.Add, "where host = $1", n.Host), Heard().Select(p.Heard.Add, "where host = $1", n.Host))
	}
	if n.Heard != "" {
		add(Runs().Select(p.Runs.Add, "where id = $1", n.Heard), Heard().Select(p.Heard.Add, "where host = (select host from runs where id = $1)", n.Heard))
	}
	if n.Gone != "" {
		add(gone(n.Gone, p)...)
	}
	if n.Edge || !n.Forget.IsZero() {
		add(edge(&p.Edge))
	}
	if n.Edge {
		add(Checkpoints().Select(p.Checkpoints.Add, ""), believed(&p.Fated))
	}
	if !n.Forget.IsZero() {
		add(forgets(n.Forget, p)...)
	}
	if n.Notice.Event != "" {
		add(Notices().Select(p.Notices.Add, "where event = $1 and subject = $2", n.Notice.Event, n.Notice.Subject))
	}
	return list
}

// oldestTails reads which tails of logs are the oldest, as many as one fire deletes.
func oldestTails(p *book.Page) Statement {
	return Statement{SQL: "select run, at from tails order by at limit 100", Scan: func(row Scanner) error {
		var t fleet.Tail
		err := row.Scan(&t.Run, When(&t.At))
		p.Tails.Add(t)
		return err
	}}
}

// gone reads what runs of a machine have not ended, or still hold something.
func gone(host string, p *book.Page) []Statement {
	const (
		holding = "released_at is null and holder >= 'run:' and holder < 'run;'"
		runs    = "(select id from runs where host = $1 and (ended_at is null or id in (select substr(holder, 5) from claims where " + holding + `)
or id in (select run from lane_holds where released_at is null)))`
	)
	return []Statement{
		Runs().Select(p.Runs.Add, "where id in "+runs, host),
		Claims().Select(p.Claims.Add, "where "+holding+" and substr(holder, 5) in "+runs, host),
		Holds().Select(p.Holds.Add, "where released_at is null and run in "+runs, host),
		Tasks().Select(p.Tasks.Add, "where task in (select task from runs where id in "+runs+")", host),
		Spent().Select(p.Spent.Add, "where day in (select day from runs where id in "+runs+")", host),
		Arms().Select(p.Arms.Add, ""),
	}
}

// brief reads the runs that have not ended.
func brief(p *book.Page) Statement {
	return Statement{
		SQL: "select id, host, category, agent, task, key, day, reserved_tokens, reserved_usd from runs where ended_at is null order by id",
		Scan: func(row Scanner) error {
			var r book.Run
			err := row.Scan(&r.ID, &r.Host, &r.Category, &r.Agent, &r.Task, &r.Key, &r.Day, &r.ReservedTokens, &r.ReservedUSD)
			p.Open = append(p.Open, r)
			return err
		},
	}
}

// begins reads what the session of a run begins by.
func begins(n book.Need, p *book.Page, today string) []Statement {
	const (
		category = "(select category from runs where id = $1)"
		agent    = "coalesce(nullif($1, ''), (select agent from runs where id = $2))"
	)
	return []Statement{
		Runs().Select(p.Runs.Add, "where id = $1", n.Begins),
		Uses().Select(p.Uses.Add, "where run = $1", n.Begins),
		Arms().Select(p.Arms.Add, "where category = "+category, n.Begins),
		lastCheckpoints(p, category, n.Begins),
		Spent().Select(p.Spent.Add, "where day = "+today),
		Agents().Select(p.Agents.Add, "where agent = "+agent, n.Agent, n.Begins),
		bills(func(b fleet.Bill) { p.Bills = append(p.Bills, b) }, agent, n.Agent, n.Begins),
	}
}

// bill is what a run was billed for.
const bill = "id, tokens, case when cost in ('reported', 'computed') then usd end"

// latestBilled is the runs of an agent that have bills, made after another, newest first.
func latestBilled(agent, after string) string {
	return "agent = " + agent + " and bill > " + after + " order by bill desc"
}

// bills reads the latest bills of an agent, newest first.
func bills(add func(fleet.Bill), agent string, args ...any) Statement {
	after := "coalesce((select billed_after from agents where agent = " + agent + "), '')"
	return Statement{
		SQL:  "select " + bill + " from runs where " + latestBilled(agent, after) + " limit " + strconv.Itoa(fleet.BillsKept),
		Args: args,
		Scan: func(row Scanner) error {
			var b fleet.Bill
			err := row.Scan(&b.Run, &b.Tokens, &b.USD)
			add(b)
			return err
		},
	}
}

// ends reads what the end of a run is about.
func ends(run fleet.RunID, p *book.Page) []Statement {
	const categories = "(select category from runs where id in (" + ending + "))"
	return []Statement{
		Runs().Select(p.Runs.Add, "where id in ("+ending+")", run),
		Uses().Select(p.Uses.Add, "where run in ("+ending+")", run),
		Tasks().Select(p.Tasks.Add, "where task in (select task from runs where id in ("+ending+"))", run),
		Lessons().Select(p.Lessons.Add, "where category in "+categories, run),
		lastCheckpoints(p, categories, run),
		Arms().Select(p.Arms.Add, ""),
		Agents().Select(p.Agents.Add, "where agent = (select agent from runs where id = $1)", run),
		Spent().Select(p.Spent.Add, "where day = (select day from runs where id = $1)", run),
	}
}

// fates reads what is learnt anew where the work of runs became something.
func fates(runs []fleet.RunID, p *book.Page) []Statement {
	in, of := places(runs), args(runs)
	categories := "(select category from runs where id in " + in + ")"
	return []Statement{
		Runs().Select(p.Runs.Add, "where id in "+in, of...),
		Fates().Select(p.Fates.Add, "where run in "+in, of...),
		Uses().Select(p.Uses.Add, "where run in "+in, of...),
		Lessons().Select(p.Lessons.Add, "where category in "+categories, of...),
		Arms().Select(p.Arms.Add, ""),
		Checkpoints().Select(p.Checkpoints.Add, "where category in "+categories+` and seq >=
coalesce((select max(a.seq) from checkpoints a where a.category = checkpoints.category and a.alarm = 1), 1)`, of...),
		{
			SQL: `select id, category, round, load, coalesce(started_at, created_at), grade,
coalesce((select f.grade from fates f where f.run = runs.id and f.belief = 1 order by f.seq desc limit 1), grade), ` + awaits + `, counted, counted_in
from runs where category in ` + categories + ` and counted >
coalesce((select max(a.graded) from checkpoints a where a.category = runs.category and a.alarm = 1), 0) order by category, counted`,
			Args: of,
			Scan: func(row Scanner) error {
				var e store.Entry
				err := row.Scan(&e.ID, &e.Category, &e.Round, &e.Load, When(&e.Began), &e.First, &e.Grade, Flag{&e.Awaits}, &e.Counted, &e.In)
				p.Graded[e.Category] = append(p.Graded[e.Category], e)
				return err
			},
		},
	}
}

// lastCheckpoints reads the last checkpoint of categories, without the arm.
func lastCheckpoints(p *book.Page, categories string, args ...any) Statement {
	return Statement{
		SQL: "select category, seq, settings from checkpoints where category in " + categories + `
and seq = (select max(a.seq) from checkpoints a where a.category = checkpoints.category)`,
		Args: args,
		Scan: func(row Scanner) error {
			var c book.Checkpoint
			err := row.Scan(&c.Category, &c.Seq, JSON{&c.Settings, ""})
			p.Checkpoints.Add(c)
			return err
		},
	}
}

// places is a list of so many places.
func places[T any](list []T) string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func args[T any](list []T) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// All reads every row onto a page.
func All(p *book.Page) []Statement {
	return []Statement{
		{SQL: "select moved from fleet", Scan: func(row Scanner) error { return row.Scan(&p.Moved) }},
		Lineage().Select(p.Lineage.Add, ""),
		edge(&p.Edge),
		Claims().Select(p.Claims.Add, ""),
		Fires().Select(p.Fires.Add, ""),
		Choices().Select(p.Choices.Add, ""),
		Runs().Select(p.Runs.Add, ""),
		Holds().Select(p.Holds.Add, ""),
		Uses().Select(p.Uses.Add, ""),
		Fates().Select(p.Fates.Add, ""),
		Arms().Select(p.Arms.Add, ""),
		Checkpoints().Select(p.Checkpoints.Add, ""),
		Changes().Select(p.Changes.Add, ""),
		Lessons().Select(p.Lessons.Add, ""),
		Agents().Select(p.Agents.Add, ""),
		Spent().Select(p.Spent.Add, ""),
		Tasks().Select(p.Tasks.Add, ""),
		Pauses().Select(p.Pauses.Add, ""),
		Places().Select(p.Places.Add, ""),
		Reviews().Select(p.Reviews.Add, ""),
		Feedback().Select(p.Feedback.Add, ""),
		Notices().Select(p.Notices.Add, ""),
		Away().Select(p.Away.Add, ""),
		Hosts().Select(p.Hosts.Add, ""),
		Boots().Select(p.Boots.Add, ""),
		Heard().Select(p.Heard.Add, ""),
		Tails().Select(p.Tails.Add, ""),
		Denials().Select(func(d fleet.DeniedClaim) { p.Denials.Kept = append(p.Denials.Kept, d) }, "order by id"),
		Resets().Select(func(r book.Reset) { p.Resets.Kept = append(p.Resets.Kept, r) }, "order by id"),
		lastFire(&p.Number),
	}
}

// Save writes what was decided: it deletes rows before those to which they refer, and writes them after.
func Save(p *book.Page) (list []Statement) {
	if fires := p.Fires.Written(); len(fires) > 0 {
		list = append(list, Statement{SQL: "update fleet set fires = $1", Args: []any{p.Number}})
	}
	if p.Moved != "" {
		list = append(list, Statement{SQL: "update fleet set moved = $1", Args: []any{p.Moved}})
	}
	save(&list, Lineage(), &p.Lineage)
	save(&list, Acknowledged(), &p.Acknowledged)
	if p.Edged {
		list = append(list, setEdge(p.Edge))
	}
	for _, d := range p.Denials.Gone {
		list = append(list, Denials().Delete(d))
	}
	remove(&list, Fates(), &p.Fates)
	remove(&list, Changes(), &p.Changes)
	remove(&list, Uses(), &p.Uses)
	remove(&list, Holds(), &p.Holds)
	remove(&list, Choices(), &p.Choices)
	remove(&list, Runs(), &p.Runs)
	remove(&list, Checkpoints(), &p.Checkpoints)
	remove(&list, Tasks(), &p.Tasks)
	remove(&list, Pauses(), &p.Pauses)
	remove(&list, Places(), &p.Places)
	remove(&list, Notices(), &p.Notices)
	remove(&list, Away(), &p.Away)
	remove(&list, Hosts(), &p.Hosts)
	remove(&list, Boots(), &p.Boots)
	remove(&list, Heard(), &p.Heard)
	remove(&list, Tails(), &p.Tails)
	save(&list, Fires(), &p.Fires)
	save(&list, Choices(), &p.Choices)
	save(&list, Runs(), &p.Runs)
	save(&list, Claims(), &p.Claims)
	save(&list, Holds(), &p.Holds)
	save(&list, Uses(), &p.Uses)
	save(&list, Fates(), &p.Fates)
	save(&list, Arms(), &p.Arms)
	save(&list, Checkpoints(), &p.Checkpoints)
	save(&list, Changes(), &p.Changes)
	save(&list, Lessons(), &p.Lessons)
	save(&list, Agents(), &p.Agents)
	save(&list, Spent(), &p.Spent)
	save(&list, Tasks(), &p.Tasks)
	save(&list, Pauses(), &p.Pauses)
	save(&list, Places(), &p.Places)
	save(&list, Reviews(), &p.Reviews)
	save(&list, Feedback(), &p.Feedback)
	save(&list, Notices(), &p.Notices)
	save(&list, Away(), &p.Away)
	save(&list, Hosts(), &p.Hosts)
	save(&list, Boots(), &p.Boots)
	save(&list, Heard(), &p.Heard)
	save(&list, Tails(), &p.Tails)
	for _, d := range p.Denials.Added {
		list = append(list, Denials().Insert(d))
	}
	for _, r := range p.Resets.Added {
		list = append(list, Resets().Insert(r))
	}
	return list
}

func remove[R any](list *[]Statement, t Table[R], rows *book.Rows[R]) {
	for _, r := range rows.Gone() {
		*list = append(*list, t.Delete(r))
	}
}

func save[R any](list *[]Statement, t Table[R], rows *book.Rows[R]) {
	for _, r := range rows.Written() {
		*list = append(*list, t.Put(r))
	}
}
