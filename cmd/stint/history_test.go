package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
)

// past is the record of a fleet that has run for long: a run a minute, up to a
// quarter of an hour ago, each of some minutes, three to a fire, and with them lanes,
// claims that were given back, denials and every way to end. Every category c0, c1 …
// has as many of them, but that "rare" has only one in five thousand.
type past struct {
	runs       int
	categories int
	hostile    bool // see [hostileTexts]
}

// hostileTexts lists names that agents, trackers and other people may give to things: each is
// harmless as long as it is but text.
func hostileTexts() []string {
	long := strings.Repeat("long and without end ", 25)[:500]
	return []string{
		`<script>window.pwned=1</script>`,
		`"><img src=x onerror="window.pwned=2;alert(1)">`,
		`'><svg onload=alert(2)><a href="javascript:alert(3)">x</a>`,
		`</pre></main><script src="//evil.example/x.js"></script>`,
		`</title></style></textarea><iframe src="https://evil.example/"></iframe>`,
		`<meta http-equiv=refresh content="0;url=https://evil.example/">{{.Task}} ${alert(4)} %3Cscript%3E`,
		"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[H \x9b1m bell\x07 back\b\b\b",
		"right \u202egnp.tfel-ot\u202c \u2066isolated\u2069 \u200f mark \ufeff",
		"zero\x00 line\nbreak\r\ttab \u2028 \u0085 del\x7f",
		"日本語の作業 — 진행 중 👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 e\u0301\u0301\u0301",
		long,
		"日本" + strings.Repeat("語", 160) + "!",
		"../../../../etc/passwd?x=1&y=2#z; rm -rf $HOME `id` '\" \\",
		"=cmd|'/c calc'!A0",
	}
}

// words are the texts that a past is written with.
func (p past) words() []string {
	if p.hostile {
		return hostileTexts()
	}
	return []string{"it went as it should", "fixed two of three, the last needs a decision", "tests pass", "nothing left to do here"}
}

// keys is the number of tasks that were worked on, each ten times.
func (p past) keys() int { return max(1, p.runs/10) }

func (p past) fires() int { return (p.runs + 2) / 3 }

// fill writes the past into a store behind the program's back, and leaves nothing in
// the log.
func (p past) fill(tb testing.TB, database string) {
	tb.Helper()
	p.execute(tb, database, pastFires, pastRuns, pastChoices, pastLanes, pastClaims, pastDenials, pastFigures)
	p.learn(tb, database)
}

// learn writes what the runs of the past taught, so that it adds up.
func (p past) learn(tb testing.TB, database string) {
	tb.Helper()
	o := sqlite.Options{Dir: filepath.Dir(database), Now: time.Now, Settings: rank.Defaults()}
	db, err := openBeside(database, "rw")
	if err == nil {
		err = db.QueryRow("select name, workspace from fleet").Scan(&o.Fleet, &o.Workspace)
	}
	must.Do(tb, err)
	d := must.Get(sqlite.Open(tb.Context(), o))(tb)
	l := must.Get(d.Ledger(tb.Context()))(tb)
	st := rank.State{Settings: o.Settings}
	for _, r := range l.Runs {
		if r.Nth > 0 {
			st.Fold(rank.Event{Seq: st.Seq + 1, Kind: rank.Began, Category: r.Category})
		}
		if r.Counted > 0 {
			st.Fold(rank.Event{Seq: st.Seq + 1, Kind: rank.Ended, Category: r.Category, Grade: *r.First})
		}
	}
	if text, _ := json.Marshal(st); st.Seq > 0 { // the events are forgotten
		_, err = db.Exec("insert into rankings (day, seq, state) values ('2026-01-01', ?, ?)", st.Seq, string(text))
	}
	must.Do(tb, errors.Join(err, d.Close(), db.Close()))
}

// trouble adds what else of other people's words is shown: claims that are held, pauses,
// and runs that were killed.
func (p past) trouble(tb testing.TB, database string) {
	tb.Helper()
	p.execute(tb, database, pastTrouble)
}

func (p past) execute(tb testing.TB, database string, statements ...string) {
	tb.Helper()
	db, err := openBeside(database, "rw")
	must.Do(tb, err)
	db.SetMaxOpenConns(1) // which has the temporary tables
	run := func(statement string, args ...any) {
		if err == nil {
			_, err = db.Exec(statement, args...)
		}
	}
	run("pragma synchronous = off; pragma cache_size = -200000; pragma temp_store = memory; begin; " + pastWords)
	for i, text := range p.words() {
		run("insert into words values (?, ?)", i, text)
	}
	for _, statement := range statements {
		run(p.replace(statement))
	}
	run("commit")
	must.Do(tb, errors.Join(err, db.Close()))
}

