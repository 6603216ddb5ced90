package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// fleetTasks and fleetFires are the numbers of tasks and of fires: each fire starts one session of
// each of fleetCategories, and each session ends one task.
const (
	fleetTasks = 12
	fleetFires = 3
	// fleetWait bounds the sessions of one fire, on a loaded machine.
	fleetWait = 10 * time.Minute
)

// agentOf says who works in a category. Codex has one only: of two that start at the same
// moment, Codex 0.169.0 takes the helper of its sandbox away from one, now and then.
func agentOf() map[string]string {
	return map[string]string{"code": "claude", "research": "codex", "docs": "claude", "triage": "claude"}
}

func fleetCategories() []string { return []string{"code", "docs", "research", "triage"} }

// fleetTask is a task, and what its session does in the end.
type fleetTask struct {
	id, category string
	says         bool // that it is done; else nothing
}

func fleetTaskList() (list []fleetTask) {
	categories := fleetCategories()
	for i := range fleetTasks {
		list = append(list, fleetTask{fmt.Sprintf("t%02d", i+1), categories[i%len(categories)], i/len(categories)%2 == 0})
	}
	return list
}

// mark stands in a task's body, and nowhere else, so that the model knows what it is asked.
func (t fleetTask) mark() string { return "Write the file " + t.id + ".txt." }

var marked = regexp.MustCompile(`Write the file (t\d\d)\.txt\.`)

// fleetWork is the model that works through the tasks of a fleet.
const fleetWork behaviour = "fleet"

// task is the one that the question is about.
func (q question) task() (fleetTask, bool) {
	found := marked.FindSubmatch(q.body)
	if found == nil {
		return fleetTask{}, false
	}
	list := fleetTaskList()
	i := slices.IndexFunc(list, func(t fleetTask) bool { return t.id == string(found[1]) })
	if i < 0 {
		return fleetTask{}, false
	}
	return list[i], true
}

// fleetTries bounds the commands that a model runs.
const fleetTries = 12

// fleetStep is the next command of a model that works on a task of the fleet, or "": it is
// done. Neighbours commit in the same work tree, so that a commit is tried until git's lock is
// free. A command that failed is run again, as models do: of two sandboxes of Claude Code in one
// repository, one takes its empty files away while the other starts. The quotes keep the mark of success out of the command itself.
func (q question) fleetStep(result string) string {
	t, ok := q.task()
	if !ok || strings.Count(string(q.body), result) >= fleetTries {
		return ""
	}
	steps := []string{
		fmt.Sprintf("make test && echo 'work on %[1]s' >%[1]s.txt && n=0; until git add %[1]s.txt && git commit --quiet --message='Add %[1]s' -- %[1]s.txt; do n=$((n+1)); [ $n -lt 50 ] || exit 1; sleep 0.2; done", t.id),
	}
	if t.says && q.resultFile() == "" {
		steps = append(steps, "echo 'the prompt names no result file' >&2; exit 1")
	} else if t.says {
		steps = append(steps, fmt.Sprintf(`printf '%%s\n' '{"outcome":"productive","task_state":"done","reason":"%s is written"}' >%s`, t.id, q.resultFile()))
	}
	for i, step := range steps {
		if !strings.Contains(string(q.body), fmt.Sprintf("ended-step-%d", i)) {
			return fmt.Sprintf("%s && echo ended''-step-%d", step, i)
		}
	}
	return ""
}

// fleetTrial is three fires over a workspace, from what init writes.
type fleetTrial struct {
	place
	faults []string
}

func (f *fleetTrial) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// fleetRun is as much of stint/run@1 as is looked at.
type fleetRun struct {
	Run      string   `json:"run"`
	Fire     int64    `json:"fire"`
	Category string   `json:"category"`
	Agent    string   `json:"agent"`
	Task     string   `json:"task"`
	Unit     string   `json:"unit"`
	Outcome  string   `json:"outcome"`
	Grade    *float64 `json:"grade"`
	Reason   string   `json:"reason"`
	EndedAt  *string  `json:"ended_at"`
	Commits  []string `json:"commits"`
}

