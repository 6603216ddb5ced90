package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// question is something that an operator asks. One command answers it; what it says is
// compared with what the record says in SQL, row by row.
type question struct {
	asked   string
	command string   // without stint; "--json" is added
	status  int      // that it ends with
	at      string   // where in its object the rows are
	fields  []string // of a row; NAME:%.2f writes a number so
	sql     string   // :task is the failing one, :run the latest that was graded
}

func questions() []question {
	const days = "created_at >= unixepoch('subsec') * 1000 - 2 * 86400000"
	const failed = "outcome in ('failed', 'timeout', 'abandoned')"
	return []question{
		{
			"what runs?", "status", 0, "running",
			[]string{"run", "category", "agent"},
			"select id, category, agent from runs where ended_at is null order by id",
		},
		{
			"what would a stop end?", "stop --all --dry-run", 0, "stopped",
			[]string{"run", "was"},
			"select id, 'running' from runs where ended_at is null order by id",
		},
		{
			"who holds what?", "claim list", 0, "claims",
			[]string{"task", "holder", "epoch"},
			"select key, holder, epoch from claims where released_at is null order by key",
		},
		{
			"what is paused, and by whom?", "status", 0, "pauses",
			[]string{"category", "reason"},
			"select category, reason from pauses order by category",
		},
		{
			"why does c0 not run?", "why c0", 0, "",
			[]string{"verdict", "kind"},
			"select iif(count(*) > 0, 'no', 'yes'), 'category' from pauses where category = 'c0'",
		},
		{
			"what did the last fires start?", "fires --limit 5", 0, "fires",
			[]string{"fire", "pool", "seed", "spawned"},
			"select id, pool, seed, (select count(*) from json_each(choices) c where c.value ->> 'decision' = 'spawn') from fires order by id desc limit 5",
		},
		{
			"which fires of the last hours started nothing?", "fires --since 3h --limit 500", 0, "fires",
			[]string{"fire", "skipped"},
			`select id, (select count(*) from json_each(choices) c where c.value ->> 'decision' = 'skip') from fires
			 where at >= unixepoch('subsec') * 1000 - 10800000 order by id desc`,
		},
		{
			"what will the next fire do?", "fanout --dry-run", -1, "categories",
			[]string{"category", "decision"},
			`select c.value, iif(c.value in ('c3', 'code') or c.value in (select category from pauses) or c.value in (select category from runs where ended_at is null), 'skip', 'spawn')
			 as d from json_each('["c0","c1","c2","c3","code"]') c order by d desc, c.value`,
		},
		{
			"what did each day cost, by agent?", "report --by day,agent --since 2d", 0, "parts",
			[]string{"day", "agent", "runs", "tokens", "usd:%.4f"},
			`select date(created_at / 1000, 'unixepoch') as d, agent, count(*), coalesce(sum(tokens), 0), printf('%.4f', total(usd))
			 from runs where created_at / 86400000 >= unixepoch() / 86400 - 2 group by d, agent order by d, agent`,
		},
		{
			"what did each category cost?", "report --by category --since 0", 0, "parts",
			[]string{"category", "sessions", "usd:%.4f"},
			"select category, sum(epoch > 0), printf('%.4f', total(usd)) from runs group by category order by category",
		},
		{
			"what is left of the budget?", "budget", 0, "scopes",
			[]string{"scope", "runs", "usd:%.4f"},
			`with scopes (scope) as (values ('fleet'), ('agent:coder'), ('agent:sleeper'), ('agent:worker'),
			 ('category:c0'), ('category:c1'), ('category:c2'), ('category:c3'), ('category:code'))
			 select scopes.scope, coalesce(runs, 0), printf('%.4f', coalesce(usd, 0)) from scopes
			 left join spent on spent.scope = scopes.scope and day = date('now') order by scopes.scope <> 'fleet', scopes.scope`,
		},
		{
			"which agent is better?", "report --since 0", 0, "agents",
			[]string{"agent", "graded", "grade:%.6f"},
			"select agent, count(grade), iif(count(grade), printf('%.6f', avg(grade)), '<nil>') from runs where agent <> '' group by agent order by agent",
		},
		{
			"what was decided, and by whom?", "report --since 0", 0, "reviewed",
			[]string{"run", "decision", "by"},
			"select run, decision, decided_by from reviews where decision <> '' order by decided_at desc, run desc",
		},
		{
			"is anything burning money for nothing?", "report --since 0", 0, "categories",
			[]string{"category", "noop_rate:%.6f", "usd:%.4f"},
			"select category, printf('%.6f', 1.0 * sum(outcome in ('noop', 'nothing')) / count(ended_at)), printf('%.4f', total(usd)) from runs group by category order by category",
		},
		{
			"what was used today?", "status", 0, "spent_today",
			[]string{"scope", "runs"},
			"select scope, runs from spent where day = date('now') order by scope",
		},
		{
			"what keeps failing?", "report --since 2d", 0, "audit.failing",
			[]string{"task", "sessions", "failed"},
			`select task, count(*), sum(` + failed + `) as f from runs where ` + days + ` and key <> '' and task <> '' and
			 (` + failed + ` or outcome in ('productive', 'noop', 'nothing')) group by task having f >= 3 and 2 * f > count(*) order by f desc, task`,
		},
		{
			"what was tried at that task?", "runs --task :task", 0, "runs",
			[]string{"run", "outcome"},
			"select id, outcome from runs where task = ':task' order by id desc limit 20",
		},
		{
			"what failed in two days, and why?", "runs --outcome failed --since 2d --limit 1000", 0, "runs",
			[]string{"run", "category", "reason"},
			"select id, category, reason from runs where outcome = 'failed' and " + days + " order by id desc",
		},
		{
			"how did runs end?", "report --since 0", 0, "all.outcomes",
			[]string{"failed", "noop", "productive", "timeout"},
			"select sum(outcome = 'failed'), sum(outcome = 'noop'), sum(outcome = 'productive'), sum(outcome = 'timeout') from runs",
		},
		{
			"which category does good work?", "report --since 0", 0, "categories",
			[]string{"category", "graded", "grade:%.6f"},
			"select category, count(grade), iif(count(grade), printf('%.6f', avg(grade)), '<nil>') from runs group by category order by category",
		},
		{
			"does everybody get a share?", "report --since 0", 0, "categories",
			[]string{"category", "sessions", "part:%.6f"},
			"select category, sum(epoch > 0), printf('%.6f', 1.0 * sum(epoch > 0) / (select count(*) from runs where epoch > 0)) from runs group by category order by category",
		},
		{
			"did two ever hold one lane?", "audit", 1, "",
			[]string{"total_acquisitions", "same_lock_violations"},
			`select (select count(*) from (select id as run, category, lane, lane_at as acquired_at, lane_left as released_at from runs where lane_at is not null)), count(*) from (select id as run, category, lane, lane_at as acquired_at, lane_left as released_at from runs where lane_at is not null) a where exists (select 1 from (select id as run, category, lane, lane_at as acquired_at, lane_left as released_at from runs where lane_at is not null) b where
			 a.category = b.category and a.lane = b.lane and (b.acquired_at, b.run) < (a.acquired_at, a.run) and ifnull(b.released_at, 9e15) > a.acquired_at)`,
		},
		{
			"what waits for me?", "task list --state ready_for_review", 0, "tasks",
			[]string{"id", "state"},
			"select task, 'ready_for_review' from runs where outcome = 'productive' and (agent = 'worker' or task = 'open') order by task",
		},
		{
			"how did that run go?", "show :run", 0, "",
			[]string{"outcome", "grade:%.4f", "agent", "category"},
			"select outcome, printf('%.4f', grade), agent, category from runs where id = ':run'",
		},
		{
			"why did it start?", "why :run", 0, "",
			[]string{"kind", "subject", "verdict"},
			"select 'run', id, outcome from runs where id = ':run'",
		},
		{
			"what did it print?", "logs :run", 0, "",
			[]string{"run", "line"},
			"select id, 'hello' from runs where id = ':run'",
		},
		{
			"stop everything", "stop --all", 0, "stopped",
			[]string{"run", "outcome", "error"},
			"select id, outcome, '' from runs where outcome = 'cancelled' and lane > 0 and agent = 'sleeper' order by id",
		},
		{
			"does anything run now?", "stop --all", 3, "", nil,
			"select id from runs where ended_at is null",
		},
	}
}

