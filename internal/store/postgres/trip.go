package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"stint/internal/store/table"
)

// The server reads a whole message before it runs any of it: a longer one is sent in parts.
const longest = 1 << 20

// run runs statements in one round trip, unless they are long. They go as one text with their values in it: for a
// statement that runs once, this costs the server a third less than a plan for any values. Rows are scanned after all
// have arrived, so that a retried trip yields none twice.
func run(ctx context.Context, c *pgconn.PgConn, list []table.Statement) (err error) {
	var (
		sql   []byte
		found []*pgconn.Result
	)
	for i, s := range list {
		if sql, err = appendStatement(sql, s); err != nil {
			return err
		}
		if i < len(list)-1 && len(sql) < longest {
			continue
		}
		results, err := c.Exec(ctx, string(sql)).ReadAll()
		if err != nil {
			return err
		}
		found, sql = append(found, results...), nil
	}
	kinds := pgtype.NewMap()
	for i, s := range list {
		if s.Scan == nil {
			continue
		}
		for _, values := range found[i].Rows {
			if err := s.Scan(row{kinds, found[i].FieldDescriptions, values}); err != nil {
				return err
			}
		}
	}
	return nil
}

// row is one row of an answer, as text.
type row struct {
	kinds  *pgtype.Map
	fields []pgconn.FieldDescription
	values [][]byte
}

// Scan reads the row into variables.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r.fields) {
		return fmt.Errorf("%d places for %d columns", len(dest), len(r.fields))
	}
	for i, f := range r.fields {
		if err := r.kinds.Scan(f.DataTypeOID, f.Format, r.values[i], dest[i]); err != nil {
			return fmt.Errorf("column %s: %w", f.Name, err)
		}
	}
	return nil
}

// say runs one statement, or several in one text.
func say(ctx context.Context, c *pgconn.PgConn, sql string) error {
	return run(ctx, c, []table.Statement{{SQL: sql}})
}

// ask reads an answer of one row.
func ask(ctx context.Context, c *pgconn.PgConn, sql string, args []any, into ...any) error {
	return run(ctx, c, []table.Statement{{SQL: sql, Args: args, Scan: func(row table.Scanner) error { return row.Scan(into...) }}})
}

// appendStatement appends a statement with its values in place. A $ must mark a value.
func appendStatement(sql []byte, s table.Statement) ([]byte, error) {
	values, err := s.Values()
	if err != nil {
		return nil, err
	}
	before, rest, place := strings.Cut(s.SQL, "$")
	for sql = append(sql, before...); place; sql = append(sql, before...) {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n < 1 || n > len(values) {
			return nil, fmt.Errorf("%q has %d values", s.SQL, len(values))
		}
		if sql, err = appendValue(sql, values[n-1]); err != nil {
			return nil, fmt.Errorf("value %d of %q: %w", n, s.SQL, err)
		}
		before, rest, place = strings.Cut(rest[digits:], "$")
	}
	return append(sql, ';'), nil
}

// appendValue appends a value as an untyped literal: its place gives the type.
func appendValue(sql []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(sql, "null"...), nil
	case int64:
		return append(strconv.AppendInt(append(sql, '\''), v, 10), '\''), nil
	case float64:
		return append(strconv.AppendFloat(append(sql, '\''), v, 'g', -1, 64), '\''), nil
	case string:
		return appendText(sql, v), nil
	}
	return nil, fmt.Errorf("a %T is no value of a store", v)
}

// appendText appends a text literal that does not depend on the server's settings for backslashes. A backslash is
// written as a number: in some encodings it is the second half of a character.
func appendText(sql []byte, text string) []byte {
	if strings.ContainsAny(text, `'\`) {
		sql, text = append(sql, " E"...), strings.NewReplacer(`'`, `''`, `\`, `\134`).Replace(text)
	}
	sql = append(sql, '\'')
	sql = append(sql, text...)
	return append(sql, '\'')
}
