package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"stint/internal/claim"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
)

// Preview is the session that a run by hand would be.
type Preview struct {
	Run  fleet.Run
	Spec fleet.SessionSpec
}

// Preview decides as [Engine.Run] does for a session by hand, and does nothing. A
// busy lane wraps [fleet.ErrBusy], a claim in the way [fleet.ErrHeld], and having
// nothing to work on [fleet.ErrNothing].
func (e *Engine) Preview(ctx context.Context, o RunOptions) (Preview, error) {
	run, err := e.handRun(ctx, o)
	if err != nil {
		return Preview{}, err
	}
	v, err := e.Look(ctx)
	if err != nil {
		return Preview{}, err
	}
	c := e.Config.Categories[run.Category]
	w, found := worker{Engine: e, run: run, only: o.Task}, &work{category: run.Category}
	if w.run.Lane, err = freeLane(v.Held, run.Category, c.Lanes); err != nil {
		return Preview{}, err
	}
	switch err := w.choose(ctx, c, found, v); {
	case err != nil:
		return Preview{}, err
	case found.none.Outcome == fleet.Idle:
		return Preview{}, fmt.Errorf("category %s: %s: %w", run.Category, found.none.Reason, fleet.ErrNothing)
	case found.none.Outcome != "":
		return Preview{}, fmt.Errorf("category %s: %s", run.Category, found.none.Reason)
	}
	if list := e.Able(v, run.Category); o.Agent == "" { // the agent that a session would have now
		w.run.Agent = list[0]
		if agent, _, ok := e.Seats(v).Take(list); ok {
			w.run.Agent = agent
		}
	}
	first := found.offers[0]
	run = claimFor(w.run, first.task)
	for _, held := range v.Held {
		if held.Key == run.Key {
			return Preview{}, fmt.Errorf("%s: %w", held.Denial(), fleet.ErrHeld)
		}
	}
	run.Epoch, run.Branch = 1, first.Branch // what the epoch would be is known only by taking the claim
	ended, err := e.earlier(ctx, first.task)
	if err != nil {
		return Preview{}, err
	}
	w.run, w.asks = run, first.asks
	cut, has, err := w.conversation(ctx, c, ended)
	if err != nil {
		return Preview{}, err
	}
	run.Conversation, run.Branch = has, cmp.Or(cut.Branch, run.Branch)
	spec, err := e.sessionSpec(ctx, assignment{
		run: run, category: c, task: first.task, lessons: first.lessons, said: first.asks.Said, cut: cut,
		dir: e.folder(c, cmp.Or(first.asks.Run, cut.Home(), run.ID)),
	})
	return Preview{Run: run, Spec: spec}, err
}

// freeLane is the lane that a run would be given. A resting run has none yet, and one in a lane
// that the category has no more is in nobody's way.
func freeLane(held []fleet.Claim, c fleet.Category, lanes int) (lane int, err error) {
	var busy fleet.RunID
	for n := 1; n <= lanes; n++ {
		at := slices.IndexFunc(held, func(h fleet.Claim) bool { return h.Key == fleet.LaneKey(c, n) })
		if at < 0 {
			return n, nil
		}
		busy, _ = held[at].Holder.Run()
	}
	return 0, fmt.Errorf("category %s: run %s: %w", c, busy, fleet.ErrBusy)
}

// agents are those that may do the run in a category, the preferred one first, without those
// that are not installed. When none is, the first is to say so.
func (w *worker) agents(c fleet.Category) (list []fleet.Terms) {
	names := []string{w.run.Agent}
	if w.asked == "" {
		for _, agent := range w.Config.Categories[c].Agents {
			if agent != w.run.Agent {
				names = append(names, agent)
			}
		}
	}
	for _, agent := range names {
		if w.Installed(agent) {
			list = append(list, w.Terms(c, agent))
		}
	}
	if len(list) == 0 {
		return []fleet.Terms{w.Terms(c, names[0])}
	}
	return list
}

