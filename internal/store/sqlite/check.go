package sqlite

import (
	"context"
	"fmt"
	"time"

	"stint/internal/store/table"
)

// maxDamage bounds what [DB.Damage] lists: a file is as useless with twenty faults as with a
// thousand.
const maxDamage = 20

// Damage has SQLite read all of the store and says, in a line each, what in it is
// damaged. It takes time with the size of the store, and holds up no writer. A store that
// is so damaged that it cannot be read is an error.
func (d *DB) Damage(ctx context.Context) (faults []string, err error) {
	err = d.Read(ctx, func(time.Time) []table.Statement {
		return []table.Statement{{SQL: fmt.Sprintf("pragma integrity_check(%d)", maxDamage), Scan: func(row table.Scanner) error {
			var line string
			err := row.Scan(&line)
			if line != "ok" {
				faults = append(faults, line)
			}
			return err
		}}}
	})
	if err != nil {
		return nil, fmt.Errorf("check store %s: %w", d.path, err)
	}
	return faults, nil
}