// TestQuestions asks a fleet with a past of two days, and with sessions under way, what
// operators ask.
func TestQuestions(t *testing.T) {
	t.Parallel()
	f := newQuestioned(t)
	for _, q := range questions() {
		fill := strings.NewReplacer(":task", "task-000007", ":run", f.graded)
		var want []string
		if !strings.HasPrefix(q.command, "stop") || strings.Contains(q.command, "--dry-run") {
			want = f.query(fill.Replace(q.sql))
		}
		args := append(strings.Fields(fill.Replace(q.command)), "--json")
		text, status := f.stint(args...)
		if want == nil { // a stop changes the record
			want = f.query(fill.Replace(q.sql))
		}
		if q.status >= 0 && status != q.status {
			t.Errorf("%s stint %s: status %d, want %d", q.asked, strings.Join(args, " "), status, q.status)
			continue
		}
		if got := rowsOf(t, text, q); len(got)+len(want) > 0 && cmp.Diff(got, want) != "" {
			t.Errorf("%s stint %s (-got +want):\n%s", q.asked, strings.Join(args, " "), cmp.Diff(got, want))
		}
		if len(want) == 0 && q.status != 3 {
			t.Errorf("%s the record of the test has nothing to say", q.asked)
		}
	}
}

// questioned is a fleet that is asked.
type questioned struct {
	*testing.T
	dir    string
	graded string // the run that was graded last
}

