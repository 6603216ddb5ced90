package sqlite

import (
	"context"
	"database/sql"
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

// AddFates records what became of the work of runs, and corrects what was learnt of them.
//
// All of it is one transaction: if we die before the commit, the next look finds the same again.
func (d *DB) AddFates(ctx context.Context, list []fleet.Fate) (news []fleet.Fate, err error) {
	err = d.update(ctx, func(t tx) error {
		news = nil
		memories := map[fleet.Category]*memory{}
		for _, f := range list {
			f, isNew, err := t.addFate(ctx, f, memories)
			if err != nil {
				return fmt.Errorf("%s of run %s: %w", f.Kind, f.Run, err)
			}
			if isNew {
				news = append(news, f)
			}
		}
		for _, c := range slices.Sorted(maps.Keys(memories)) {
			if memories[c].corrected {
				if err := t.relearn(ctx, c, *memories[c]); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return news, wrap(err, "record what became of runs")
}

// memory is what the evidence of a category is worked out from.
type memory struct {
	ids       []int64 // of the checkpoints from the last alarm on
	points    []store.Checkpoint
	corrected bool
}

// addFate records one thing that became of a run's work, and reports whether it is news.
func (t tx) addFate(ctx context.Context, f fleet.Fate, memories map[fleet.Category]*memory) (fleet.Fate, bool, error) {
	var (
		e     store.Entry
		first *float64
		known bool
		fates string
	)
	if f.At.IsZero() || f.At.After(t.now) {
		f.At = t.now
	}
	err := t.QueryRowContext(ctx, `select category, round, load, coalesce(started_at, created_at), coalesce(counted, 0), grade, coalesce(final, grade), `+fatesOfRun+`,
exists (select 1 from fates where run = id and kind = ? and witness = ?) from runs where id = ?`, f.Kind, f.Witness, f.Run).Scan(
		&e.Category, &e.Round, &e.Load, table.When(&e.Began), &e.Counted, &first, &e.Grade, &fates, &known)
	if errors.Is(err, sql.ErrNoRows) || known {
		return f, false, nil
	} else if err != nil {
		return f, false, err
	}
	before, err := scanFates(f.Run, fates)
	if err != nil {
		return f, false, err
	}
	f.Grade = book.Graded(first, before, f)
	m, err := t.memory(ctx, e.Category, memories)
	if err != nil {
		return f, false, err
	}
	belief := len(m.points) > 0 && e.Counted > m.points[0].Arm.Graded
	if _, err := t.ExecContext(ctx, "insert into fates (run, seq, at, kind, witness, reason, grade, belief) values (?, ?, ?, ?, ?, ?, ?, ?)",
		f.Run, len(before)+1, millis(f.At), f.Kind, f.Witness, f.Reason, f.Grade, belief); err != nil {
		return f, false, err
	}
	if _, err := t.ExecContext(ctx, "update runs set final = ? where id = ?", f.Grade, f.Run); err != nil {
		return f, false, err
	}
	if f.Grade == nil || e.Counted == 0 || *f.Grade == *e.Grade {
		return f, true, nil
	}
	m.corrected = m.corrected || belief
	return f, true, t.correctLessons(ctx, f, e)
}

// correctLessons has the lessons that matched a run count with its corrected grade.
func (t tx) correctLessons(ctx context.Context, f fleet.Fate, e store.Entry) error {
	now, err := t.round(ctx, e.Category)
	if err != nil {
		return err
	}
	used := map[lessonKey]bool{}
	lessons, err := t.matchedLessons(ctx, f.Run, e.Category, func(l *store.Lesson, injected bool) {
		t.learn.Correct(&l.Trial, injected, now, bandit.Graded{Round: e.Round, Grade: *f.Grade}, *e.Grade)
		used[lessonKey{l.ID, l.Version}] = true
	})
	for key := range used {
		err = errors.Join(err, t.putLesson(ctx, lessons[key]))
	}
	return err
}

// memory reads, once, what the evidence of a category is worked out from.
func (t tx) memory(ctx context.Context, c fleet.Category, memories map[fleet.Category]*memory) (*memory, error) {
	if m := memories[c]; m != nil {
		return m, nil
	}
	m := &memory{}
	points, err := collect(ctx, t, func(row scanner) (p store.Checkpoint, err error) {
		var (
			id            int64
			settings, arm []byte
		)
		if err = row.Scan(&id, &settings, &arm); err == nil {
			err = unmarshalBoth(settings, &p.Settings, arm, &p.Arm)
		}
		m.ids = append(m.ids, id)
		return p, err
	}, "select id, settings, arm from checkpoints where category = ? order by id", c)
	from := book.Remembered(points)
	m.ids, m.points = m.ids[min(from, len(m.ids)):], points[min(from, len(points)):]
	memories[c] = m
	return m, err
}

// relearn works the evidence of a category out anew.
func (t tx) relearn(ctx context.Context, c fleet.Category, m memory) error {
	grades, err := t.entries(ctx, "where category = ? and counted > ? order by counted", c, m.points[0].Arm.Graded)
	if err != nil {
		return err
	}
	arms, err := t.arms(ctx)
	if err != nil {
		return err
	}
	points, arm := book.Relearnt(m.points, arms[c].Arm, grades)
	for i, p := range points {
		text, err := json.Marshal(p.Arm)
		if err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, "update checkpoints set arm = ? where id = ?", string(text), m.ids[i]); err != nil {
			return err
		}
	}
	return t.putArm(ctx, c, arm)
}

// scanFates reads what [fatesOfRun] gives.
func scanFates(run fleet.RunID, text string) (list []fleet.Fate, err error) {
	type row struct {
		Seq     int            `json:"seq"`
		At      int64          `json:"at"`
		Kind    fleet.FateKind `json:"kind"`
		Witness string         `json:"witness"`
		Reason  string         `json:"reason"`
		Grade   *float64       `json:"grade"`
	}
	var rows []row
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("fates of run %s: %w", run, err)
	}
	slices.SortFunc(rows, func(a, b row) int { return a.Seq - b.Seq })
	for _, r := range rows {
		list = append(list, fleet.Fate{Run: run, At: time.UnixMilli(r.At).UTC(), Kind: r.Kind, Witness: r.Witness, Reason: r.Reason, Grade: r.Grade})
	}
	return list, nil
}
