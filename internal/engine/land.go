package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/box"
	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
)

// reviewer holds a task's claim while a decision on the work of its session changes the task. A
// claim of its own is left by a process that died, and renewed.
const reviewer fleet.Holder = "stint-review"

// maxMoves bounds how often work is tried again because the target has moved meanwhile.
const maxMoves = 5

// Land brings work into the target, the oldest first, each on top of the one before. Work that
// conflicts, or whose check fails, is set aside and its task opened again. The error says why the
// rest was not tried. The list has the result of each item, and each reports it as soon as it is known.
//
// If we die before the target has moved, nothing has landed, and [TargetBranch.Stack] removes the folder.
// If we die after it, the work is found in the target when it is to land again; the rest of the
// end follows then: the decision, the task, the branch.
func (e *Engine) Land(ctx context.Context, target review.Target, items []review.Item, each func(fleet.Landed)) (list []fleet.Landed, err error) {
	runs := plain.Each(items, func(i review.Item) string { return string(i.Run) })
	end, err := e.TargetBranch.Landings("lands " + strings.Join(runs, " "))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b review.Item) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(string(a.Run), string(b.Run)))
	})
	var failed error
	for _, i := range items {
		out := fleet.Landed{Run: i.Run, Task: i.Session.Task, End: fleet.LandingNotTried}
		if failed == nil {
			failed = e.land(ctx, target, i, &out)
		}
		if failed != nil && out.End == fleet.LandingNotTried {
			out.Reason = failed.Error()
		}
		each(out)
		list = append(list, out)
	}
	tidy, cancel := closing(ctx)
	defer cancel()
	failed = errors.Join(failed, e.TargetBranch.Unstack(tidy))
	if len(list) == 0 || slices.ContainsFunc(list, func(l fleet.Landed) bool { return l.End == fleet.LandingLanded }) {
		e.pushTarget(ctx)
	}
	return list, failed
}

// land brings one item in. An error says that others need not be tried.
func (e *Engine) land(ctx context.Context, target review.Target, i review.Item, out *fleet.Landed) error {
	l := landing(target, i)
	l.Merge = e.Config.Review.Method == config.MethodMerge
	if i.AtWork != "" {
		out.Reason = fmt.Sprintf("run %s goes on with it", i.AtWork)
		return nil
	}
	if i.Landing == review.Reverted {
		out.Reason = fmt.Sprintf("it was reverted; to have it again: git revert %s", i.By)
		return nil
	}
	if i.Landing == review.Waiting {
		recorded, err := e.recorded(ctx, i)
		switch {
		case err != nil:
			return err
		case !recorded && i.Seen == "":
			out.Reason = fmt.Sprintf("its branch is at a commit that no session recorded; look at it by: stint review diff %s, then: stint review land %s@%.12s", i.Run, i.Run, i.Tip)
			return nil
		}
		if err := e.bring(ctx, l, i, out); err != nil {
			return err
		}
	} else {
		out.End = fleet.LandingLanded
	}
	var err error
	switch out.End {
	case fleet.LandingNotTried:
		return nil
	case fleet.LandingSetAside:
		err = e.reopen(ctx, i.Run, i.Session.Task)
	case fleet.LandingLanded:
		err = e.landed(ctx, l, i, out)
	}
	if err != nil {
		out.Left = err.Error()
	}
	return nil
}

// recorded reports whether a branch is where the last session that worked on it left it. It may have been moved after
// a person looked at the work.
func (e *Engine) recorded(ctx context.Context, i review.Item) (bool, error) {
	last := i.Session
	if i.Session.Task != "" {
		runs, err := e.Store.LastRuns(ctx, store.RunQuery{Task: i.Session.Task, Ended: true, Limit: maxContinued})
		if err != nil {
			return false, err
		}
		at := slices.IndexFunc(runs, func(r fleet.Run) bool { return r.Home() == i.Run && len(r.Commits) > 0 })
		if at >= 0 {
			last = runs[at]
		}
	}
	n := len(last.Commits)
	return n > 0 && last.Commits[n-1] == i.Tip, nil
}

// maxContinued bounds the search among a task's sessions for the last one on a branch.
const maxContinued = 1000

