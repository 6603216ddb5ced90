package survey

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
	"stint/internal/store"
)

// StartGrace bounds the time in which a planned run counts as in flight before its worker has begun:
// a unit starts in milliseconds, on a loaded machine in seconds.
const StartGrace = time.Minute

// View has the facts about the fleet at one moment.
type View struct {
	Snapshot store.Snapshot
	Held     []fleet.Claim // what a take would be denied
	Tasks    []fleet.Task
	Failed   []fleet.SourceFault // of the tasks
	Problems []fleet.TaskProblem // of the tasks
	Lessons  []fleet.Lesson
	InFlight map[fleet.Category][]fleet.RunID
	Live     map[fleet.RunID]bool           // open runs that live, or are about to
	Crashed  map[fleet.Category]Crash       // open runs that had a claim and live no more: the last of each category
	Overlaps map[fleet.TaskID]fleet.Overlap // tasks that are to change what other work changes
	Full     map[fleet.Category]string      // out until a person has looked at results
	Unready  string                         // why no session can have a clone of its own; empty: it can, or none is to
	Running  map[fleet.Category]int         // sessions that take up a slot of this machine, those that are to follow others included
	here     map[fleet.RunID]bool           // they
	Busy     map[string]int                 // the same, by agent
	Pool     string                         // that is to be fired
	Extra    bool                           // between the fires of a timer: it takes part in the current round
	Now      time.Time                      // by the store's clock, where there is a store
}

// Crash is when the session of a run crashed.
type Crash struct {
	Run fleet.RunID
	At  time.Time
}

// Look gathers what a decision depends on. Trouble with single tasks and runs is
// logged and left out.
func (f *Reader) Look(ctx context.Context) (View, error) {
	v, err := f.Present(ctx)
	if err != nil {
		return View{}, err
	}
	if v.Tasks, v.Problems, err = f.ListTasks(ctx); err != nil {
		return View{}, err
	}
	v.Failed = FailedSources(v.Problems)
	fleet.Recall(v.Tasks, v.Snapshot.Tasks)
	v.Overlaps = f.overlaps(ctx, v)
	own := func(c config.Category) bool { return c.OwnClone }
	if f.Work != nil && slices.ContainsFunc(slices.Collect(maps.Values(f.Config.Categories)), own) {
		if err := f.Work.Ready(ctx); err != nil {
			v.Unready = err.Error()
		}
	}
	v.Lessons, err = f.listLessons(ctx)
	return v, err
}

// Present asks the store and the processes alone: tasks and lessons may
// take a while to list.
func (f *Reader) Present(ctx context.Context) (View, error) {
	for {
		// A run that ended, as it should, after the snapshot was taken has not crashed, and its end
		// changed more than the run: only another snapshot shows all of it.
		if v, stale, err := f.present(ctx); err != nil || !stale {
			return v, err
		}
	}
}

// present is a look, and whether a run ended in the middle of it.
func (f *Reader) present(ctx context.Context) (v View, stale bool, err error) {
	v = View{
		InFlight: map[fleet.Category][]fleet.RunID{}, Running: map[fleet.Category]int{}, here: map[fleet.RunID]bool{}, Busy: map[string]int{},
		Live: map[fleet.RunID]bool{}, Crashed: map[fleet.Category]Crash{},
		Pool: config.DefaultPool,
	}
	if v.Snapshot, err = f.Record().Snapshot(ctx); err != nil {
		return View{}, false, err
	}
	v.Now = v.Snapshot.At
	f.setHosts(v.Snapshot.Hosts)
	v.Held = f.Desk().Held(ctx, v.Snapshot.ClaimsAt)
	var gone []fleet.Run
	for _, r := range v.Snapshot.Open {
		if !f.Live(ctx, r, v.Now) {
			gone = append(gone, r)
			continue
		}
		v.Live[r.ID] = true
		v.InFlight[r.Category] = append(v.InFlight[r.Category], r.ID)
		if !f.Here.OnOtherHost(r.Location) {
			v.Running[r.Category]++
			v.here[r.ID] = true
		}
		v.Busy[r.Agent]++
	}
	if stale, err := f.ended(ctx, gone); err != nil || stale {
		return View{}, stale, err
	}
	for _, r := range gone {
		if at := f.Died(r, v.Snapshot.ClaimsAt); r.Key != "" && at.After(v.Crashed[r.Category].At) {
			v.Crashed[r.Category] = Crash{r.ID, at}
		}
	}
	return v, false, nil
}

