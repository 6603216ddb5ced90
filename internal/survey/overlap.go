package survey

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/review"
)

// OverlapsOf are those of the tasks that are to change what other work changes.
func (f *Fleet) OverlapsOf(ctx context.Context, tasks []fleet.Task) (map[fleet.TaskID]fleet.Overlap, error) {
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
func (f *Fleet) overlaps(ctx context.Context, v View) map[fleet.TaskID]fleet.Overlap {
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

func (f *Fleet) findOverlaps(ctx context.Context, v View) (map[fleet.TaskID]fleet.Overlap, error) {
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
	// One that crashed is among them until a fire has closed it, as it is for the claim: what it
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
	apart := review.Apart(reach, f.Config.Review.Serialize)
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