func newQuestioned(t *testing.T) *questioned {
	t.Helper()
	f := &questioned{T: t, dir: t.TempDir()}
	config := fmt.Sprintf("fleet = \"asked\"\nstate = %q\n[fanout]\nworkers = 1\nslots = 4\n", filepath.Join(f.dir, "state")) +
		"[agent.sleeper]\ncommand = [\"fakeagent\", \"sh=exec sleep 300\"]\npass_environment = [\"PATH\"]\n" +
		"[agent.worker]\ntrust = true\ncommand = [\"fakeagent\", \"print=hello\", 'result={\"outcome\":\"productive\",\"grade\":0.75,\"cost_usd\":0.5,\"tokens\":100}']\npass_environment = [\"PATH\"]\n"
	for _, c := range []string{"c0", "c1", "c2"} {
		config += "[category." + c + "]\nagents = [\"sleeper\"]\nself_directed = true\ncooldown = \"0s\"\n"
	}
	config += "[category.c3]\nagents = [\"worker\"]\nmax_chain = 0\n" +
		"[agent.coder]\nbox = \"open\"\ncommand = [\"sh\", \"-c\", \"echo x >$STINT_TASK_ID.txt; git add .; git commit -qm $STINT_TASK_ID\"]\n" +
		"[category.code]\nagents = [\"coder\"]\nworkspace = \"clone\"\nmax_chain = 0\ncooldown = \"1h\"\n[budget]\nusd = 5000\n"
	for name, text := range map[string]string{
		"stint.toml": config, "lessons/measure.md": "---\n---\nMeasure first.\n", ".gitignore": "state\n",
		"tasks/review-me.md": "---\nstate: todo\ncategory: c3\n---\n", "tasks/good.md": "---\nstate: todo\ncategory: code\n---\n",
		"tasks/bad.md": "---\nstate: todo\ncategory: code\n---\n", "tasks/open.md": "---\nstate: todo\ncategory: code\n---\n",
		"tasks/asks.md": "---\nstate: waiting\nwaiting_for: which licence is wanted\ncategory: code\n---\n",
	} {
		write(t, filepath.Join(f.dir, name), text, 0o600)
	}
	f.git("init", "-q", "-b", "main")
	f.git("config", "user.name", "tester")
	f.git("config", "user.email", "tester@example.org")
	f.git("add", ".")
	f.git("commit", "-qm", "begin")
	f.must("pause", "c0", "--reason", "holidays") // which makes the store
	p := past{runs: 2900, categories: 4}
	p.fill(t, f.database())
	p.execute(t, f.database(), "update runs set outcome = 'failed', grade = 0 where id in (select id from runs where task = 'task-000007' and key <> '' order by id desc limit 4)")
	for _, task := range []string{"good", "bad", "open"} {
		f.must("run", "--category", "code", "--task", task)
	}
	of := func(task string) string { return f.query("select id from runs where task = '" + task + "'")[0] }
	f.must("run", "--category", "c3")
	f.graded = f.query("select max(id) from runs")[0]
	t.Cleanup(func() { f.stint("stop", "--all") })
	f.must("fanout", "--exec", "--seed", "1")
	f.until("select count(*) from runs where ended_at is null and epoch > 0", "1")
	p.execute(t, f.database(), "update fires set at = at - 7200000 where id = (select max(id) from fires)")
	f.must("pause", "--reason", "at lunch")
	f.stint("fanout", "--exec", "--seed", "2") // which starts nothing
	f.must("resume")
	f.must("claim", "mine", "--holder", "me")
	f.must("review", "land", of("good"))
	f.must("review", "reject", of("bad"), "--reason", "not wanted")
	return f
}