// ended reports whether any of the runs has ended by now.
func (f *Reader) ended(ctx context.Context, runs []fleet.Run) (bool, error) {
	if len(runs) == 0 {
		return false, nil
	}
	q := store.RunQuery{Ended: true, Limit: 1, IDs: plain.Each(runs, func(r fleet.Run) fleet.RunID { return r.ID })}
	list, err := f.Store.LastRuns(ctx, q)
	return len(list) > 0, err
}

// Without leaves a run out of what takes up slots and lanes: for one that asks whether it
// may go on.
func (v View) Without(r fleet.Run) {
	if v.Live[r.ID] {
		if v.here[r.ID] {
			v.Running[r.Category]--
		}
		v.Busy[r.Agent]--
		v.InFlight[r.Category] = slices.DeleteFunc(v.InFlight[r.Category], func(id fleet.RunID) bool { return id == r.ID })
	}
}

// Live reports whether an open run has a session, or is about to. A session that
// cannot be asked counts as alive: the lane decides. A worker that looks for its session may
// take its time: its lock and the service manager know of it. A fire's, before its unit is there, has
// the time of its start, and so has one of which nobody can be asked.
func (f *Reader) Live(ctx context.Context, r fleet.Run, now time.Time) bool {
	if said, certain := f.Here.Says(r.Location); certain && said == fleet.Gone {
		return false
	}
	if r.StartedAt.IsZero() && r.Source != fleet.FromRespawn && !missedStart(r, now) {
		return true
	}
	l := f.Sessions.Liveness(ctx, r)
	return l == fleet.Lives || l == fleet.Unknown && (!r.StartedAt.IsZero() || f.Here.OnOtherHost(r.Location) || !missedStart(r, now))
}

// missedStart reports whether a planned run should have begun by now. One that was planned
// later than now was so by a clock that has been set back.
func missedStart(r fleet.Run, now time.Time) bool {
	return now.Sub(plain.Latest(r.CreatedAt, r.NotBefore)) >= StartGrace || r.CreatedAt.Sub(now) >= StartGrace
}

// Died estimates when a session crashed: right after the last sign of it, which is its log or
// the last renewal of its claim.
func (f *Reader) Died(r fleet.Run, s store.ClaimsAt) time.Time {
	last := r.StartedAt
	note := func(t time.Time) {
		if t.After(last) && !t.After(s.At) {
			last = t
		}
	}
	if log, err := os.Stat(fleet.FilesOf(f.Config.State, r.ID).Log); err == nil {
		note(log.ModTime())
	}
	for _, c := range s.Claims {
		if c.Key == r.Key && c.Holder == r.ID.Holder() {
			note(c.ExpiresAt.Add(-f.Config.Categories[r.Category].TTL))
		}
	}
	return last
}

// Liveness is a session's. A run that is over and has no folder any more has left nothing: the
// folder stays as long as anything does.
func (f *Reader) Liveness(ctx context.Context, r fleet.Run) fleet.Liveness {
	if f.Swept(r) {
		return fleet.Gone
	}
	return f.Sessions.Liveness(ctx, r)
}

// Swept reports whether the files of a run were removed, as those of old ones are.
func (f *Reader) Swept(r fleet.Run) bool {
	if r.StartedAt.IsZero() || r.EndedAt.IsZero() || f.Here.OnOtherHost(r.Location) {
		return false
	}
	_, err := os.Lstat(fleet.FilesOf(f.Config.State, r.ID).Dir)
	return errors.Is(err, fs.ErrNotExist)
}