// replace fills the past's figures into a statement.
func (p past) replace(statement string) string {
	task := "printf('task-%06d', i % :keys)"
	if p.hostile {
		task = "(select text from words where n = chance % :words) || ' ' || (i % :keys)"
	}
	now := time.Now()
	statement = strings.NewReplacer(":task", task, ":id", runIDText("at", "chance"), ":newid", runIDText(":now", "n")).Replace(statement)
	return strings.NewReplacer(
		":runs", fmt.Sprint(p.runs), ":fires", fmt.Sprint(p.fires()), ":keys", fmt.Sprint(p.keys()),
		":categories", fmt.Sprint(p.categories), ":words", fmt.Sprint(len(p.words())),
		":start", fmt.Sprint(now.Add(-time.Duration(p.runs+15)*time.Minute).UnixMilli()),
		":now", fmt.Sprint(now.UnixMilli()), ":today", now.UTC().Format(time.DateOnly),
	).Replace(statement)
}

// runIDText is [fleet.NewRunID] in SQL.
func runIDText(millis, chance string) string {
	var digits []string
	digit := func(value string, shift int) {
		digits = append(digits, fmt.Sprintf("substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((%s >> %d) & 31), 1)", value, shift))
	}
	for shift := 45; shift >= 0; shift -= 5 {
		digit(millis, shift)
	}
	for shift := 25; shift >= 0; shift -= 5 {
		digit(chance, shift)
	}
	return strings.Join(digits, " || ")
}

