package sqlite

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// lastSession is when the category's last session on a machine ended, or on one that nobody knows:
// a rest protects the work tree of that machine. An end that lies ahead is of a
// clock that was wrong, and nothing rests after it.
const lastSession = "(select max(ended_at) from runs where runs.category = arms.category and key <> '' and ended_at <= ?1 and (?2 = '' or host in ('', ?2)))"

// arms reads what is remembered of every category.
func (t tx) arms(ctx context.Context) (map[fleet.Category]store.Arm, error) {
	here := ""
	if t.host != nil {
		here = t.host()
	}
	m := map[fleet.Category]store.Arm{}
	_, err := collect(ctx, t, func(row scanner) (struct{}, error) {
		var ended time.Time
		a, err := table.Arms().Scan(row, table.When(&ended))
		m[a.Category] = store.Arm{Arm: a.Arm, Ended: ended}
		return struct{}{}, err
	}, "select "+table.Arms().Names()+", "+lastSession+" from arms", millis(t.now.Add(fleet.ClockSlack)), here)
	return m, err
}

func (t tx) lessons(ctx context.Context, where string, args ...any) (list []store.Lesson, err error) {
	add := func(l store.Lesson) { list = append(list, l) }
	err = t.run(ctx, table.Lessons().Select(add, where+" order by lesson, version, category", args...))
	return list, err
}

func (t tx) lessonUses(ctx context.Context, id fleet.RunID) ([]fleet.LessonUse, error) {
	return collect(ctx, t, func(row scanner) (u fleet.LessonUse, err error) {
		err = row.Scan(&u.Lesson, &u.Version, &u.Injected)
		return u, err
	}, "select lesson, version, injected from run_lessons where run = ? order by lesson", id)
}

func (t tx) pauses(ctx context.Context) (list []fleet.Pause, err error) {
	err = t.run(ctx, table.Pauses().Select(func(p fleet.Pause) { list = append(list, p) }, "order by category"))
	return list, err
}
