package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
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

// changeArm reads what is remembered of a category, lets change work on it, and writes it
// back. The caller's transaction holds the write lock.
func (t tx) changeArm(ctx context.Context, c fleet.Category, change func(a *bandit.Arm)) error {
	row := book.Arm{Category: c}
	if err := t.run(ctx, table.Arms().Select(func(found book.Arm) { row = found }, "where category = $1", c)); err != nil {
		return err
	}
	if err := t.checkpoint(ctx, c, row.Arm, false); err != nil {
		return err
	}
	change(&row.Arm)
	return t.run(ctx, table.Arms().Put(row))
}

// checkpoint keeps an arm as it is, before it learns under other settings than it has. Always: in
// any case.
func (t tx) checkpoint(ctx context.Context, c fleet.Category, a bandit.Arm, always bool) error {
	settings, err := json.Marshal(t.learn)
	if err != nil {
		return err
	}
	arm, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, `insert into checkpoints (category, settings, arm) select ?1, ?2, ?3
where ?4 or ?2 is not (select settings from checkpoints where category = ?1 order by id desc limit 1)`, c, string(settings), string(arm), always)
	return err
}

func (t tx) putArm(ctx context.Context, c fleet.Category, a bandit.Arm) error {
	return t.run(ctx, table.Arms().Put(book.Arm{Category: c, Arm: a}))
}

// round is the one that a category is in.
func (t tx) round(ctx context.Context, c fleet.Category) (now fleet.Round, err error) {
	err = t.QueryRowContext(ctx, "select coalesce(max(round), 0) from arms where category = ?", c).Scan(&now)
	return now, err
}

