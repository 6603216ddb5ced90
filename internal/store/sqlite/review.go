package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"stint/internal/fleet"
	"stint/internal/store/table"
)

// SaveReview stores what was decided of a run's work, and how its check went. A part that is not
// given stays as it was.
func (d *DB) SaveReview(ctx context.Context, r fleet.Review) error {
	err := d.update(ctx, func(t tx) error {
		_, err := t.ExecContext(ctx, `insert into reviews (run, tip, decision, reason, url, checked_tip, check_reason)
values (?, '', '', '', '', '', '') on conflict do nothing`, r.Run)
		if err == nil && r.Decision != "" {
			_, err = t.ExecContext(ctx, "update reviews set tip = ?, decision = ?, reason = ?, url = ?, decided_at = ? where run = ?",
				r.Tip, r.Decision, r.Reason, r.URL, millis(t.now), r.Run)
		}
		if err == nil && r.Decision.Final() {
			err = t.giveBack(ctx, r.Run)
		}
		if err == nil && r.Check.Tip != "" {
			_, err = t.ExecContext(ctx, "update reviews set checked_tip = ?, check_ok = ?, check_reason = ?, checked_at = ? where run = ?",
				r.Check.Tip, r.Check.OK, r.Check.Reason, millis(t.now), r.Run)
		}
		return err
	})
	return wrap(err, "save review of run %s", r.Run)
}

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