// tryFleet plays it, prints the runs, and says what of it is not as it should be.
func tryFleet(ctx context.Context, p place) ([]string, error) {
	f := &fleetTrial{place: p}
	if err := f.prepare(ctx); err != nil {
		return nil, err
	}
	for range fleetFires + 1 { // the last should find nothing left to do
		if _, err := f.command(ctx, "fanout", "--json"); err != nil {
			f.fault("fire: %v", err)
		}
		if err := f.await(ctx); err != nil {
			return f.faults, err
		}
	}
	runs, err := f.runs(ctx)
	if err != nil {
		return f.faults, err
	}
	f.checkRuns(ctx, runs)
	land := []string{"review", "land"}
	for _, r := range runs {
		land = append(land, r.Run)
	}
	if out, err := f.command(ctx, land...); err != nil {
		f.fault("landing: %v\n%s", err, out)
	}
	f.print(runs)
	f.checkTasks(ctx, runs)
	return f.faults, nil
}

// prepare writes the tasks, a grader that keeps what it is asked, and what init's
// configuration has to say beside that.
func (f *fleetTrial) prepare(ctx context.Context) error {
	files := map[string]string{"Makefile": "test:\n\t@echo passed\n"}
	for _, t := range fleetTaskList() {
		files["tasks/"+t.id+".md"] = fmt.Sprintf("---\nstate: todo\ncategory: %s\n---\n# Add %s\n\n%s\n", t.category, t.id, t.mark())
	}
	judge, err := os.ReadFile(filepath.Join(filepath.Dir(f.stint), "judge"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.judged(""), 0o700); err != nil {
		return err
	}
	model := fmt.Sprintf("#!/bin/sh\ncat >%s/$STINT_RUN_ID\necho 'GRADE: 0.6'\necho 'REASON: as the judge has it'\n", f.judged(""))
	for name, text := range map[string]string{"judge": string(judge), "judge-model": model} {
		if err := os.WriteFile(filepath.Join(f.home, name), []byte(text), 0o700); err != nil {
			return err
		}
	}
	err = f.build(ctx, files, f.edit)
	// Units have another home folder than this one, and clones take the identity from the workspace.
	return errors.Join(err, f.git(ctx, "config", "user.name", "tester"), f.git(ctx, "config", "user.email", "tester@example.org"))
}

// judged is the folder of what the grader was asked, or the question about one run.
func (f *fleetTrial) judged(run string) string { return filepath.Join(f.home, "judged", run) }

// edit lets each fire start a session of each category, at once after the one before, and
// none follow by itself.
func (f *fleetTrial) edit(config string) string {
	// Units have the environment of the service manager. Agents get theirs here, so that nothing
	// is left behind in the manager of a person.
	var variables []string
	for _, pair := range f.environment() {
		if name, _, _ := strings.Cut(pair, "="); name != "PATH" && name != "OPERATORS_OWN" { // init writes the one that an agent needs
			variables = append(variables, pair)
		}
	}
	config = environ(config, "codex", variables)
	config = environ(config, "claude", append(variables, quiet()...))
	for _, agent := range []string{"claude", "codex"} { // the judge notes there what it was asked
		config = set(config, "agent."+agent, "write", fmt.Sprintf("[%q]", f.judged("")))
	}
	config += "\n[fanout]\nworkers = 4\n"
	for _, c := range fleetCategories() {
		for key, value := range map[string]string{
			"agents": fmt.Sprintf("[%q]", agentOf()[c]), "cooldown": `"0s"`, "max_chain": "0", "timeout": `"5m"`,
		} {
			config = set(config, "category."+c, key, value)
		}
	}
	return set(config, "category.code", "grader", fmt.Sprintf("[%q, %q]", filepath.Join(f.home, "judge"), filepath.Join(f.home, "judge-model")))
}

func (f *fleetTrial) runs(ctx context.Context) ([]fleetRun, error) {
	out, err := f.command(ctx, "runs", "--json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Runs []fleetRun `json:"runs"`
	}
	err = json.Unmarshal(out, &list)
	slices.Reverse(list.Runs)
	return list.Runs, err
}

// await waits until no session is open.
func (f *fleetTrial) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fleetWait)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		runs, err := f.runs(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(runs, func(r fleetRun) bool { return r.EndedAt == nil }) {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("sessions go on: %w", ctx.Err())
		}
	}
}