func landing(target review.Target, i review.Item) fleet.Landing {
	return fleet.Landing{Run: i.Run, Branch: i.Name, Tip: i.Tip, Target: target.Name}
}

// bring tries the work on the target until it is in, or cannot get in.
func (e *Engine) bring(ctx context.Context, l fleet.Landing, i review.Item, out *fleet.Landed) error {
	for range maxMoves {
		s, err := e.TargetBranch.Stack(ctx, l)
		if err != nil {
			return err
		}
		if s.Refused != "" {
			out.Reason = s.Refused
			return nil // the others may be tried
		}
		if len(s.Conflicts) > 0 {
			return e.setAside(ctx, l, i.Session.Task, fmt.Sprintf("it conflicts with %s in %s", l.Target, strings.Join(s.Conflicts, ", ")), out)
		}
		if s.Commit != s.Base {
			failure, err := e.checkLanding(ctx, i.Session, l, s.Dir)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil { // it says nothing of the work
				out.Reason = err.Error()
				return nil //nolint:nilerr // the others may be tried
			}
			if failure != "" {
				return e.setAside(ctx, l, i.Session.Task, failure, out)
			}
			if len(e.Config.Review.Check) > 0 {
				passed := fleet.Review{Run: l.Run, Check: fleet.ReviewCheck{Tip: l.Tip, OK: true}}
				if err := e.Store.SaveReview(ctx, passed); err != nil {
					return err
				}
			}
			moved, err := e.TargetBranch.Advance(ctx, s)
			if err != nil {
				return err
			}
			if !moved {
				continue
			}
			out.Commit, out.Base = s.Commit, s.Base
		}
		out.End = fleet.LandingLanded
		return nil
	}
	out.Reason = fmt.Sprintf("%s moved %d times meanwhile", l.Target, maxMoves)
	return nil
}

// landingCheckTime is for a slow suite: a person waits for it.
const landingCheckTime = 30 * time.Minute

// checkLanding runs the check of landings in the folder in which work stands on the target, in the
// box of the agent that did the work, and like a category's check without a secret.
func (e *Engine) checkLanding(ctx context.Context, r fleet.Run, l fleet.Landing, dir string) (failure string, err error) {
	c := e.Config.Review
	if len(c.Check) == 0 {
		return "", nil
	}
	r.ID = l.Run // that may be on no record
	agent, known := e.Config.Agents[r.Agent]
	if !known {
		agent = config.Preset(preset.Any)
	}
	agent = agent.Judged()
	agent.Preset, agent.Command, agent.CLI = preset.Any, c.Check, preset.CLI{} // it is not that agent
	a := assignment{run: r, dir: dir}
	spec := fleet.SessionSpec{Run: r.ID, Dir: dir, Files: fleet.FilesOf(e.Config.State, r.ID), Judging: append(e.Passed(agent),
		"STINT_FLEET="+string(e.Config.Fleet), "STINT_CONFIG="+e.Config.Path, "STINT_RUN_ID="+string(r.ID), "STINT_CATEGORY="+string(r.Category),
		"STINT_TASK_ID="+string(r.Task), "STINT_WORKSPACE="+dir)}
	if spec.Box, err = e.box(ctx, a, agent); err != nil {
		return "", err
	}
	if spec.Box, err = e.Boxes.Prove(ctx, spec.Box, e.trial(r.ID, dir)); err != nil {
		return "", err
	}
	if missing := box.Missing(spec.Box); !spec.Box.Open() && len(missing) > 0 {
		e.Log.WarnContext(ctx, "box not complete", slog.String("run_id", string(r.ID)), slog.String("reason", strings.Join(missing, "; ")))
	}
	defer e.Folders.Trim(r.ID) //nolint:errcheck // what is left of it goes with the folder of the run
	q, err := e.question(spec, c.Check, landingCheckTime, false)
	if err != nil {
		return "", err
	}
	return e.Graders.Check(ctx, q)
}

