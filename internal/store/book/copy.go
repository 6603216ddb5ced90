package book

import (
	"context"
	"fmt"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/store"
	"stint/internal/store/table"
)

// Copy copies all rows of a store into an empty one, and marks the first as moved, so that nobody uses it again. Both
// are locked throughout. No session may be open: it would renew its claim in one store and be overtaken in the other.
//
// If we die before the second store has its rows, nothing has happened. If we die before the mark, both have them and
// the first is in use: the next call finds the same rows in both, and marks it. The rows are read back and compared
// before the mark, unless this is a dry run.
func Copy(ctx context.Context, from, to Engine, name string, dryRun bool) (list []store.Copied, err error) {
	err = from.Change(ctx, Copying, func(src Tx) error {
		src.All()
		list = plain.Each(src.Tables(), func(t table.Rowset) store.Copied { return store.Copied{Table: t.Name(), Rows: t.Len()} })
		for _, r := range src.Runs.Where("ended_at", nil) {
			return fleet.WithHint(fmt.Errorf("run %s of %s is open: %w", r.ID, r.Category, fleet.ErrUsage),
				"stint pause, wait until no session runs (stint status), and try again")
		}
		err := to.Change(ctx, Copying, func(p Tx) error { return p.fill(src) })
		if err == nil && !dryRun {
			err = to.Change(ctx, Copying, func(p Tx) error { return p.like(src) })
		}
		if err != nil {
			return fmt.Errorf("copy to %s: %w", name, err)
		}
		row := src.fleet()
		row.Moved = name
		src.Fleet.Put(row)
		return nil
	})
	return list, err
}

// fill writes all rows of another store, unless they are here already.
func (p Tx) fill(from Tx) error {
	p.All()
	here, there := p.Tables(), from.Tables()
	rows := 0
	for _, t := range here {
		rows += t.Len()
	}
	switch {
	case rows == 0:
	case p.like(from) == nil:
		return nil
	default:
		return fleet.WithHint(fmt.Errorf("it already has %d rows, and they differ: %w", rows, fleet.ErrUsage), "empty it, or name another store: stint help hosts")
	}
	for i, t := range here {
		t.Fill(there[i])
	}
	row, was := p.fleet(), from.fleet()
	row.Fires, row.Away = was.Fires, was.Away
	if was.Lineage.Incarnation > 0 { // the lineage is of other servers
		row.Lineage = fleet.Lineage{Incarnation: was.Lineage.Incarnation}
	}
	p.Fleet.Put(row)
	return nil
}

// like refuses a store whose rows differ from another's.
func (p Tx) like(from Tx) error {
	p.All()
	there := from.Tables()
	for i, t := range p.Tables() {
		if !t.Same(there[i]) {
			return fmt.Errorf("table %s has %d rows, which are not the %d that were copied", t.Name(), t.Len(), there[i].Len())
		}
	}
	is, was := p.fleet(), from.fleet()
	if is.Fires != was.Fires {
		return fmt.Errorf("the number of the last fire is %d, not %d", is.Fires, was.Fires)
	}
	return nil
}