func (f *fleetTrial) print(runs []fleetRun) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "fire\tcategory\tagent\ttask\toutcome\tgrade\tcommits\tstate\treason")
	for _, r := range runs {
		grade := "-"
		if r.Grade != nil {
			grade = fmt.Sprintf("%.2f", *r.Grade)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n",
			r.Fire, r.Category, r.Agent, r.Task, r.Outcome, grade, len(r.Commits), f.state(r.Task), r.Reason)
	}
	w.Flush() //nolint:errcheck // to standard output
}

// state returns the state in a task's file.
func (f *fleetTrial) state(task string) string {
	text, err := os.ReadFile(filepath.Join(f.workspace(), "tasks", task+".md"))
	if err != nil {
		return "-"
	}
	_, rest, _ := strings.Cut(string(text), "\nstate: ")
	state, _, _ := strings.Cut(rest, "\n")
	return state
}

// checkRuns looks at every session: it worked, its commits are named, and its grader saw
// what they changed.
func (f *fleetTrial) checkRuns(ctx context.Context, runs []fleetRun) {
	if len(runs) != fleetTasks {
		f.fault("runs: got %d, want %d", len(runs), fleetTasks)
	}
	for _, r := range runs {
		before := len(f.faults)
		f.checkRun(ctx, r)
		if len(f.faults) > before {
			log, _ := os.ReadFile(filepath.Join(f.runFiles(r.Run), "log")) // without it, the rest is shown all the same
			f.fault("run %s printed:\n%s", r.Run, log[:min(len(log), 8<<10)])
		}
	}
}

func (f *fleetTrial) checkRun(ctx context.Context, r fleetRun) {
	name := fmt.Sprintf("run %s of %s, task %s", r.Run, r.Agent, r.Task)
	if r.Outcome != "productive" || r.Unit == "" {
		f.fault("%s: got %s (%s) in unit %q", name, r.Outcome, r.Reason, r.Unit)
	}
	if want := agentOf()[r.Category]; r.Agent != want {
		f.fault("%s: want %s at work", name, want)
	}
	made, err := f.ask(ctx, "log", "--all", "--format=%H", "--grep=^Add "+r.Task+"$")
	if err != nil || made == "" || !slices.Equal(r.Commits, []string{made}) {
		f.fault("%s: commits: got %v, want %q, %v", name, r.Commits, made, err)
	}
	if r.Category != "code" {
		return
	}
	asked, err := os.ReadFile(f.judged(r.Run))
	if err != nil || !strings.Contains(string(asked), "+work on "+r.Task) {
		f.fault("%s: the judge was asked without the diff, %v", name, err)
	}
	if r.Grade == nil || *r.Grade < 0.59 || *r.Grade > 0.61 {
		f.fault("%s: grade: got %v, want the judge's 0.6", name, r.Grade)
	}
}

// checkTasks looks at every task: one session had it, and its file says what became of it.
func (f *fleetTrial) checkTasks(ctx context.Context, runs []fleetRun) {
	sessions := map[string]int{}
	for _, r := range runs {
		sessions[r.Task]++
	}
	for _, t := range fleetTaskList() {
		if sessions[t.id] != 1 {
			f.fault("task %s: got %d sessions, want 1", t.id, sessions[t.id])
		}
		if got := f.state(t.id); got != "done" {
			f.fault("task %s: got state %q after its work landed, want done", t.id, got)
		}
		if told, err := f.ask(ctx, "rev-list", "--count", "HEAD", "--", "tasks/"+t.id+".md"); told != "1" {
			f.fault("task %s: got %s commits of its file, want the first alone, %v", t.id, told, err)
		}
	}
}
