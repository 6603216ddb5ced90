package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/sqlite"
	"stint/internal/testkit/must"
	"stint/internal/testkit/storekit"
)

// crashFleet is a fleet of one category and two tasks, whose sessions are killed.
type crashFleet struct {
	*testing.T
	dir     string
	later   time.Duration // how far the clock is ahead
	rival   bool
	rivals  int      // epochs of "fix" that were a rival's
	gate    *os.File // at which the agent is held
	planned fleet.RunID
}

const crashConfig = `fleet = "crash"
state = %q
[agent.fake]
trust = true
command = [%q, 'result={"grade": 0.5, "task_state": "done"}', %s]
[category.code]
ttl = %q
cooldown = "0s"
`

// crashLessons all match all sessions.
var crashLessons = []string{"measure", "cut"}

func newCrashFleet(t *testing.T) *crashFleet {
	t.Helper()
	f := &crashFleet{T: t, dir: t.TempDir(), planned: fleet.NewRunID(time.UnixMilli(1), rand.Uint32())}
	storekit.Keep(t, filepath.Join(f.dir, "state"))
	f.configure("60m", "print=worked")
	for task, text := range crashTasksIn("todo") {
		f.write(filepath.Join("tasks", task), text)
	}
	for _, l := range crashLessons {
		f.write(filepath.Join("lessons", l+".md"), "---\n---\n# "+l+"\n")
	}
	return f
}

// crashTasksIn are the task files by name, all in one state.
func crashTasksIn(state string) map[string]string {
	return map[string]string{
		"fix.md":  "---\nstate: " + state + "\npriority: urgent\n---\n# Fix it\n\nAll of it.\n",
		"next.md": "---\nstate: " + state + "\n---\n# Then this\n",
	}
}

func (f *crashFleet) configure(ttl, step string) {
	f.Helper()
	agent := must.Get(exec.LookPath("fakeagent"))(f)
	f.write("stint.toml", fmt.Sprintf(crashConfig, filepath.Join(f.dir, "state"), agent, fmt.Sprintf("%q", step), ttl))
}

func (f *crashFleet) write(name, text string) {
	f.Helper()
	write(f, filepath.Join(f.dir, name), text, 0o600)
}

// extend adds to the fleet's configuration.
func (f *crashFleet) extend(text string) {
	f.Helper()
	extend(f, filepath.Join(f.dir, "stint.toml"), text)
}

func (f *crashFleet) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	f.Helper()
	var stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	f.Cleanup(cancel)
	args = slices.Clone(args)
	if at := slices.Index(args, crashPlanned); at >= 0 {
		args[at] = string(f.planned)
	}
	cmd := exec.CommandContext(ctx, "crashstint", append([]string{"--config", filepath.Join(f.dir, "stint.toml")}, args...)...)
	cmd.Dir, cmd.Stderr = f.dir, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir, "USER=tester", crashLater + "=" + f.later.String()}
	if f.rival {
		cmd.Env = append(cmd.Env, crashRival+"=rival")
		f.rivals = 1
	}
	return cmd, &stderr
}

// status runs a command to its end.
func (f *crashFleet) status(args ...string) (status int, stdout, stderr string) {
	f.Helper()
	cmd, trouble := f.command(args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out), trouble.String()
}

// exits runs a command that must end with a status, and returns its output.
func (f *crashFleet) exits(want int, args ...string) string {
	f.Helper()
	got, out, stderr := f.status(args...)
	if got != want {
		f.Fatalf("stint %s: status %d, want %d\n%s%s", strings.Join(args, " "), got, want, out, stderr)
	}
	return out
}

// work runs sessions until nothing is left to do.
func (f *crashFleet) work() {
	f.Helper()
	for range 3 {
		switch status, out, stderr := f.status("run", "--category", "code"); status {
		case 0:
		case 3:
			return
		default:
			f.Fatalf("stint run: status %d\n%s%s", status, out, stderr)
		}
	}
	f.Fatal("work is left after three sessions for two tasks")
}