// setAside leaves the work to the next session at its task, which goes on from there.
//
// If we die between the two writes, the next landing sets it aside again.
func (e *Engine) setAside(ctx context.Context, l fleet.Landing, task fleet.TaskID, reason string, out *fleet.Landed) error {
	out.End, out.Reason = fleet.LandingSetAside, reason
	all, err := e.Store.Feedback(ctx)
	if err == nil && task != "" {
		f := all[l.Run]
		if f.Said == "" {
			f.Rounds++
		}
		f.Run, f.Task, f.At = l.Run, task, e.Now()
		f.Said = fmt.Sprintf("It did not land on %s: %s", l.Target, plain.Text(fleet.Clipped(reason, 10*maxReason)))
		err = e.Store.SaveFeedback(ctx, f)
	}
	if err != nil {
		return err
	}
	return e.Store.SaveReview(ctx, fleet.Review{Run: l.Run, Check: fleet.ReviewCheck{Tip: l.Tip, Reason: reason}})
}

// landed ends what is left of work that is in the target. Each step finds what it is to do, so
// that a landing which died in between is ended by the next.
func (e *Engine) landed(ctx context.Context, l fleet.Landing, i review.Item, out *fleet.Landed) error {
	if err := e.Store.SaveReview(ctx, fleet.Review{
		Run: l.Run, Tip: l.Tip, Decision: fleet.DecisionLanded, By: e.Operator, Commit: cmp.Or(out.Commit, i.By, l.Tip), Base: out.Base,
	}); err != nil {
		return err
	}
	err := e.changeTask(ctx, i.Session.Task, func(t fleet.Task) fleet.TaskState {
		if t.State == fleet.StateReview {
			return fleet.StateDone
		}
		return t.State // a session that left it open wants another to go on
	})
	if err != nil {
		return err
	}
	kept, err := e.TargetBranch.Drop(ctx, l)
	if kept != "" {
		out.Reason = kept
	}
	return err
}

// Reject saves that a person does not want a run's work, and opens its task again. If we die
// between the two, another call does the rest.
func (e *Engine) Reject(ctx context.Context, i review.Item, reason string) error {
	err := e.Store.SaveReview(ctx, fleet.Review{Run: i.Run, Tip: i.Tip, Decision: fleet.DecisionRejected, Reason: reason, By: e.Operator})
	if err != nil {
		return err
	}
	return e.reopen(ctx, i.Run, i.Session.Task)
}

// reopen makes the task workable of a run whose work is not wanted as it is, where the task waits
// for review or this run has closed it.
func (e *Engine) reopen(ctx context.Context, run fleet.RunID, task fleet.TaskID) error {
	return e.changeTask(ctx, task, func(t fleet.Task) fleet.TaskState {
		own := t.Memory != nil && t.Memory.Run == run
		if t.State == fleet.StateReview || own && t.State == fleet.StateDone {
			return fleet.StateTodo
		}
		return t.State
	})
}

