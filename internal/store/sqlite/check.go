package sqlite

import (
	"context"
	"fmt"
)

// mostDamage bounds what [DB.Damage] lists: a file is as useless with twenty faults as with a
// thousand.
const mostDamage = 20

// Damage has SQLite read all of the store and says, in a line each, what in it is
// damaged. It takes time with the size of the store, and holds up no writer. A store that
// is so damaged that it cannot be read is an error.
func (d *DB) Damage(ctx context.Context) (faults []string, err error) {
	err = d.view(ctx, func(t tx) error {
		lines, err := collect(ctx, t, func(row scanner) (line string, err error) {
			err = row.Scan(&line)
			return line, err
		}, fmt.Sprintf("pragma integrity_check(%d)", mostDamage))
		if err != nil {
			return err
		}
		if len(lines) != 1 || lines[0] != "ok" {
			faults = lines
		}
		return nil
	})
	return faults, wrap(err, "check store %s", d.path)
}
