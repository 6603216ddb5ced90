package table

import (
	"context"
	"fmt"
	"math"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

func (r Reader) fires(ctx context.Context, from Table[Fire], tail string, args ...any) ([]fleet.Fire, error) {
	return read(ctx, r, "fires", func(add func(fleet.Fire)) Statement {
		return from.Select(func(f Fire) { add(f.Fire) }, tail, args...)
	})
}

// Fire reads one fire. Without it the error wraps [fleet.ErrNotFound].
func (r Reader) Fire(ctx context.Context, id fleet.FireID) (fleet.Fire, error) {
	list, err := r.fires(ctx, Fires(), "where id = $1", id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("fire %d: %w", id, fleet.ErrNotFound)
	}
	if err != nil {
		return fleet.Fire{}, err
	}
	return list[0], nil
}

// LastFires reads the latest fires that match a query, newest first.
func (r Reader) LastFires(ctx context.Context, q store.FireQuery) ([]fleet.Fire, error) {
	var w where
	w.add(q.Before != 0, "id < ?", q.Before)
	w.add(q.Pool != "", "pool = ?", q.Pool)
	w.add(!q.Until.IsZero(), "at <= ?", q.Until.UnixMilli())
	from := Fires()
	if q.Brief {
		from = from.Without("inputs", "selection")
	}
	tail, args := w.latest("id desc", q.Limit)
	return r.fires(ctx, from, tail, args...)
}

// bounds returns a span's first millisecond and the one after its last.
func bounds(s store.Span) []any {
	if s.To.IsZero() {
		return []any{s.From.UnixMilli(), math.MaxInt64}
	}
	return []any{s.From.UnixMilli(), s.To.UnixMilli()}
}

// Fallbacks counts the fires of a span in which the external selector failed.
func (r Reader) Fallbacks(ctx context.Context, s store.Span) (n int, err error) {
	err = r.Read(ctx, func(time.Time) []Statement {
		return []Statement{{
			SQL: "select count(*) from fires where fallback <> '' and at >= $1 and at < $2", Args: bounds(s),
			Scan: func(row Scanner) error { return row.Scan(&n) },
		}}
	})
	return n, wrap(err, "read fires")
}

// Entitled sums up the dues that the fires of a span gave to each category.
func (r Reader) Entitled(ctx context.Context, s store.Span) (map[fleet.Category]float64, error) {
	sums, due := map[fleet.Category]float64{}, map[fleet.Category]float64{}
	err := r.Read(ctx, func(time.Time) []Statement {
		return []Statement{{
			SQL: "select due from fires where at >= $1 and at < $2 order by at, id", Args: bounds(s),
			Scan: func(row Scanner) error {
				clear(due)
				err := row.Scan(JSON{&due, "{}"})
				for c, n := range due {
					sums[c] += n
				}
				return err
			},
		}}
	})
	return sums, wrap(err, "read fires")
}

// GradeChanges reads the latest changes that match a query, newest first.
func (r Reader) GradeChanges(ctx context.Context, q store.ChangeQuery) ([]fleet.GradeChange, error) {
	var w where
	w.add(true, "alarm_at >= ?", max(0, q.Since.UnixMilli()))
	w.add(q.Category != "", "category = ?", q.Category)
	w.add(q.Run != "", "id = ?", q.Run)
	tail, args := w.latest("alarm_at desc, id desc", q.Limit)
	return read(ctx, r, "changes of grades", func(add func(fleet.GradeChange)) Statement {
		return Statement{
			SQL:  "select id, alarm_at, was, became, fire, category from runs " + tail,
			Args: args,
			Scan: func(row Scanner) error {
				var c fleet.GradeChange
				err := row.Scan(&c.Run, When(&c.At), &c.Was, &c.Became, Maybe[fleet.FireID]{&c.Fire}, &c.Category)
				add(c)
				return err
			},
		}
	})
}