// OverlapsOf are those of the tasks that are to change what other work changes.
func (f *Reader) OverlapsOf(ctx context.Context, tasks []fleet.Task) (map[fleet.TaskID]fleet.Overlap, error) {
	v, err := f.Present(ctx)
	v.Tasks = tasks
	if err != nil {
		return nil, err
	}
	return f.overlaps(ctx, v), nil
}

// overlaps are the workable tasks that are to change what other work changes. The files of a task
// are known of one that declares them, and of one with attempts on branches. Git is not asked
// where no task can be worked on, nor where no run ever had a folder of its own and no files are
// for one task at a time, and no more than the branches are looked at where nothing is known of any
// task. An error costs the order alone, and stops nothing.
func (f *Reader) overlaps(ctx context.Context, v View) map[fleet.TaskID]fleet.Overlap {
	_, none := os.Stat(filepath.Join(f.Config.State, "clones"))
	if none != nil && len(f.Config.Review.Serialize) == 0 || f.Work == nil ||
		!slices.ContainsFunc(v.Tasks, func(t fleet.Task) bool { return t.State.Workable() }) {
		return nil
	}
	found, err := f.findOverlaps(ctx, v)
	if err != nil {
		f.Log.WarnContext(ctx, "overlaps not looked for", slog.Any("err", err))
	}
	return found
}

func (f *Reader) findOverlaps(ctx context.Context, v View) (map[fleet.TaskID]fleet.Overlap, error) {
	_, items, err := f.items(ctx)
	if err != nil {
		return nil, err
	}
	reach := map[fleet.TaskID]review.Reach{}
	for _, t := range v.Tasks {
		if len(t.Paths) > 0 {
			reach[t.ID] = review.Reach{Paths: t.Paths}
		}
	}
	var work []review.Work
	people := map[fleet.TaskID]string{} // the folders in which people have the work of tasks
	for _, i := range items {
		task := i.Session.Task
		if task != "" && len(i.Files) > 0 {
			r := reach[task]
			r.Files = append(r.Files, i.Files...)
			reach[task] = r
		}
		if i.Open() && i.Apart {
			people[task] = i.Dir
		}
		if i.Open() {
			work = append(work, review.Work{Run: i.Run, Task: task, Reach: review.Reach{Files: i.Files}})
		}
	}
	if len(reach) == 0 {
		return nil, nil
	}
	// A crashed run is among them until a fire has closed it, as it is for the claim: what it
	// committed is no item yet.
	for _, r := range v.Snapshot.Open {
		if r.Key == "" {
			continue
		}
		w := review.Work{Run: r.ID, Task: r.Task, Session: true, Reach: reach[r.Task]}
		if r.Branch != "" {
			files, err := f.Work.Changed(ctx, r.Home())
			if err != nil { // its folder may be on its way out
				f.Log.WarnContext(ctx, "changes of a session not looked at", slog.String("run_id", string(r.ID)), slog.Any("err", err))
			}
			w.Files = append(files, w.Files...)
		}
		work = append(work, w)
	}
	found, all := map[fleet.TaskID]fleet.Overlap{}, review.NewOverlaps(work, f.Config.Review.Serialize)
	apart := review.Excluded(reach, f.Config.Review.Serialize)
	for _, t := range v.Tasks {
		if !t.State.Workable() {
			continue
		}
		o := all.Of(t.ID, reach[t.ID])
		if dir := people[t.ID]; dir != "" {
			o = fleet.Overlap{Why: "a person has its work checked out in " + plain.Line(dir), Waits: true}
		}
		if o.Apart = apart[t.ID]; o.Why != "" || len(o.Apart) > 0 {
			found[t.ID] = o
		}
	}
	return found, nil
}