// changeTask gives a task the state that is to follow the one it has, under its claim. A task that
// is gone needs none.
func (e *Engine) changeTask(ctx context.Context, id fleet.TaskID, next func(fleet.Task) fleet.TaskState) error {
	if id == "" {
		return nil
	}
	t, err := e.Sources.Get(ctx, id)
	if errors.Is(err, fleet.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	request := store.TakeRequest{Key: id.Key(), Holder: reviewer, Renews: true, TTL: time.Minute, Note: "stint review"}
	return e.holding(ctx, request, func(h store.Hold) error {
		if t, err = e.Recalled(ctx, t); err != nil {
			return err
		}
		if s := next(t); s != t.State || s.Settled() { // its file may lack the state of a change that was cut short
			_, err = e.GiveState(ctx, h, t, s)
		}
		return err
	})
}

// pushTime bounds a push of the target: a few commits over a slow line.
const pushTime = 2 * time.Minute

// pushTarget pushes the target, if the operator wants that. A refusal is a notice, and what is in the target stays there.
//
// If we die before it, or in it, the next landing or session pushes all of it.
func (e *Engine) pushTarget(ctx context.Context) {
	if !e.Config.Review.Push {
		return
	}
	ctx = context.WithoutCancel(ctx)
	pushing, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	remote, err := e.TargetBranch.PushTarget(pushing)
	switch {
	case err != nil:
		e.Log.WarnContext(ctx, "target not pushed", slog.Any("err", err))
		e.notify(ctx, fleet.Notice{Event: fleet.EventTargetStuck, Reason: err.Error(), At: e.Now()})
	case remote != "":
		e.Log.InfoContext(ctx, "target pushed", slog.String("reason", "to "+remote))
	}
}

// Publish pushes the work of a run, and has a request opened for it, once. Work that was published
// as it is stays as it is.
//
// What was decided before stays until all of it is done. If we die before that, another call pushes
// again, which changes nothing, and runs the command again: that prints the address of the request
// that there is.
func (e *Engine) Publish(ctx context.Context, target review.Target, i review.Item) (r fleet.Review, remote string, err error) {
	if i.AtWork != "" {
		return r, "", fmt.Errorf("run %s goes on with the work of run %s: %w", i.AtWork, i.Run, fleet.ErrHeld)
	}
	end, err := e.TargetBranch.Landings("publishes " + string(i.Run))
	if err != nil {
		return r, "", err
	}
	defer func() { err = errors.Join(err, end()) }()
	all, err := e.Store.Reviews(ctx, i.Run)
	if err != nil {
		return r, "", err
	}
	r = all[i.Run]
	if r.Decision == fleet.DecisionPublished && r.Tip == i.Tip {
		return r, "", nil
	}
	if r.Decision != fleet.DecisionPublished {
		r = fleet.Review{}
	}
	// Until it is pushed, the tip is the one that was published before.
	r = fleet.Review{Run: i.Run, Tip: r.Tip, Decision: fleet.DecisionPublished, URL: r.URL, By: cmp.Or(r.By, e.Operator)}
	if remote, err = e.TargetBranch.Push(ctx, landing(target, i), r.Tip); err != nil {
		return r, "", err
	}
	if e.Publisher != nil && r.URL == "" { // else the request follows the branch
		argv, summary, err := e.request(ctx, target, i)
		if err != nil {
			return r, remote, err
		}
		printed, err := e.Publisher.Ask(ctx, summary, argv...)
		if err != nil {
			return r, remote, fleet.WithHint(fmt.Errorf("branch %s was pushed to %s, but no request opened: %w", i.Name, remote, err),
				"stint review publish "+string(i.Run)+" tries again")
		}
		r.URL = lastURL(string(printed))
	}
	r.Tip = i.Tip
	return r, remote, e.Store.SaveReview(ctx, r)
}

// request is the command that opens a request, and what it gets to read. The words of the session
// are an argument at most, and no option: each stands in an argument of the configuration.
func (e *Engine) request(ctx context.Context, target review.Target, i review.Item) (argv []string, summary []byte, err error) {
	title, s := "", i.Session
	if s.Task != "" {
		t, err := e.Sources.Get(ctx, s.Task)
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return nil, nil, err
		}
		title = t.Title
	}
	if title = strings.TrimLeft(title, "- "); title == "" { // an argument of its own must be no option
		title = i.Name
	}
	fill := strings.NewReplacer("{branch}", i.Name, "{target}", target.Name, "{title}", plain.Line(title), "{task}", string(s.Task), "{run}", string(i.Run))
	for n, word := range e.Config.Review.Publish {
		if n > 0 {
			word = fill.Replace(word)
		}
		argv = append(argv, word)
	}
	var b strings.Builder
	if s.Verdict.Reason != "" {
		fmt.Fprintf(&b, "%s\n\n", plain.Text(s.Verdict.Reason))
	}
	fmt.Fprintf(&b, "Run %s", i.Run)
	for _, part := range [][2]string{{"task", string(s.Task)}, {"category", string(s.Category)}, {"agent", s.Agent}} {
		if part[1] != "" {
			fmt.Fprintf(&b, ", %s %s", part[0], part[1])
		}
	}
	b.WriteString(".\n")
	return argv, []byte(b.String()), nil
}

// lastURL is the last line that is an address; empty: there is none.
func lastURL(printed string) (last string) {
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		address := strings.HasPrefix(line, "https://") || strings.HasPrefix(line, "http://")
		if address && len(strings.Fields(line)) == 1 && plain.Line(line) == line {
			last = line
		}
	}
	return last
}
