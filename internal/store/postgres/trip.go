package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"stint/internal/store/table"
)

// run runs statements in one round trip. Their rows are taken when all of them are here: a trip that
// is repeated after a failure gives none twice.
func run(ctx context.Context, c *pgx.Conn, list []table.Statement) error {
	var batch pgx.Batch
	for _, s := range list {
		values, err := s.Values()
		if err != nil {
			return err
		}
		batch.Queue(s.SQL, values...)
	}
	found := make([]rowset, len(list))
	answers := c.SendBatch(ctx, &batch)
	for i := range list {
		var err error
		if found[i], err = answer(answers); err != nil {
			_ = answers.Close() // fails alike
			return err
		}
	}
	if err := answers.Close(); err != nil {
		return err
	}
	for i, s := range list {
		if s.Scan == nil {
			continue
		}
		for _, values := range found[i].rows {
			if err := s.Scan(row{c.TypeMap(), found[i].fields, values}); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowset is the answer to a statement, as it came.
type rowset struct {
	fields []pgconn.FieldDescription
	rows   [][][]byte
}

func answer(from pgx.BatchResults) (found rowset, err error) {
	rows, err := from.Query()
	if err != nil {
		return rowset{}, err
	}
	defer rows.Close()
	found.fields = slices.Clone(rows.FieldDescriptions())
	for rows.Next() {
		var values [][]byte
		for _, v := range rows.RawValues() {
			values = append(values, slices.Clone(v)) // null stays nil
		}
		found.rows = append(found.rows, values)
	}
	return found, rows.Err()
}

// row is a row of an answer.
type row struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][]byte
}

// Scan reads the row into places.
func (r row) Scan(dest ...any) error { return pgx.ScanRow(r.types, r.fields, r.values, dest...) }