// fire starts sessions until nothing is left to do.
func (f *crashFleet) fire() {
	f.Helper()
	for range 3 {
		switch status, out, stderr := f.status("fanout", "--exec"); status {
		case 0:
			f.workersEnd()
		case 3:
			return
		default:
			f.Fatalf("stint fanout: status %d\n%s%s", status, out, stderr)
		}
	}
	f.Fatal("work is left after three fires for two tasks")
}

// workersEnd waits for the workers that a fire has started.
func (f *crashFleet) workersEnd() {
	f.Helper()
	f.until("the workers ended", func() bool { return len(f.problems(crashClosed(0))) == 0 })
	// The lane is given back after the end is on record.
	f.until("the lane is free", func() bool { return len(f.problems(crashReaped(0))) == 0 })
}

// giveBack fires until nothing is left to do, and no session that left nothing has a place in
// review any more.
func (f *crashFleet) giveBack() {
	f.Helper()
	f.fire()
	if places := f.rows("select run from reviews where taken = 1 or given_at is not null"); len(places) > 0 {
		f.Errorf("places of sessions that left nothing: %q", places)
	}
}

// crashPlanned stands in the table for the run that planGood plans. Each fleet has one of
// its own: a sweep ends whatever carries a run's id, also in the test beside it.
const crashPlanned = "PLANNED"

// planGood plans a run with a unit, which one more would follow.
func (f *crashFleet) planGood() {
	f.Helper()
	f.configure("60m", `result={"grade": 0.8, "task_state": "done"}`)
	f.dies("after Store.RecordFire", "fanout", "--exec")
	run := string(f.planned)
	f.exec("update runs set id = '" + run + "', unit = 'stint-crash-code-" + run + ".service'")
	f.exec("update fires set choices = json_set(choices, '$[0].run', '" + run + "')")
}

// inClones gives every session a clone of its own.
func (f *crashFleet) inClones() {
	f.Helper()
	f.extend("workspace = \"clone\"\n")
	f.git("init", "-q")
	f.git("config", "user.name", "t")
	f.git("config", "user.email", "t@example.org")
	f.git("commit", "-q", "--allow-empty", "-m", "begin")
}

// reverted has a session in a clone, whose work is merged and reverted.
func (f *crashFleet) reverted() {
	f.Helper()
	f.inClones()
	f.exits(0, "run", "--category", "code")
	f.git("checkout", "-q", "-b", "made")
	f.write("made", "x\n")
	f.git("add", "made")
	f.git("commit", "-q", "-m", "work")
	f.exec("update runs set branch = 'made', commits = '[\"" + f.git("rev-parse", "HEAD") + "\"]'")
	f.git("checkout", "-q", "-")
	f.git("merge", "-q", "--no-ff", "--no-edit", "made")
	f.git("revert", "--no-edit", "--mainline", "1", "HEAD")
}

// graded fires until nothing is left to do; what became of the work is on record once.
func (f *crashFleet) graded() {
	f.Helper()
	f.fire()
	if got := f.rows("select f.value ->> 'kind', f.value ->> 'grade' < grade from runs, json_each(fates) f"); len(got) != 1 || got[0] != "reverted 1" {
		f.Errorf("fates: %q, want one of the revert, which lowered the grade", got)
	}
}

// blockWorkers makes every start of a worker fail.
func (f *crashFleet) blockWorkers() { f.write("state/workers.log/in the way", "") }

func (f *crashFleet) admitWorkers() {
	f.Helper()
	must.Do(f, os.RemoveAll(filepath.Join(f.dir, "state", "workers.log")))
}

// holdAgent makes the agent stay until freeOrphan, and its claim be renewed meanwhile.
func (f *crashFleet) holdAgent() {
	f.Helper()
	path := filepath.Join(f.dir, "hold")
	must.Do(f, syscall.Mkfifo(path, 0o600))
	var err error
	if f.gate, err = os.OpenFile(path, os.O_RDWR, 0); err != nil { // both ends: nobody waits to open it
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = f.gate.Close() })
	f.configure("1500ms", "hold="+path)
}