// claimFor is the run with the task it is to claim, or the lane when it has none.
func claimFor(r fleet.Run, task *fleet.Task) fleet.Run {
	if task == nil {
		r.Task, r.Key = "", fleet.LaneKey(r.Category, r.Lane)
	} else {
		r.Task, r.Key = task.ID, task.ID.Key()
	}
	return r
}

// assignment has the work of a run that has its claim.
type assignment struct {
	run      fleet.Run
	category config.Category
	task     *fleet.Task // nil: a session without one
	lessons  []fleet.Lesson
	said     string // of earlier work, to be answered; empty: nothing
	dir      string // where it works
	left     fleet.Leftover
	layers   fleet.BoxLayers
	news     []string  // commits that landed since the last session of the conversation
	cut      fleet.Run // that session; of no run: the conversation is new
}

// sessionSpec is the agent's process for a run that has its claim.
func (e *Engine) sessionSpec(ctx context.Context, a assignment) (fleet.SessionSpec, error) {
	r, c := a.run, a.category
	agent, ok := e.Config.Agents[r.Agent]
	if !ok {
		return fleet.SessionSpec{}, fmt.Errorf("agent %q is not in %s", r.Agent, e.Config.Path)
	}
	if err := agent.Fault(!r.StartedAt.IsZero()); err != nil {
		return fleet.SessionSpec{}, err
	}
	if err := e.Config.Trust.Check(agent.Command, a.dir); err != nil { // as it is there, which a clone's need not be
		return fleet.SessionSpec{}, err
	}
	task, err := e.withBody(ctx, a.task)
	if err != nil {
		return fleet.SessionSpec{}, err
	}
	if task != nil && filepath.IsAbs(task.Path) {
		// A session in a clone has a copy of its own, and in a box no other.
		if own, err := e.Repo.Own(ctx, r.Home(), task.Path); err == nil && own != "" {
			task.Path = own
		}
	}
	a.task = task
	now, files := e.Now(), fleet.FilesOf(e.Config.State, r.ID)
	data := promptData{
		Category: r.Category, Task: task, Lessons: a.lessons, Said: a.said, Dir: a.dir, Left: a.left,
		Branch: r.Branch, Now: now, Deadline: now.Add(c.Timeout), Result: files.Result,
	}
	if data.Attempts, data.Reviews, err = e.attempts(ctx, task); err != nil {
		return fleet.SessionSpec{}, err
	}
	if data.Beside, err = e.beside(ctx, r.ID); err != nil {
		return fleet.SessionSpec{}, err
	}
	var text string
	command := agent.Command
	if a.cut.ID != "" {
		data.News, data.Cut, data.Why, command = a.news, a.cut, r.Conversation.Why, agent.Resuming(r.Conversation.ID)
		text = resumed(data)
	} else if text, err = prompt(c, data); err != nil {
		return fleet.SessionSpec{}, err
	}
	argv, err := e.argv(ctx, a, command)
	if err != nil {
		return fleet.SessionSpec{}, err
	}
	b, err := e.box(ctx, a, agent)
	if err != nil {
		return fleet.SessionSpec{}, err
	}
	b.Layers = a.layers
	return fleet.SessionSpec{
		Run:         r.ID,
		Unit:        cmp.Or(r.Unit, fleet.ScopeName(e.Config.Fleet, r.Category, r.ID)),
		Argv:        argv,
		Environment: boxed(b, e.traced(e.environment(ctx, a, agent, data.Deadline), r.ID)),
		Judging:     e.environment(ctx, a, agent.Judged(), data.Deadline),
		Box:         b,
		Dir:         a.dir,
		Files:       files,
		Prompt:      text,
		PromptMode:  agent.Prompt,
		Resumes:     r.Conversation.ID,
		Timeout:     c.Timeout,
		Silence:     agent.CLI.SilenceTime(),
		Echo:        e.Echo,
		Grace:       claim.Grace(c.TTL),
	}, nil
}