func (f *questioned) git(args ...string) {
	f.Helper()
	cmd := exec.Command("git", append([]string{"-C", f.dir, "-c", "user.name=me", "-c", "user.email=me@x"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

func (f *questioned) database() string { return filepath.Join(f.dir, "state/stint.db") }

func (f *questioned) query(statement string) []string {
	f.Helper()
	rows, err := queryRows(f.Context(), f.database(), "ro", statement)
	if err != nil {
		f.Fatalf("%v: %s", err, statement)
	}
	return rows
}

// until waits until the record says so.
func (f *questioned) until(statement, want string) {
	f.Helper()
	eventually(f, func() bool { return f.query(statement)[0] == want }, func() string { return want + ": " + statement })
}

// TestMonday asks the same fleet what its owner asks on a Monday. One command answers each question
// on a terminal of 80 columns: each row that the record has stands in a line.
func TestMonday(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	f := newQuestioned(t)
	const lately = "from runs where created_at >= unixepoch('subsec') * 1000 - 2 * 86400000"
	for _, q := range []struct{ asked, command, sql string }{
		{"what ran at the weekend?", "runs --since 2d -n 5", "select id, category, task " + lately + " order by id desc limit 5"},
		{
			"what did it cost?", "report --by day --since 2d",
			`select date(created_at / 1000, 'unixepoch') as d, count(*), printf('$%.2f', total(usd))
			 from runs where created_at / 86400000 >= unixepoch() / 86400 - 2 group by d`,
		},
		{"what landed?", "review --landed", "select run, 'good', substr(landed_as, 1, 12), decided_by from reviews where decision = 'landed'"},
		{"what is stuck, and why?", "status", "select category, 'paused', reason from pauses"},
		{"who blocks?", "claim list", "select key, holder from claims where released_at is null"},
		{"what should I do next?", "status", "select 'next', 'stint init --systemd frees 5 categories'"},
		{"is the ranking sane?", "select --explain --seed 7", "select category, 'is out: paused', reason from pauses"},
		{"why does c0 never run?", "why c0", "select 'It has had ' || count(*) || ' sessions' from runs where category = 'c0' and epoch > 0"},
		{
			"what did the agent do in that run?", "show :run",
			`select 'run', id, category, task from runs where id = ':run' union all
			 select 'grade', printf('%.3f', grade), '', '' from runs where id = ':run' union all
			 select 'used', tokens || ' tokens', printf('$%.2f', usd), '' from runs where id = ':run'`,
		},
		{"which lesson helped?", "lessons", "select lesson, sum(with_graded), sum(without_graded) from lessons group by lesson"},
		{
			"which agent is better?", "report --since 0",
			"select agent, count(grade), printf('%.2f', avg(grade)) from runs where agent in ('claude', 'codex', 'gptme') group by agent",
		},
		{
			"what failed, and why?", "runs --outcome failed --since 2d -n 5",
			"select * from (select id, 'failed' " + lately + " and outcome = 'failed' order by id desc limit 5) " +
				"union all select * from (select 'reason:', reason " + lately + " and outcome = 'failed' order by id desc limit 5)",
		},
		{"did the timer miss anything?", "fires -n 5", "select id, pool from fires order by id desc limit 5"},
		{"what changed in the ranking since Friday?", "report --since 2d", "select 'CATEGORY', 'MEAN', 'BELIEVED', 'WAS'"},
		{
			"who rejected, landed or paused?", "report --since 2d",
			"select run, decision, decided_by, iif(decision = 'landed', substr(landed_as, 1, 12), reason) from reviews where decision <> ''",
		},
		{"and paused?", "status", "select category, 'paused', reason from pauses"},
		{
			"what is left of the budget?", "budget",
			"select scope, runs, printf('$%.2f', usd), 'of $5000.00' from spent where scope = 'fleet' and day = date('now')",
		},
		{
			"what will the next fire do, and when?", "fanout --dry-run",
			"select 'skipped ' || category, 'paused: ' || reason from pauses union all select 'timer:', 'no timer is active'",
		},
		{
			"is anything burning money for nothing?", "report --since 2d",
			`select 'task ' || task, 'keeps failing', sum(outcome in ('failed', 'timeout', 'abandoned')) || ' of ' || count(*) ` + lately + `
			 and task = 'task-000007' and key <> '' and outcome in ('failed', 'timeout', 'abandoned', 'productive', 'noop', 'nothing') group by task`,
		},
		{"what did the sessions ask me?", "task list --state waiting", "select 'asks', 'waiting', 'which licence is wanted'"},
		{"are record and machine sound?", "doctor", "select 'runs', count(*) || ' session' from runs where ended_at is null"},
	} {
		fill := strings.NewReplacer(":run", f.graded)
		text, _ := f.stint(strings.Fields(fill.Replace(q.command))...)
		for line := range strings.Lines(text) {
			command := regexp.MustCompile(`^ +(fix: |stint |systemctl |name it by)`).MatchString(line) // whole, for it is to be copied
			if width := ansi.StringWidth(strings.TrimSuffix(line, "\n")); width > 80 && !command {
				t.Errorf("%s stint %s: a line of %d columns: %s", q.asked, q.command, width, line)
			}
		}
		rows := f.query(fill.Replace(q.sql))
		if len(rows) == 0 {
			t.Errorf("%s the record of the test has nothing to say", q.asked)
		}
		for _, row := range rows {
			words := strings.Fields(row)
			for i, word := range words {
				words[i] = regexp.QuoteMeta(word)
			}
			if !regexp.MustCompile(strings.Join(words, ".*")).MatchString(text) {
				t.Errorf("%s stint %s does not say %q:\n%s", q.asked, q.command, row, text)
			}
		}
	}
}

func (f *questioned) stint(args ...string) (text string, status int) {
	f.Helper()
	cmd := exec.Command("stint", args...)
	cmd.Dir = f.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	if errs.Len() > 0 {
		f.Logf("stint %s: %s", strings.Join(args, " "), errs.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (f *questioned) must(args ...string) {
	f.Helper()
	if text, status := f.stint(args...); status != 0 {
		f.Fatalf("stint %s: status %d: %s", strings.Join(args, " "), status, text)
	}
}

// rowsOf returns an answer's rows, written as [queryRows] writes a row.
func rowsOf(t *testing.T, text string, q question) (rows []string) {
	t.Helper()
	if q.fields == nil {
		return nil
	}
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Errorf("%s stint %s: %v: %s", q.asked, q.command, err, text)
		return nil
	}
	for part := range strings.SplitSeq(q.at, ".") {
		if part != "" {
			value, _ = child(value, part)
		}
	}
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	for _, object := range list {
		var words []string
		for _, field := range q.fields {
			name, format, rounded := strings.Cut(field, ":")
			word, _ := child(object, name)
			if rounded {
				if x, err := strconv.ParseFloat(fmt.Sprint(word), 64); err == nil {
					word = fmt.Sprintf(format, x)
				}
			}
			words = append(words, fmt.Sprint(word))
		}
		rows = append(rows, strings.TrimSpace(strings.Join(words, " ")))
	}
	return rows
}
