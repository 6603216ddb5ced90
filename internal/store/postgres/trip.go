package postgres

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"stint/internal/store/table"
)

// run runs statements in one round trip. Their rows are taken when all of them are here: a trip that
// is repeated after a failure gives none twice.
func run(ctx context.Context, c *pgx.Conn, list []table.Statement) error {
	var batch pgconn.Batch
	for _, s := range list {
		values, err := s.Values()
		if err != nil {
			return err
		}
		sent := make([][]byte, len(values))
		for i, v := range values {
			if sent[i], err = sentAs(v); err != nil {
				return fmt.Errorf("value %d of %q: %w", i+1, s.SQL, err)
			}
		}
		batch.ExecParams(s.SQL, sent, nil, nil, []int16{pgtype.BinaryFormatCode})
	}
	found := make([]rowset, 0, len(list))
	answers := c.PgConn().ExecBatch(ctx, &batch)
	for answers.NextResult() {
		found = append(found, answer(answers.ResultReader()))
	}
	if err := answers.Close(); err != nil {
		return err
	}
	for i, s := range list {
		if s.Scan == nil {
			continue
		}
		for r := range found[i].rows(c.TypeMap()) {
			if err := s.Scan(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// sentAs is a value as text; nil: null.
func sentAs(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case float64:
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	case string:
		return append(make([]byte, 0, len(v)), v...), nil // an empty one is no null
	}
	return nil, fmt.Errorf("a %T is no value of a store", v)
}

// rowset is the answer to a statement, as it came: a column of many rows is no value of its own yet.
type rowset struct {
	fields []pgconn.FieldDescription
	data   string  // of all rows
	sizes  []int32 // of all values; -1: null
}

func answer(from *pgconn.ResultReader) rowset {
	var data []byte
	found := rowset{fields: slices.Clone(from.FieldDescriptions())}
	for from.NextRow() {
		for _, v := range from.Values() {
			size := int32(len(v)) //nolint:gosec // a value has at most 1 GB
			if v == nil {
				size = -1
			}
			found.sizes = append(found.sizes, size)
			data = append(data, v...)
		}
	}
	found.data = string(data)
	return found
}

// rows are the rows of an answer, one after the other.
func (s rowset) rows(types *pgtype.Map) func(yield func(row) bool) {
	return func(yield func(row) bool) {
		data, width := s.data, len(s.fields)
		for at := 0; at < len(s.sizes); at += width {
			r := row{types, s.fields, s.sizes[at : at+width], data}
			for _, size := range r.sizes {
				data = data[max(0, size):]
			}
			if !yield(r) {
				return
			}
		}
	}
}

// row is a row of an answer.
type row struct {
	types  *pgtype.Map
	fields []pgconn.FieldDescription
	sizes  []int32
	data   string // from its first value on
}

// Scan reads the row into places.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r.fields) {
		return fmt.Errorf("%d places for %d columns", len(dest), len(r.fields))
	}
	data := r.data
	for i, d := range dest {
		c := column{kind: r.fields[i].DataTypeOID, null: r.sizes[i] < 0, data: data[:max(0, r.sizes[i])]}
		data = data[len(c.data):]
		if c.into(d) {
			continue
		}
		if err := r.scan(c, d); err != nil {
			return fmt.Errorf("column %s: %w", r.fields[i].Name, err)
		}
	}
	return nil
}

// scan reads a column that is of none of the kinds that stores are made of, or a place that is.
func (r row) scan(c column, d any) error {
	if s, ok := d.(scanner); ok {
		if v, known := c.value(); known {
			return s.Scan(v)
		}
	}
	var data []byte
	if !c.null {
		data = []byte(c.data)
	}
	return r.types.Scan(c.kind, pgtype.BinaryFormatCode, data, d)
}

// scanner is a place that reads a column by itself.
type scanner interface{ Scan(column any) error }

// column is a value as it came.
type column struct {
	kind uint32
	null bool
	data string
}

// number is a whole number or the bits of a fraction.
func (c column) number() (n uint64) {
	for i := range len(c.data) {
		n = n<<8 | uint64(c.data[i])
	}
	return n
}

// value is the value of a column, if it is of a kind that stores are made of.
func (c column) value() (v any, known bool) {
	switch {
	case c.null:
		return nil, true
	case c.kind == pgtype.Int8OID:
		return int64(c.number()), true //nolint:gosec // it has a sign
	case c.kind == pgtype.Float8OID:
		return math.Float64frombits(c.number()), true
	case c.kind == pgtype.TextOID:
		return c.data, true
	}
	return nil, false
}

// into puts the value into a place, if the two are of a kind that stores are made of.
func (c column) into(d any) bool {
	if _, scans := d.(scanner); scans {
		return false
	}
	to := reflect.ValueOf(d).Elem()
	if to.Kind() == reflect.Pointer {
		if c.null {
			to.SetZero()
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch {
	case c.null:
		return false
	case c.kind == pgtype.Int8OID && to.CanInt() && !to.OverflowInt(int64(c.number())): //nolint:gosec // it has a sign
		to.SetInt(int64(c.number())) //nolint:gosec // it has a sign
	case c.kind == pgtype.Float8OID && to.CanFloat():
		to.SetFloat(math.Float64frombits(c.number()))
	case c.kind == pgtype.TextOID && to.Kind() == reflect.String:
		to.SetString(c.data)
	default:
		return false
	}
	return true
}