// freeOrphan checks that nobody works beside an agent that outlived its supervisor,
// then lets it end. An agent that was ended is gone already.
func (f *crashFleet) freeOrphan() {
	f.Helper()
	if f.exits(0, "reap"); f.orphaned() {
		f.exits(75, "run", "--category", "code")
	}
	must.Do(f, f.gate.Close())
	f.configure("60m", "print=worked")
	f.until("the agent is gone", func() bool {
		f.exits(0, "reap")
		return !f.orphaned()
	})
}

// orphaned reports whether a run has begun and not ended.
func (f *crashFleet) orphaned() bool {
	f.Helper()
	return len(f.rows("select id from runs where started_at is not null and ended_at is null")) > 0
}

func (f *crashFleet) until(what string, ok func() bool) {
	f.Helper()
	eventually(f, ok, func() string { return what })
}

// wantsDone checks that sessions have left every task done, that its file is as it was, and nothing beside it.
func (f *crashFleet) wantsDone() {
	f.Helper()
	must.Equal(f, "states", f.rows("select task || ' ' || state from tasks order by 1"), []string{"fix done", "next done"})
	must.Equal(f, "task files", f.taskFiles(), crashTasksIn("todo"))
}

func (f *crashFleet) taskFiles() map[string]string {
	f.Helper()
	files := map[string]string{}
	entries := must.Get(os.ReadDir(filepath.Join(f.dir, "tasks")))(f)
	for _, e := range entries {
		text := must.Get(os.ReadFile(filepath.Join(f.dir, "tasks", e.Name())))(f)
		files[e.Name()] = string(text)
	}
	return files
}

// crashCheck is a query that finds nothing in a store that is well.
type crashCheck struct{ what, query string }

// crashAlways holds at any time, whichever process died where. A rival had so many epochs of
// the first task.
func crashAlways(rivals int) []crashCheck {
	return []crashCheck{
		{"evidence that is not what its runs add up to", `
select category, count(*), sum(grade) from runs where grade is not null and held = 0 group by category
except select event ->> '$.category', count(*), sum(event ->> '$.grade') from events where event ->> '$.kind' = 'ended' group by 1`},
		{"evidence without its runs", `
select event ->> '$.category', count(*), sum(event ->> '$.grade') from events where event ->> '$.kind' = 'ended' group by 1
except select category, count(*), sum(grade) from runs where grade is not null and held = 0 group by category`},
		{"a session that was not debited once", `
select id, category from runs where epoch > 0 except select event ->> '$.run', event ->> '$.category' from events where event ->> '$.kind' = 'began'`},
		{"a debit without its session, or a second one", `
select event ->> '$.run' from events where event ->> '$.kind' = 'began' group by 1
having count(*) > 1 or count(*) <> (select count(*) from runs where epoch > 0 and id = event ->> '$.run')`},
		{"an epoch that was not debited once", fmt.Sprintf(`
select n, lanes, debits from (select sum(epoch) - iif(sum(key = 'fix'), %d, 0) as n from claims where key not like 'category:%%'),
  (select count(*) as lanes from runs where epoch > 0 and key like 'category:%%'), (select count(*) as debits from events where event ->> '$.kind' = 'began')
where coalesce(n, 0) + lanes <> debits`, rivals)},
		{"a gap in the events", `select max(seq), count(*) from events having max(seq) <> count(*)`},
		{"a round that no fire made, or a fire that made none", `
select count(*) from events where event ->> '$.kind' = 'fired' having count(*) not between
  (select count(distinct fires.id) from fires, json_each(choices) c where c.value ->> 'decision' <> 'skip')
  and (select count(distinct fires.id) from fires, json_each(choices) c where c.value ->> 'decision' <> 'skip' or c.value ->> 'reason' like 'backs off%')`},
		{"an entitlement that no fire gave", `
select d.key, sum(d.value) from events, json_each(event, '$.due') d group by d.key
having sum(d.value) <> (select count(*) from fires, json_each(choices) c where c.value ->> 'category' = d.key and c.value ->> 'decision' in ('spawn', 'failed'))`},
		{"a session without its lessons", fmt.Sprintf(`
select id from runs where epoch > 0 and (select count(*) from (select runs.id as run, u.value ->> 'lesson' as lesson, u.value ->> 'injected' as injected from runs, json_each(lessons) u) where run = id) <> %d`, len(crashLessons))},
		{"lessons without their session", `select run from (select runs.id as run, u.value ->> 'lesson' as lesson, u.value ->> 'injected' as injected from runs, json_each(lessons) u) join runs on id = run where epoch = 0`},
		{"a lesson that is not what its sessions add up to", `
select lesson, category, sum(injected), sum(not injected) from (select runs.id as run, u.value ->> 'lesson' as lesson, u.value ->> 'injected' as injected from runs, json_each(lessons) u) join runs on id = run where grade is not null and held = 0 group by lesson, category
except select lesson, category, with_graded, without_graded from lessons`},
		{"a lesson without its sessions", `
select lesson, category, with_graded, without_graded from lessons where with_graded + without_graded > 0
except select lesson, category, sum(injected), sum(not injected) from (select runs.id as run, u.value ->> 'lesson' as lesson, u.value ->> 'injected' as injected from runs, json_each(lessons) u) join runs on id = run where grade is not null and held = 0 group by lesson, category`},
		{"a grade of a run that is open", `select id from runs where grade is not null and ended_at is null`},
		{"an epoch of two runs", `select key, epoch from runs where epoch > 0 group by key, epoch having count(*) > 1`},
		{"a gap in the epochs", fmt.Sprintf(`
select key, epoch from claims c
where key not like 'category:%%' and epoch <> (select count(*) from runs r where r.key = c.key and r.epoch between 1 and c.epoch) + iif(key = 'fix', %d, 0)`, rivals)},
		{"a lane's claim without its hold, or a hold without the claim", `
select key, epoch from claims c
where key like 'category:%' and epoch <> (select count(*) from runs h where h.lane_at is not null and c.key = 'category:' || h.category || ':' || h.lane)`},
		{"a session that follows none, or one that another follows", `
select id from runs where source = 'respawn'
and (select count(*) from runs before where before.followed_by = runs.id) <> 1`},
		{"a chain that is too long", `select id from runs where chain_depth > 1`},
		{"an epoch that was never granted", `select r.id from runs r left join claims c using (key) where r.epoch > coalesce(c.epoch, 0)`},
	}
}