// folder returns the folder in which a run of the category works.
func (e *Engine) folder(c config.Category, run fleet.RunID) string {
	if c.OwnClone {
		return filepath.Join(e.Config.State, "clones", string(run))
	}
	return e.Config.Workspace
}

// argv is an agent's command with its placeholders filled in: in the arguments, wherever
// they stand in one, and in what is filled in no more. Other words in braces are the
// agent's own, as in JSON. Nothing is split, so no value makes two arguments.
func (e *Engine) argv(ctx context.Context, a assignment, command []string) ([]string, error) {
	values := e.placeholders(a)
	if asksForGit(command) {
		own, common, _, err := e.Repo.GitDirs(ctx, a.dir)
		if err != nil {
			return nil, err
		}
		values = append(values, gitDir, own, gitCommonDir, common)
	}
	fill, argv := strings.NewReplacer(values...), slices.Clone(command)
	for i := range argv[1:] {
		argv[i+1] = fill.Replace(argv[i+1])
	}
	return argv, nil
}

// placeholders are the words in braces that git is not asked for, each followed by its value.
func (e *Engine) placeholders(a assignment) []string {
	files := fleet.FilesOf(e.Config.State, a.run.ID)
	return []string{
		"{workspace}", a.dir, "{category}", string(a.run.Category), "{task}", string(a.run.Task), "{run}", string(a.run.ID),
		"{run_dir}", files.Out, cacheDir, files.Cache,
	}
}

// The placeholders for which git is asked.
const gitDir, gitCommonDir = "{git_dir}", "{git_common_dir}"

// cacheDir is the placeholder by which a command asks for the folder for caches.
const cacheDir = "{cache_dir}"

func asksForCache(command []string) bool {
	return slices.ContainsFunc(command[1:], func(word string) bool { return strings.Contains(word, cacheDir) })
}

func asksForGit(command []string) bool {
	return slices.ContainsFunc(command[1:], func(word string) bool {
		return strings.Contains(word, gitDir) || strings.Contains(word, gitCommonDir)
	})
}

// environment is all that an agent gets to see of its surroundings: what the
// config passes on, what it sets, and what stint says of the run. Later entries
// win, and nothing may pose as stint's own.
func (e *Engine) environment(ctx context.Context, a assignment, agent config.Agent, deadline time.Time) []string {
	r, files := a.run, fleet.FilesOf(e.Config.State, a.run.ID)
	path := ""
	if a.task != nil {
		path = a.task.Path
	}
	fill := strings.NewReplacer(e.placeholders(a)...)
	agent.Environment = maps.Clone(agent.Environment)
	for name, value := range agent.Environment {
		agent.Environment[name] = fill.Replace(value)
	}
	var env []string
	if asksForCache(agent.Command) || agent.Box != "" && agent.Box != fleet.BoxOpen {
		// An agent that may not write in the home folder may write its caches here.
		env = append(env, "XDG_CACHE_HOME="+files.Cache)
	}
	env = append(append(env, e.Passed(agent)...),
		"STINT_FLEET="+string(e.Config.Fleet),
		"STINT_CONFIG="+e.Config.Path,
		"STINT_RUN_ID="+string(r.ID),
		"STINT_CATEGORY="+string(r.Category),
		"STINT_TASK_ID="+string(r.Task),
		"STINT_TASK_FILE="+path,
		"STINT_EPOCH="+strconv.FormatInt(int64(r.Epoch), 10),
		"STINT_HOLDER="+string(r.ID.Holder()),
		"STINT_WORKSPACE="+a.dir,
		"STINT_PROMPT_FILE="+files.Prompt,
		"STINT_RUN_DIR="+files.Out,
		"STINT_RESULT="+files.Result,
		"STINT_SOCKET="+files.Door,
		"STINT_LANE="+strconv.Itoa(r.Lane),
		"STINT_CHAIN_DEPTH="+strconv.Itoa(r.ChainDepth),
		"STINT_DEADLINE="+plain.Stamp(deadline),
	)
	return append(env, e.Repo.Environment(ctx, a.dir, files, agent.CLI.OwnGit)...)
}

