package sqlite

import (
	"context"
	"fmt"
	"time"

	"stint/internal/store/table"
)

// maxDamage bounds the list of [DB.Damage]: a file with twenty faults is as useless as one with a thousand.
const maxDamage = 20

// Damage has SQLite read the whole store and describes each fault in a line. Its time grows with the store, and it
// delays no writer. A store too damaged to read is an error.
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
