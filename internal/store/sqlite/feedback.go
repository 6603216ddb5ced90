package sqlite

import (
	"context"
	"strings"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// Feedback reads what was said of the work of runs.
func (d *DB) Feedback(ctx context.Context) (map[fleet.RunID]fleet.Feedback, error) {
	list, err := read(ctx, d, "feedback", scanFeedback, "select run, task, rounds, seen, said, at from feedback")
	all := make(map[fleet.RunID]fleet.Feedback, len(list))
	for _, f := range list {
		all[f.Run] = f
	}
	return all, err
}

func scanFeedback(row scanner) (f fleet.Feedback, err error) {
	seen := ""
	err = row.Scan(&f.Run, &f.Task, &f.Rounds, &seen, &f.Said, table.When(&f.At))
	f.Seen = strings.Fields(seen)
	return f, err
}