// traced adds to a session's environment what OpenTelemetry goes by: the variables of this process where the configuration
// sets no others, and the run among the attributes of whatever the session reports.
func (e *Engine) traced(env []string, run fleet.RunID) []string {
	const attributes = "OTEL_RESOURCE_ATTRIBUTES"
	env = append(plain.Kept(e.Environ, func(v string) bool { return strings.HasPrefix(v, "OTEL_") || strings.HasPrefix(v, "TRACEPARENT=") }), env...)
	return append(env, attributes+"="+strings.TrimPrefix(fleet.Variable(env, attributes)+",stint.run="+string(run), ","))
}

// earlier are the sessions that ended at a task, the latest first; nil is no task.
func (e *Engine) earlier(ctx context.Context, task *fleet.Task) ([]fleet.Run, error) {
	if task == nil {
		return nil, nil
	}
	return e.Record().LastRuns(ctx, store.RunQuery{Task: task.ID, Ended: true, Limit: 4 * maxAttempts})
}

// attempts are the earlier sessions at the task, and what became of their work. One that a limit
// or the service stopped before it committed anything says nothing of the task.
func (e *Engine) attempts(ctx context.Context, task *fleet.Task) (list []fleet.Run, reviews map[fleet.RunID]fleet.Review, err error) {
	list, err = e.earlier(ctx, task)
	list = slices.DeleteFunc(list, func(r fleet.Run) bool {
		return len(r.Commits) == 0 && (r.Verdict.Outcome == fleet.Quota || r.Verdict.Outcome == fleet.Unavailable)
	})
	list = list[:min(len(list), maxAttempts)]
	if err != nil || len(list) == 0 {
		return list, nil, err
	}
	ids := plain.Each(list, func(r fleet.Run) fleet.RunID { return r.ID })
	reviews, err = e.Store.Reviews(ctx, ids...)
	return list, reviews, err
}

// beside are the other sessions that work, or are about to.
func (e *Engine) beside(ctx context.Context, own fleet.RunID) (list []neighbour, err error) {
	s, err := e.Record().Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range s.Open {
		if r.ID != own && !r.NotBefore.After(s.At) && e.Live(ctx, r, s.At) {
			list = append(list, neighbour{r, e.Config.Categories[r.Category].OwnClone})
		}
	}
	return list, nil
}

// withBody is the task with its body, which a listing leaves out.
func (e *Engine) withBody(ctx context.Context, task *fleet.Task) (*fleet.Task, error) {
	if task == nil {
		return nil, nil
	}
	t := *task
	var err error
	t.Body, err = e.Sources.Body(ctx, t)
	return &t, err
}

// maxLessons bounds what lessons add to a prompt, in bytes: beyond some pages the task
// itself is lost among them.
const maxLessons = 48 << 10

// matching are the lessons that fit a session, and those of them that it gets: chance
// withholds some, which separates their effect from that of the sessions they happen to fit.
// The same run always gets the same.
func (e *Engine) matching(lessons []fleet.Lesson, r fleet.Run, task *fleet.Task) (uses []fleet.LessonUse, given []fleet.Lesson) {
	size := 0
	for _, l := range lessons {
		if !l.Matches(r.Category, task) || size+len(l.Body) > maxLessons {
			continue
		}
		size += len(l.Body) // also of one that is withheld: whether others fit must not depend on chance
		injected := rank.Chance(string(r.ID), string(l.ID)) >= e.Withhold
		uses = append(uses, fleet.LessonUse{Lesson: l.ID, Version: l.Version(), Injected: injected})
		if injected {
			given = append(given, l)
		}
	}
	return uses, given
}
