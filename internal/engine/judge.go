package engine

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"stint/internal/box"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/grade"
	"stint/internal/review"
)

// Question is what a grader or a check is asked.
type Question struct {
	Run         fleet.RunID
	Argv        []string
	Dir         string
	Environment []string
	Box         fleet.Box
	Evidence    []byte // on its input; nil: nothing
	Timeout     time.Duration
	Limit       int // the most bytes of an answer; 0: as much as memory holds well
}

// Graders are the operator's own judges of sessions. They may run the session's work: no
// process that they start is left when they have answered.
type Graders interface {
	Ask(ctx context.Context, q Question) (answer []byte, err error)
	// Check runs a command that says by its exit status whether all is in order: failure
	// is how it failed, empty if it passed. The error is why it says nothing.
	Check(ctx context.Context, q Question) (failure string, err error)
}

// judge gathers the evidence of a session whose agent is gone and gives the verdict; its use
// and commits, and the time at which its agent can work again, go into the run. Evidence that
// cannot be found out is left out, loudly: an agent that was not looked at did not fail.
//
// If we die in here, the run is open with nothing of it recorded but what its folder and
// git hold, and check or grader go on to their own end: the next reaping waits for these,
// as they are in the run's unit, and closes the run as abandoned.
func (w *worker) judge(ctx context.Context, c config.Category, task *fleet.Task, spec fleet.SessionSpec, exit fleet.SessionExit) fleet.Verdict {
	work, err := w.lookAtWork(ctx, spec)
	agent := w.Config.Agents[w.run.Agent]
	e := grade.Evidence{Exit: exit, Commits: work.Commits, Trusted: agent.Trust, Left: work.Left}
	if work.Known {
		e.Changes = &grade.Changes{
			Commits: work.Standing, Branch: work.Branch, Files: work.Files, Tests: work.Tests,
			Insertions: work.Insertions, Deletions: work.Deletions, Cut: work.Cut, Derived: work.Derived,
		}
	}
	if now := w.Repo.On(ctx); w.on != "" && now != w.on { // new clones begin there, and it may be the target of review
		e.Moved = cmp.Or(now, "no branch")
		w.Log.WarnContext(ctx, "workspace on another branch", w.attrs(slog.String("reason", fmt.Sprintf("it was on %s, and is on %s", w.on, e.Moved)))...)
	}
	if w.landed = w.landedIn(ctx, work); w.landed != "" {
		e.Landed = w.landed
		w.Log.WarnContext(ctx, "nobody reviewed the work", w.attrs(slog.String("reason", w.landed+" has it already at the session's end"))...)
	}
	var readErr error
	if e.Transcript, readErr = w.Transcript(w.run.Agent, spec.Files.Log); readErr != nil {
		w.Log.WarnContext(ctx, "no evidence from the log", w.attrs(slog.Any("err", readErr))...)
	}
	if len(c.Check) > 0 && grade.WantsCheck(e) {
		e.Check = w.check(ctx, c, spec)
	}
	if len(c.Grader) > 0 && grade.WantsOpinion(e) {
		e.Opinion = w.opinion(ctx, c, task, spec, e)
	}
	j := grade.Assess(e)
	for _, warning := range j.Warnings {
		w.Log.WarnContext(ctx, "evidence not used", w.attrs(slog.String("reason", warning))...)
	}
	w.run.Usage, w.run.QuotaUntil = w.used(ctx, w.run, j.Usage), w.backAt(j)
	if err != nil && j.Verdict.Outcome == fleet.Noop {
		return failed(fmt.Errorf("the session's work cannot be read: %w", err))
	}
	return j.Verdict
}

// lookAtWork finds out what a session did to the repository, and keeps on record which commits
// it made, however it ends.
func (w *worker) lookAtWork(ctx context.Context, spec fleet.SessionSpec) (work fleet.Work, err error) {
	ctx, cancel := closing(ctx) // also for a session that was stopped
	defer cancel()
	work, err = w.Repo.Work(ctx, spec.Dir, spec.Files)
	if err != nil {
		w.Log.WarnContext(ctx, "no evidence from git", w.attrs(slog.Any("err", err))...)
	}
	w.run.Commits = work.Revisions
	return work, err
}

// landedIn is the target of review or what it follows, if that has the work of the session's branch already: the session pushed it
// there, or somebody did meanwhile.
func (w *worker) landedIn(ctx context.Context, work fleet.Work) string {
	if w.run.Branch == "" || len(w.run.Commits) == 0 || w.Work == nil || work.Unmoved {
		return ""
	}
	ctx, cancel := closing(ctx)
	defer cancel()
	found, err := w.Work.Fates(ctx, []review.Watched{{Run: w.run.ID, Branch: w.run.Branch, Commits: w.run.Commits}})
	if err != nil {
		w.Log.WarnContext(ctx, "target not looked at", w.attrs(slog.Any("err", err))...)
	}
	if !slices.ContainsFunc(found, func(f fleet.Fate) bool { return f.Kind.Landed() }) {
		return ""
	}
	return cmp.Or(w.Config.Review.Target, w.Repo.On(ctx), "the target")
}

