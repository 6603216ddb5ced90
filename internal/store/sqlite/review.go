package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// Reviews reads what was decided and found of the work of these runs, or of all.
func (d *DB) Reviews(ctx context.Context, runs ...fleet.RunID) (map[fleet.RunID]fleet.Review, error) {
	query, args := "select run, tip, decision, reason, url, decided_at, checked_tip, check_ok, check_reason, checked_at from reviews", []any{}
	if len(runs) > 0 {
		list, err := json.Marshal(runs) // there may be more than a statement takes parameters
		if err != nil {
			return nil, err
		}
		query, args = query+" where run in (select value from json_each(?))", []any{string(list)}
	}
	list, err := read(ctx, d, "reviews", scanReview, query, args...)
	all := make(map[fleet.RunID]fleet.Review, len(list))
	for _, r := range list {
		all[r.Run] = r
	}
	return all, err
}

func scanReview(row scanner) (r fleet.Review, err error) {
	var ok sql.NullBool
	err = row.Scan(&r.Run, &r.Tip, &r.Decision, &r.Reason, &r.URL, table.When(&r.DecidedAt), &r.Check.Tip, &ok, &r.Check.Reason, table.When(&r.Check.At))
	r.Check.OK = ok.Bool
	return r, err
}
