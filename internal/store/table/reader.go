package table

import (
	"context"
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store/book"
)

// Source is a store that can be read.
type Source interface {
	// Read reads rows, all as of one instant. It runs the statements in their order.
	Read(ctx context.Context, ask func(now time.Time) []Statement) error
}

// Reader is the reads of a store.
type Reader struct{ Source }

// Run reads one run; one that does not exist wraps [fleet.ErrNotFound].
func (r Reader) Run(ctx context.Context, id fleet.RunID) (fleet.Run, error) {
	list, err := r.runs(ctx, "where id = $1", id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("run %s: %w", id, fleet.ErrNotFound)
	}
	if err != nil {
		return fleet.Run{}, err
	}
	return list[0], nil
}

func (r Reader) runs(ctx context.Context, tail string, args ...any) (list []fleet.Run, err error) {
	err = r.Read(ctx, func(time.Time) []Statement {
		return Ended(func(run fleet.Run) { list = append(list, run) }, tail, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return list, nil
}

// Ended reads runs with what became of their work. Tail is what follows the table's name.
func Ended(add func(fleet.Run), tail string, args ...any) []Statement {
	fates := map[fleet.RunID][]fleet.Fate{}
	return []Statement{
		Fates().Select(func(f book.Fate) { fates[f.Run] = append(fates[f.Run], f.Fate) },
			"where run in (select id from runs "+tail+") order by run, seq", args...),
		Runs().Select(func(r book.Run) {
			r.Fates = fates[r.ID]
			add(r.Run)
		}, tail, args...),
	}
}
