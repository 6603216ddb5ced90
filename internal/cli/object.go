package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"stint/internal/agent/grade"
	"stint/internal/config"
	"stint/internal/doctor"
	"stint/internal/engine"
	"stint/internal/fleet"
	"stint/internal/machine"
	"stint/internal/notice"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/review"
	"stint/internal/store"
	"stint/internal/store/postgres"
	"stint/internal/view"
	"stint/internal/web"
)

// object is described with "--json --help".
type object interface{ Rows() []view.Row }

// objects lists the objects that a command prints with --json, and then those that its programs read and print.
func (a *app) objects(command string) []object {
	claim, host, hostChange := view.Claim(), hostObject("", false, false, false), a.hostChangeObject("", "", nil)
	pause, store, reviewed := view.Pause(false, false, false, 0), storeObject("", false, postgres.Migrated{}, nil), view.Reviewed("", "", "", "")
	task, none, never := view.Task(), review.Target{}, time.Time{}
	return map[string][]object{
		"": {errorObject(0), versionObject()}, "audit": {view.Audit()}, "budget": {view.Budget()}, "budget reset": {view.Reset(false)},
		"claim": {claim}, "claim take": {claim}, "claim check": {claim}, "claim renew": {claim}, "claim release": {claim},
		"claim verify": {claim}, "claim list": {view.Claims()}, "config check": {checkObject(nil)}, "config show": {configObject()},
		"config trust": {trustObject(nil)},
		"doctor":       {doctorObject("", nil, false)}, "fanout": {view.Fire(), view.Tagged{Of: notice.Object{}}}, "fires": {view.Fires()},
		"host": {host}, "host adopt": {host}, "host gone": {hostChange}, "host forget": {hostChange}, "host list": {view.Hosts(never)},
		"init": {initObject(false, nil, nil, nil)}, "lessons": {view.Lessons()}, "logs": {lineObject("")}, "metrics": {metricsObject("")},
		"pause": {pause}, "resume": {pause}, "reap": {reapObject(false)}, "replay": {view.Replay()}, "result": {resultObject("")},
		"report": {view.Report(""), view.Spending("", nil)},
		"review": {view.Review(none, nil, nil, never), view.LandedList()}, "review away": {view.Away(false, false)},
		"review diff": {view.ReviewDiff(none, "", false)}, "review land": {view.Landings(none)},
		"review show":   {view.ReviewDetail(none, nil, nil, never)},
		"review reject": {reviewed}, "review checkout": {reviewed}, "review publish": {reviewed},
		"run":  {view.Run(), previewObject(), view.Tagged{Of: grade.EvidenceObject{}}, view.Tagged{Of: grade.OpinionObject{}}},
		"runs": {view.Runs()}, "select": {view.Tagged{Of: rank.Payload{}}},
		"serve": {serveObject("", ""), view.Ranking(nil, nil), web.FailureObject()},
		"show":  {view.RunDetail()}, "status": {view.Status("")}, "stop": {a.stopObject()},
		"store accept": {store}, "store copy": {store}, "store migrate": {store}, "task add": {task}, "task done": {task}, "task show": {task},
		"task list": {view.Tasks()}, "task retry": {retryObject(false, false)}, "uninstall": {uninstallObject(false, nil, nil)},
		"why": {view.Why(nil)},
	}[command]
}