// crashReaped holds once a reaping has closed the crashed runs.
func crashReaped(int) []crashCheck {
	return []crashCheck{
		{"a run that has begun and has no end", `select id from runs where started_at is not null and ended_at is null`},
		{"a claim of a crashed run", `select key, holder from claims where released_at is null and holder like 'run:%'`},
		{"a lane of a crashed run", `select id from runs where lane_at is not null and lane_left is null`},
	}
}

// crashClosed holds once no session is planned any more, either.
func crashClosed(int) []crashCheck {
	return []crashCheck{{"a run without an end", `select id from runs where ended_at is null`}}
}

// wants checks the whole store, and that every task file is whole.
func (f *crashFleet) wants(when string, checks ...func(rivals int) []crashCheck) {
	f.Helper()
	for _, c := range checks {
		for _, p := range f.problems(c(f.rivals)) {
			f.Errorf("%s: %s", when, p)
		}
	}
	todo, done := crashTasksIn("todo"), crashTasksIn("done")
	for name, text := range f.taskFiles() {
		if text != todo[name] && text != done[name] {
			f.Errorf("%s: task file %s: %q", when, name, text)
		}
	}
}

func (f *crashFleet) problems(checks []crashCheck) (found []string) {
	f.Helper()
	for _, c := range checks {
		for _, row := range f.rows(c.query) {
			found = append(found, c.what+": "+row)
		}
	}
	return found
}

func (f *crashFleet) database() string { return filepath.Join(f.dir, "state", sqlite.File) }

func (f *crashFleet) exec(statement string) {
	f.Helper()
	must.Do(f, execute(f.Context(), f.database(), statement))
}

// rows returns the rows of a query, a line each.
func (f *crashFleet) rows(query string) []string {
	f.Helper()
	lines := must.Get(queryRows(f.Context(), f.database(), "rw", query))(f)
	return lines
}
