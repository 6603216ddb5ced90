package book

import (
	"context"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store/table"
)

// Forget has the record begin at a time, unless it begins later, deletes one batch of what is older, and returns how
// many runs and fires that was about. Fires stay, without what they were decided by: they are few, and small.
func (p Tx) Forget(before time.Time) (n int) {
	p.Ahead(p.Old.Ask(table.Forgettable(before)), p.Fired.Ask(oldFires()))
	row := p.fleet()
	first, moved := row.Edge.Fire, before.After(row.Edge.From)
	if moved {
		row.Edge.From = table.Whole(before)
	}
	runs := plain.Each(p.Old.Where(table.Forgettable(before)), func(r table.Run) fleet.RunID { return r.ID })
	for _, f := range p.Fired.Where(oldFires()) {
		if f.ID != row.Edge.Fire+1 || !f.At.Before(before) {
			break
		}
		row.Edge.Fire = f.ID
	}
	p.Tx.Forget(runs, first, row.Edge.Fire, before)
	if moved || row.Edge.Fire > first {
		p.Fleet.Put(row)
	}
	return len(runs) + int(row.Edge.Fire-first)
}

// oldFires bounds fires by one batch of those that still have all that was theirs.
func oldFires() table.Only {
	return table.Only{SQL: "id > (select kept_fire from fleet) order by id limit 100"}
}

// Forget deletes one batch of what the record does not begin with. All of it is one transaction: if we
// die between two, the figures add up all the same, and the next call goes on.
func (w Writer) Forget(ctx context.Context, before time.Time) (n int, err error) {
	return decided(ctx, w, func(p Tx) int { return p.Forget(before) }, "forget what is old")
}