// printObjects describes what a command prints with --json.
func (a *app) printObjects(c *cobra.Command) {
	w := c.OutOrStdout()
	if !c.HasParent() {
		fmt.Fprint(w, aboutObjects)
	}
	for i, o := range a.objects(wordsOf(c)) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		rows, names, kinds := o.Rows(), 0, 0
		for _, r := range rows {
			names, kinds = max(names, utf8.RuneCountInString(r.Name)), max(kinds, min(len(r.Kind), widestKind))
		}
		for _, r := range rows {
			line := fmt.Sprintf("%-*s  %-*s ", names, r.Name, kinds, r.Kind)
			for word := range strings.FieldsSeq(r.About) {
				if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
					fmt.Fprintln(w, line)
					line = strings.Repeat(" ", names+2+kinds+1)
				}
				line += " " + word
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
}

const aboutObjects = `With --json a command prints one object. Its schema names it and its version.
Within a version no field is removed or given another meaning. A time is RFC
3339 in UTC, and a list is never null. "stint COMMAND --json --help" describes
the object of a command. An error is an object on standard error:

`

// wordsOf are the words of a command after the program's name.
func wordsOf(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	return words
}

// widestKind bounds the width of the column of the fields' kinds.
const widestKind = 20

// A view is declared in package view where a page or the live screen shows the thing, too, and here where only a command does.

// errorObject says why a command failed.
func errorObject(status int) view.View[error] {
	return view.View[error]{
		view.Schema[error]("stint/error@1"), view.Is[error]("status", "the exit status", status),
		view.Text("error", "", "", error.Error), view.Text("hint", "", "what a person may do next", fleet.Hint),
	}
}

func versionObject() view.View[string] {
	return view.View[string]{view.Schema[string]("stint/version@1"), view.Word("version", "", "", itself[string])}
}

// metricsObject is a page of metrics, and the file that it was written to.
func metricsObject(file string) view.View[string] {
	return view.View[string]{
		view.Schema[string]("stint/metrics@1"), view.Is[string]("textfile", "written; empty: none was", file),
		view.Text("text", "", "in the text format of Prometheus", itself[string]),
	}
}

// serveObject has the address of a fleet's pages.
func serveObject(url, tokenFile string) view.View[fleet.Name] {
	return view.View[fleet.Name]{
		view.Schema[fleet.Name]("stint/serve@1"), view.Word("fleet", "", "", itself[fleet.Name]), view.Is[fleet.Name]("url", "", url),
		view.Is[fleet.Name]("token_file", "holds the token that requests must bring", tokenFile),
	}
}

// lineObject is a line of a run's log.
func lineObject(run fleet.RunID) view.View[string] {
	return view.View[string]{
		view.Schema[string]("stint/log-line@1"), view.Is[string]("run", "", string(run)), view.Text("line", "", "", itself[string]),
	}
}

// hostObject is the host that a state folder is of.
func hostObject(boot string, foreign, changed, dryRun bool) view.View[machine.Identity] {
	type host = machine.Identity
	return view.View[host]{
		view.Schema[host]("stint/host@1"), view.Is[host]("dry_run", "", dryRun), view.Is[host]("changed", "it was adopted", changed),
		view.Word("id", "", "random", func(h host) string { return h.ID }),
		view.Word("name", "", "of the host when it got the identity", func(h host) string { return h.Name }),
		view.Word("machine", "", "machine-id(5) then; empty: it had none", func(h host) string { return h.Machine }),
		view.Is[host]("boot", "this start of the host; empty: nobody knows", boot),
		view.Is[host]("foreign", "that is another host than this", foreign),
	}
}

// hostChangeObject is a host that a person said is gone, or that was forgotten, and its runs that were open.
func (a *app) hostChangeObject(change, reason string, ended []fleet.RunID) view.View[fleet.Host] {
	type host = fleet.Host
	return view.View[host]{
		view.Schema[host]("stint/host-change@1"), view.Is[host]("dry_run", "", a.dryRun),
		view.Word("id", "", "", func(h host) string { return h.ID }),
		view.Word("name", "", "", func(h host) string { return h.Name }),
		view.Is[host]("change", "gone or forgotten", change), view.Is[host]("reason", "", reason),
		view.Texts("ended", "", "its runs that were open", func(host) []fleet.RunID { return ended }),
	}
}

// retryObject is a task that was put back into the queue.
func retryObject(changed, dryRun bool) view.View[fleet.TaskID] {
	type id = fleet.TaskID
	return view.View[id]{
		view.Schema[id]("stint/retry@1"), view.Is[id]("dry_run", "", dryRun),
		view.Word("task", "", "", itself[id]), view.Is[id]("changed", "", changed),
	}
}

// resultObject has a session's own grade, from a file.
func resultObject(path string) view.View[grade.Result] {
	type result = grade.Result
	return view.View[result]{
		view.Schema[result]("stint/result@1"),
		view.Enum("outcome", "", "", fleet.Outcomes(), func(r result) fleet.Outcome { return r.Outcome }),
		view.Grade("grade", "", "", func(r result) *float64 { return r.Grade }),
		view.Text("reason", "", "", func(r result) string { return r.Reason }),
		view.Word("task_state", "", "", func(r result) string { return r.TaskState }),
		view.Is[result]("path", "of the file", path),
	}
}

// stopObject lists the sessions that stop ended.
func (a *app) stopObject() view.View[[]engine.Stopped] {
	type stopped = engine.Stopped
	return view.View[[]stopped]{
		view.Schema[[]stopped]("stint/stop@1"), view.Is[[]stopped]("dry_run", "", a.dryRun),
		view.Each("stopped", "", view.View[stopped]{
			view.Word("run", "", "", func(s stopped) fleet.RunID { return s.Was.ID }),
			view.Word("category", "", "", func(s stopped) fleet.Category { return s.Was.Category }),
			view.Word("task", "", "", func(s stopped) fleet.TaskID { return s.Was.Task }),
			view.Word("was", "", "planned, waiting, running, suspended, crashed or ended",
				func(s stopped) fleet.RunState { return s.Was.State(true, false, a.Now()) }),
			view.Enum("outcome", "", "empty: it has not ended", fleet.Outcomes(), func(s stopped) fleet.Outcome { return s.Run.Verdict.Outcome }),
			view.Text("reason", "", "", func(s stopped) string { return s.Run.Verdict.Reason }),
			view.Bool("asked", "it is on another host, and ends at its next heartbeat", func(s stopped) bool { return !a.dryRun && s.Asked() }),
			view.Text("error", "", "why it has not ended", func(s stopped) string { return message(s.Err) }),
		}, itself[[]stopped]),
	}
}

// reapObject lists the runs that reap closed.
func reapObject(dryRun bool) view.View[[]engine.Reaped] {
	type reaped = engine.Reaped
	return view.View[[]reaped]{
		view.Schema[[]reaped]("stint/reap@1"), view.Is[[]reaped]("dry_run", "", dryRun),
		view.Each("reaped", "", view.View[reaped]{
			view.Word("run", "", "", func(r reaped) fleet.RunID { return r.Run.ID }),
			view.Word("category", "", "", func(r reaped) fleet.Category { return r.Run.Category }),
			view.Word("task", "", "", func(r reaped) fleet.TaskID { return r.Run.Task }),
			view.Text("reason", "", "", func(r reaped) string { return r.Reason }),
		}, itself[[]reaped]),
	}
}

// previewObject is a session that would begin.
func previewObject() view.View[engine.Preview] {
	type preview = engine.Preview
	return view.View[preview]{
		view.Schema[preview]("stint/preview@1"),
		view.Word("category", "", "", func(p preview) fleet.Category { return p.Run.Category }),
		view.Word("task", "", "", func(p preview) fleet.TaskID { return p.Run.Task }),
		view.Word("key", "", "", func(p preview) fleet.Key { return p.Run.Key }),
		view.Word("agent", "", "", func(p preview) string { return p.Run.Agent }),
		view.Text("conversation", "", "", func(p preview) string { return p.Run.Conversation.ID }),
		view.Text("resumes_reason", "", "", func(p preview) string { return p.Run.Conversation.Why }),
		view.Texts("argv", "", "", func(p preview) []string { return p.Spec.Argv }),
		view.Texts("environment", "", "", func(p preview) []string { return p.Spec.Environment }),
		view.Text("dir", "", "", func(p preview) string { return p.Spec.Dir }),
		view.Text("prompt", "", "", func(p preview) string { return p.Spec.Prompt }),
	}
}

// doctorObject lists the findings in a fleet, and the repairs before them.
func doctorObject(name fleet.Name, done []doctor.Repaired, dryRun bool) view.View[[]doctor.Finding] {
	type findings = []doctor.Finding
	count := func(key string, s doctor.State) view.Field[findings] {
		return view.Int(key, "", "", func(list findings) int { return doctor.Count(list, s) })
	}
	return view.View[findings]{
		view.Schema[findings]("stint/doctor@1"), view.Is[findings]("fleet", "empty: there is no configuration that can be used", string(name)),
		view.Is[findings]("dry_run", "", dryRun),
		count("ok", doctor.OK), count("warnings", doctor.Warning), count("problems", doctor.Problem), count("unknown", doctor.Unknown),
		view.Each("findings", "", view.View[doctor.Finding]{
			view.Word("check", "", "", func(f doctor.Finding) string { return f.Check }),
			view.Word("state", "", "ok, warning, problem or unknown", func(f doctor.Finding) doctor.State { return f.State }),
			view.Text("what", "", "", func(f doctor.Finding) string { return f.What }),
			view.Text("why", "", "", func(f doctor.Finding) string { return f.Why }),
			view.Text("fix", "", "", func(f doctor.Finding) string { return f.Fix }),
		}, itself[findings]),
		view.Each("fixed", "by --fix, before the findings", view.View[doctor.Repaired]{
			view.Word("fix", "", "linger, state_folder, runs or timer", func(r doctor.Repaired) doctor.Repair { return r.Repair }),
			view.Texts("done", "", "", func(r doctor.Repaired) []string { return r.Done }),
			view.Text("error", "", "null: it worked", func(r doctor.Repaired) string { return message(r.Err) }).OrNull(),
		}, func(findings) []doctor.Repaired { return done }),
	}
}

// change has the action on one file, folder or unit, done or planned.
type change struct{ path, action string }

func changesField[T any](list []change) view.Field[T] {
	return view.Each("changes", "", view.View[change]{
		view.Text("path", "", "of the file, folder or unit", func(c change) string { return c.path }),
		view.Word("action", "", "created, updated, kept, enabled, moved here, stopped or removed", func(c change) string { return c.action }),
	}, func(T) []change { return list })
}

// initObject lists the changes by init. Notes are choices that somebody may want to change.
func initObject(dryRun bool, changes []change, missing, notes []string) view.View[fleet.Name] {
	type name = fleet.Name
	return view.View[name]{
		view.Schema[name]("stint/init@1"), view.Word("fleet", "", "", itself[name]), view.Is[name]("dry_run", "", dryRun),
		changesField[name](changes),
		view.Texts("missing", "", "", func(name) []string { return missing }),
		view.Texts("notes", "", "choices that somebody may want to change", func(name) []string { return notes }),
	}
}

// uninstallObject lists the changes by uninstall, and the sessions that go on.
func uninstallObject(dryRun bool, changes []change, running []fleet.Run) view.View[fleet.Name] {
	type name = fleet.Name
	return view.View[name]{
		view.Schema[name]("stint/uninstall@1"), view.Word("fleet", "", "", itself[name]), view.Is[name]("dry_run", "", dryRun),
		changesField[name](changes),
		view.Texts("running", "", "the runs of sessions at work on this host, which go on", func(name) []fleet.RunID {
			return plain.Each(running, func(r fleet.Run) fleet.RunID { return r.ID })
		}),
	}
}

// storeObject has the result for a store's schema, or for its rows, of which it was copied.
func storeObject(to string, dryRun bool, m postgres.Migrated, tables []store.Copied) view.View[string] {
	return view.View[string]{
		view.Schema[string]("stint/store@1"), view.Word("store", "", "", itself[string]),
		view.Is[string]("to", "the store that it was copied to; empty: it was not", to), view.Is[string]("dry_run", "", dryRun),
		view.Each("steps", "that were made", view.View[postgres.Step]{
			view.Word("name", "", "", func(s postgres.Step) string { return s.Name }),
			view.Text("sql", "", "", func(s postgres.Step) string { return s.SQL }),
		}, func(string) []postgres.Step { return m.Steps }),
		view.Texts("roles", "", "SQL by which an administrator makes those that there are not", func(string) []string { return m.Lacks }),
		view.Each("tables", "that were copied", view.View[store.Copied]{
			view.Word("table", "", "", func(c store.Copied) string { return c.Table }),
			view.Int("rows", "", "", func(c store.Copied) int { return c.Rows }),
		}, func(string) []store.Copied { return tables }),
	}
}

// configObject is a configuration.
func configObject() view.View[*config.Config] {
	return view.View[*config.Config]{
		view.Schema[*config.Config]("stint/config@1"), pathField(),
		view.Each("values", "", view.View[config.Value]{
			view.Word("key", "", "", func(v config.Value) string { return v.Key }),
			view.Text("value", "", "", func(v config.Value) string { return v.Value }),
			view.Word("origin", "", "stint.toml:31, or default", func(v config.Value) string { return v.Origin }),
		}, (*config.Config).Values),
	}
}

func pathField() view.Field[*config.Config] {
	return view.Text("path", "", "", func(c *config.Config) string { return c.Path })
}

// checkObject lists the warnings about a configuration.
func checkObject(warnings []config.Problem) view.View[*config.Config] {
	return view.View[*config.Config]{
		view.Schema[*config.Config]("stint/config-check@1"), pathField(),
		view.Each("warnings", "what is allowed, but odd", view.View[config.Problem]{
			view.Word("position", "", "", func(p config.Problem) string { return p.Pos }),
			view.Text("text", "", "", func(p config.Problem) string { return p.Text }),
		}, func(*config.Config) []config.Problem { return warnings }),
	}
}

// trustChange is a file that has changed since it was confirmed.
type trustChange struct{ path, reason, diff string }

// trustObject lists what was confirmed of a configuration and the files that it names.
func trustObject(changes []trustChange) view.View[string] {
	return view.View[string]{
		view.Schema[string]("stint/config-trust@1"), view.Text("path", "", "", itself[string]),
		view.Each("changes", "what was confirmed", view.View[trustChange]{
			view.Text("path", "", "", func(c trustChange) string { return c.path }),
			view.Word("reason", "", "", func(c trustChange) string { return c.reason }),
			view.Text("diff", "", "empty: it holds secrets", func(c trustChange) string { return c.diff }),
		}, func(string) []trustChange { return changes }),
	}
}

func itself[T any](thing T) T { return thing }

// message is the text of an error; empty: there is none.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