// move moves the clocks of the categories for which a fire is a round, and adds to their
// accounts what it entitles them to. It returns the rounds that they are in then.
func (t tx) move(ctx context.Context, f fleet.Fire) (map[fleet.Category]fleet.Round, error) {
	rounds := map[fleet.Category]fleet.Round{}
	for _, c := range f.Moves {
		err := t.changeArm(ctx, c, func(a *bandit.Arm) {
			a.Round++
			rounds[c] = a.Round
			if due, ok := f.Due[c]; ok {
				a.Entitle(t.learn, due)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return rounds, nil
}

// debit counts the session that a run begins, and notes in its row which one it is, in what round
// and under what load.
func (t tx) debit(ctx context.Context, id fleet.RunID) error {
	var (
		c     fleet.Category
		round fleet.Round
		load  float64
		nth   int
	)
	if err := t.QueryRowContext(ctx, "select category from runs where id = ?", id).Scan(&c); err != nil {
		return err
	}
	err := t.changeArm(ctx, c, func(a *bandit.Arm) { round, load, nth = a.Round, a.Debit(a.Round), a.Sessions })
	if err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, "update runs set round = ?, load = ?, nth = ? where id = ?", round, load, nth, id)
	return err
}

// learnFrom takes what a run's end says of its category into account: a grade, or that
// there was nothing to do. Anything else says nothing, and a failure that is held not yet.
func (t tx) learnFrom(ctx context.Context, r fleet.Run) error {
	if r.Held || r.Verdict.Fault == fleet.FaultAgent {
		return nil
	}
	if err := t.countLessons(ctx, r); err != nil {
		return err
	}
	v := r.Verdict
	switch {
	case v.Grade != nil:
		return t.learnGrade(ctx, r.ID, *v.Grade)
	case v.Empty():
		return t.changeArm(ctx, r.Category, func(a *bandit.Arm) { a.Vain(r.Task, r.Left.Last, a.Round, t.now) })
	case v.Outcome == fleet.Idle && r.Source != fleet.FromHand: // a fire had seen something to do, which a person need not have
		return t.changeArm(ctx, r.Category, func(a *bandit.Arm) { a.Sleep(a.Round, t.now) })
	}
	return nil
}

// learnGrade counts a grade. Nothing but [DB.Complete] may cause it. The run's row says what
// the grade counts for.
func (t tx) learnGrade(ctx context.Context, id fleet.RunID, grade float64) error {
	var (
		c     fleet.Category
		x     = bandit.Graded{Grade: grade}
		began time.Time
	)
	if err := t.QueryRowContext(ctx, "select category, round, load, coalesce(started_at, created_at) from runs where id = ?", id).Scan(&c, &x.Round, &x.Load, table.When(&began)); err != nil {
		return err
	}
	x.Turn = bandit.Turn(began)
	arms, err := t.arms(ctx)
	if err != nil {
		return err
	}
	arm, pool := arms[c].Arm, t.learn.Prior(inOrder(arms))
	was := t.learn.Belief(&arm, pool).Mean()
	if err := t.checkpoint(ctx, c, arm, false); err != nil {
		return err
	}
	alarm := t.learn.Learn(&arm, pool, x)
	if err := t.putArm(ctx, c, arm); err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, "update runs set counted = ?, counted_in = ? where id = ?", arm.Graded, arm.Round, id); err != nil {
		return err
	}
	if alarm {
		if err := t.checkpoint(ctx, c, arm, true); err != nil {
			return err
		}
		arms[c] = store.Arm{Arm: arm}
		became := t.learn.Belief(&arm, t.learn.Prior(inOrder(arms))).Mean()
		if _, err := t.ExecContext(ctx, "insert into grade_changes (run, at, was, became) values (?, ?, ?, ?)", id, millis(t.now), was, became); err != nil {
			return err
		}
	}
	return t.learnLessons(ctx, id, c, arm.Round, x, arm.Fast.W)
}

// lessonKey is one version of a lesson.
type lessonKey struct {
	id      fleet.LessonID
	version string
}

// learnLessons counts a grade for the lessons that matched its run, and moves the
// exposure of all that the category knows. Weight is that of the evidence with it.
func (t tx) learnLessons(ctx context.Context, id fleet.RunID, c fleet.Category, now fleet.Round, x bandit.Graded, weight float64) error {
	injected := map[lessonKey]bool{}
	lessons, err := t.matchedLessons(ctx, id, c, func(l *store.Lesson, with bool) {
		t.learn.Try(&l.Trial, with, now, x)
		injected[lessonKey{l.ID, l.Version}] = with
	})
	for key, l := range lessons {
		l.Exposure = bandit.Expose(l.Exposure, injected[key], weight)
		err = errors.Join(err, t.putLesson(ctx, l))
	}
	return err
}

// countLessons counts a session without work, or a failed one, for the lessons that matched
// its run.
func (t tx) countLessons(ctx context.Context, r fleet.Run) error {
	empty := r.Verdict.Empty()
	failed := r.Verdict.Outcome == fleet.Failed || r.Verdict.Outcome == fleet.Timeout
	if !empty && !failed {
		return nil
	}
	lessons, err := t.matchedLessons(ctx, r.ID, r.Category, func(l *store.Lesson, with bool) {
		a := l.Of(with)
		if empty {
			a.Empty++
		} else {
			a.Failed++
		}
	})
	for _, l := range lessons {
		err = errors.Join(err, t.putLesson(ctx, l))
	}
	return err
}

// matchedLessons reads what is known of lessons in a category, with those that matched a run,
// each of which is given to count.
func (t tx) matchedLessons(ctx context.Context, id fleet.RunID, c fleet.Category, count func(l *store.Lesson, injected bool)) (map[lessonKey]store.Lesson, error) {
	uses, err := t.lessonUses(ctx, id)
	if err != nil {
		return nil, err
	}
	known, err := t.lessons(ctx, "where category = ?", c)
	if err != nil {
		return nil, err
	}
	lessons := map[lessonKey]store.Lesson{}
	for _, l := range known {
		lessons[lessonKey{l.ID, l.Version}] = l
	}
	for _, u := range uses {
		key := lessonKey{u.Lesson, u.Version}
		l := lessons[key]
		l.ID, l.Version, l.Category = u.Lesson, u.Version, c
		count(&l, u.Injected)
		lessons[key] = l
	}
	return lessons, nil
}

func (t tx) lessons(ctx context.Context, where string, args ...any) (list []store.Lesson, err error) {
	add := func(l store.Lesson) { list = append(list, l) }
	err = t.run(ctx, table.Lessons().Select(add, where+" order by lesson, version, category", args...))
	return list, err
}

func (t tx) putLesson(ctx context.Context, l store.Lesson) error {
	return t.run(ctx, table.Lessons().Put(l))
}

func (t tx) lessonUses(ctx context.Context, id fleet.RunID) ([]fleet.LessonUse, error) {
	return collect(ctx, t, func(row scanner) (u fleet.LessonUse, err error) {
		err = row.Scan(&u.Lesson, &u.Version, &u.Injected)
		return u, err
	}, "select lesson, version, injected from run_lessons where run = ? order by lesson", id)
}

func (t tx) useLessons(ctx context.Context, id fleet.RunID, uses []fleet.LessonUse) error {
	if _, err := t.ExecContext(ctx, "delete from run_lessons where run = ?", id); err != nil { // of a task tried before
		return err
	}
	for _, u := range uses {
		if _, err := t.ExecContext(ctx, "insert into run_lessons (run, lesson, version, injected) values (?, ?, ?, ?)", id, u.Lesson, u.Version, u.Injected); err != nil {
			return err
		}
	}
	return nil
}

// Pause keeps fires from starting a category, or anything.
func (d *DB) Pause(ctx context.Context, p fleet.Pause) error {
	err := d.update(ctx, func(t tx) error {
		p.Since = t.now
		return t.run(ctx, table.Pauses().Put(p))
	})
	return wrap(err, "pause")
}

// Resume ends a pause, and the back-off of what was paused; with the whole fleet, also what
// keeps agents from working.
func (d *DB) Resume(ctx context.Context, c fleet.Category) (ended bool, err error) {
	err = d.update(ctx, func(t tx) error {
		for _, write := range []string{
			"delete from pauses where category = ?1",
			"update arms set noops = 0, asleep_until = 0, asleep_since = null, vain_at = '' where ?1 in (category, '') and (asleep_until > 0 or vain_at <> '')",
			"update tasks set rests = 0 where rests > 0 and (?1 = '' or exists (select 1 from runs where id = tasks.run and category = ?1))",
			`update agents set until = 0, since = 0, reason = '', failures = 0, limits = 0, fault = '', faults = 0, probe = ''
where ?1 = '' and (until > 0 or failures > 0 or faults > 0)`,
		} {
			n, err := t.exec(ctx, write, c)
			if err != nil {
				return err
			}
			ended = ended || n > 0
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("resume: %w", err)
	}
	return ended, nil
}

func (t tx) pauses(ctx context.Context) (list []fleet.Pause, err error) {
	err = t.run(ctx, table.Pauses().Select(func(p fleet.Pause) { list = append(list, p) }, "order by category"))
	return list, err
}

// inOrder is the arms by name: the order of a sum decides its last bit.
func inOrder(arms map[fleet.Category]store.Arm) []*bandit.Arm {
	var list []*bandit.Arm
	for _, c := range slices.Sorted(maps.Keys(arms)) {
		arm := arms[c].Arm
		list = append(list, &arm)
	}
	return list
}