// A run's chance values depend on nothing but its number, so that two stores of one size hold
// the same.
const (
	pastWords = `create temp table words (n integer primary key, text text);
		create temp table ends (n integer primary key, outcome text);
		insert into ends
		with recursive n(i) as (select 0 union all select i + 1 from n where i < 99)
		select i, case when i < 55 then 'productive' when i < 65 then 'noop' when i < 70 then 'nothing' when i < 78 then 'failed'
			when i < 81 then 'timeout' when i < 83 then 'quota' when i < 85 then 'cancelled' when i < 86 then 'lost'
			when i < 88 then 'abandoned' when i < 91 then 'busy' when i < 95 then 'denied' else 'idle' end from n;
	`
	pastFires = `insert into fires (id, at, seed, pool, workers, due, inputs, selection, own, allowed, fallback)
		with recursive n(i) as (select 1 union all select i + 1 from n where i < :fires)
		select i, :start + (i - 1) * 180000, i * 7919, 'autonomous', 3, json_object('c0', 1.0, 'c' || (1 + i % (:categories - 1)), 0.5), '{}', '{}', 1, '[]',
			case when i % 500 = 0 then (select text from words where n = i % :words) else '' end from n;
	`
	pastRuns = `insert into runs (id, fire, category, rank, chain_depth, source, unit, lane, task, key, epoch, round, agent, pid,
			created_at, started_at, ended_at, outcome, grade, reason, parts, exit_status, tokens, usd, day, followed)
		with recursive n(i) as (select 0 union all select i + 1 from n where i < :runs - 1),
		drawn as (select i, :start + i * 60000 + i * 7919 % 50000 as at, i * 2654435761 >> 4 & 1073741823 as chance from n),
		named as (select *, :id as id, :task as task, (select outcome from ends where n = chance % 100) as outcome,
			case when i % 5000 = 777 then 'rare' else 'c' || (i % :categories) end as category,
			case when i % 12 = 5 then 'respawn' when i % 50 = 7 then 'hand' when i % 400 = 9 then 'allow-list' else 'selected.category' end as source
			from drawn),
		worked as (select *, outcome not in ('busy', 'denied', 'idle', 'abandoned') as worked from named)
		select id, case when source not in ('respawn', 'hand') then 1 + i / 3 end, category, 1 + i % 3, i % 12 = 5, source,
			'stint-bench-' || category || '-' || id || '.service', outcome <> 'busy', iif(worked, task, ''), iif(worked, task, ''),
			iif(worked, 1 + i / :keys, 0), 0, case i / 7 % 3 when 0 then 'claude' when 1 then 'codex' else 'gptme' end, 1000 + i % 30000,
			at, at + 400, at + 60000 + chance % 780000, outcome,
			case when outcome = 'productive' then 0.4 + chance % 60 / 100.0 when outcome in ('failed', 'timeout') then 0 end,
			(select text from words where n = chance % :words), iif(outcome = 'productive', '{"commits":0.7,"own":-0.1}', '{}'),
			iif(worked, outcome = 'failed', null), iif(worked, 20000 + chance % 900000, null), iif(worked, chance % 900 / 300.0, null),
			iif(worked, date(at / 1000, 'unixepoch'), ''), iif(outcome = 'productive', 'its grade is below respawn', '')
		from worked;
	`
	pastChoices = `update fires set choices = all_of from (
		select fire, json_group_array(json(choice)) as all_of from (
		select fire, rank as n, json_object('category', category, 'decision', 'spawn', 'reason', 'drew 0.61', 'source', source, 'rank', rank,
			'score', 0.61, 'odds', 0.4, 'agent', agent, 'unit', unit, 'run', id) as choice from runs where fire is not null
		union all select fires.id, n, json_object('category', 'c' || ((fires.id * 3 + n) % :categories), 'decision', 'skip', 'reason',
			(select text from words where n = fires.id % :words), 'source', 'all_scores', 'rank', n, 'score', 0.3, 'odds', 0.1)
		from fires, (select 4 as n union all select 5 union all select 6) order by 1, 2) group by fire) where fire = id;
	`
	pastLanes = `update runs set lane_at = started_at + 3, lane_left = ended_at - 5 where lane > 0;
	`
	pastClaims = `insert into claims (key, holder, epoch, acquired_at, expires_at, released_at, ending)
		select key, 'run:' || max(id), max(epoch), max(started_at), max(ended_at) + 1, max(ended_at), 'done'
		from runs where key <> '' group by key;
	`
	// The fires of the past moved no clock.
	pastFigures = `update fleet set fires = (select max(id) from fires);
		update runs set nth = n from (select id as run, row_number() over (partition by category order by id) as n from runs where key <> '')
			where id = run;
		update runs set counted = n from (select id as run, row_number() over (partition by category order by id) as n from runs where grade is not null)
			where id = run;
		insert into spent (day, scope, runs, tokens, usd)
		select day, case n when 0 then 'fleet' when 1 then 'agent:' || agent else 'category:' || category end as scope,
			count(*), sum(tokens), sum(usd) from runs, (select 0 as n union all select 1 union all select 2)
		where day <> '' group by day, scope;
	`
	pastDenials = `insert into denials (run, category, key, holder, at)
		select id, category, 'task-' || rank, (select text from words where n = created_at % :words), started_at + 10
		from runs where outcome = 'denied' or created_at % 100 = 0;
	`
	pastTrouble = `insert into claims (key, holder, epoch, acquired_at, expires_at, note)
		select 'held ' || text, text || '@host', 1, :now - 60000, :now + 86400000, text from words;
		insert into pauses (category, since, until, reason) select 'c' || n, :now - 60000, null, text from words where n < 3;
		insert into tasks (task, state, source, item, seen, owed, run, since, sessions, failures, vain, taken, rests, reason)
			select text, '', '', '', '', '', '', :now - 60000, 3, 3, 3, 3, 0, text from words;
		insert or replace into agents (agent, until, since, reason, failures, limits, fault, faults, probe)
			select 'codex', :now + 3600000, :now, text, 0, 1, '', 0, '' from words where n = 1;
		insert into runs (id, category, rank, source, agent, created_at, started_at, reason, task)
			select :newid, 'c' || n, 0, 'hand', 'claude', :now - 1000, :now - 900, text, text from words where n < 2;
	`
)

// fillHistory gives the fleet a past, and what is remembered of its categories.
func (f bench) fillHistory(b *testing.B, runs, categories int) {
	b.Helper()
	past{runs: runs, categories: categories}.fill(b, f.database())
	f.recordFire(b, categories)
}

// recordFire stores a fire that owes every category something, after which each is
// remembered.
func (f bench) recordFire(b *testing.B, categories int) {
	b.Helper()
	due := map[fleet.Category]float64{}
	for i := range categories {
		due[fleet.Category(fmt.Sprintf("c%d", i))] = 3 / float64(categories)
	}
	d := f.openStore(b)
	_, err := d.RecordFire(b.Context(), store.Firing{Fire: fleet.Fire{
		At: time.Now(), Seed: 1, Workers: 3, Inputs: []byte("{}"), Selection: []byte("{}"), Due: due,
	}})
	must.Do(b, errors.Join(err, d.Close()))
}