// question is what a check or a grader is asked: in the box of the session, with what the command
// names. It may run the session's work, and so it gets no secret. A grader that names claude, codex or
// gptme as a word of its own asks by it, with the login that the session has.
func (e *Engine) question(spec fleet.SessionSpec, argv []string, timeout time.Duration, asks bool) (Question, error) {
	q := Question{Run: spec.Run, Argv: argv, Dir: spec.Dir, Timeout: timeout, Box: spec.Box}
	environment, variable := slices.Clone(spec.Judging), func(name string) string { return fleet.Variable(spec.Environment, name) }
	var read, own, settings []string
	for _, word := range argv {
		login, known := config.PresetLogin(filepath.Base(word))
		if !asks || !known {
			continue
		}
		folders, files := login.Own(variable)
		own, settings = append(own, folders...), append(settings, files...)
		read = append(read, e.Boxes.Needs(word, spec.Environment, spec.Dir)...)
		environment = append(environment, config.Preset(filepath.Base(word)).Passed(variable)...)
	}
	if !q.Box.Open() {
		read = slices.Concat(e.Boxes.Needs(argv[0], environment, spec.Dir), argv[1:], read)
		q.Box = box.Judging(q.Box, spec.Files.Judge, read, own, settings)
	}
	q.Environment = boxed(q.Box, environment)
	return q, strayed(q.Box, box.Places{Dir: spec.Dir})
}

// check runs the category's check in the folder that the session left.
func (w *worker) check(ctx context.Context, c config.Category, spec fleet.SessionSpec) *grade.Check {
	q, err := w.question(spec, c.Check, c.Timeout, false)
	if err != nil {
		return &grade.Check{Fault: err.Error()}
	}
	failure, err := w.Graders.Check(ctx, q)
	if err != nil {
		return &grade.Check{Fault: err.Error()}
	}
	return &grade.Check{Failure: failure}
}

// opinion asks the category's grader.
func (w *worker) opinion(ctx context.Context, c config.Category, task *fleet.Task, spec fleet.SessionSpec, e grade.Evidence) *grade.Opinion {
	task, err := w.withBody(ctx, task)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	diff, cut, err := w.Repo.Diff(ctx, w.run.Commits, grade.MaxDiff)
	if err != nil {
		w.Log.WarnContext(ctx, "no diff for the grader", w.attrs(slog.Any("err", err))...)
	}
	evidence, err := grade.Case{
		Run: w.run.ID, Category: w.run.Category, Task: task, Workspace: spec.Dir, Files: spec.Files,
		Revisions: w.run.Commits, Diff: diff, DiffCut: cut,
	}.Encode(e)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	q, err := w.question(spec, c.Grader, c.Timeout, true)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	q.Evidence, q.Limit = evidence, grade.MaxOpinion
	answer, err := w.Graders.Ask(ctx, q)
	if err != nil {
		return &grade.Opinion{Fault: err.Error()}
	}
	return &grade.Opinion{Output: answer}
}

// longestRest bounds what an agent says of when it can work again: the longest allowance
// is a month's. A later time is a misreading, and would put it out of work for ever.
const (
	longestRest = 35 * 24 * time.Hour
	// shortestRest is how long one rests at least: it waits out a shorter limit by itself, and in
	// vain if the session ended with it.
	shortestRest = 30 * time.Second
	// unsaidRest is how long an agent rests that got its work done, met a limit at the
	// end of it, and did not say for how long.
	unsaidRest = 15 * time.Minute
	// resetSlack is added to a time of day, which agents cut to the minute.
	resetSlack = time.Minute
)

// backAt is when an agent that met a limit can work again; zero when it did not say.
func (w *worker) backAt(j grade.Judgement) time.Time {
	limit := j.Limit
	if limit == nil {
		return time.Time{}
	}
	now := w.Now()
	switch {
	case !limit.ResetAt.IsZero():
		at := limit.ResetAt.Add(resetSlack)
		return now.Add(min(longestRest, max(shortestRest, at.Sub(now))))
	case limit.RetryAfter > 0:
		return now.Add(min(longestRest, max(shortestRest, limit.RetryAfter)))
	case j.Verdict.Outcome != fleet.Quota:
		return now.Add(unsaidRest)
	}
	return time.Time{} // the store doubles the time for each that does not say
}
