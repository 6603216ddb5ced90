package postgres

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stint/internal/store/table"
)

// The server reads all of a message before it runs any of it: a longer one is sent in parts.
const longest = 1 << 20

// run runs statements in one round trip, unless they are long. They go as one text with their values in it: for a
// statement that is run once this costs the server a third less than one that it is to plan for any values. Their rows
// are taken when all of them are here: a trip that is repeated after a failure gives none twice.
func run(ctx context.Context, c *pgconn.PgConn, list []table.Statement) error {
	var (
		sql   = make([]byte, 0, 4<<10)
		err   error
		found = make([]rowset, 0, len(list))
	)
	for i, s := range list {
		if sql, err = appendStatement(sql, s); err != nil {
			return err
		}
		if i < len(list)-1 && len(sql) < longest {
			continue
		}
		answers := c.Exec(ctx, string(sql))
		for answers.NextResult() {
			found = append(found, answer(answers.ResultReader()))
		}
		if err := answers.Close(); err != nil {
			return err
		}
		sql = sql[:0]
	}
	for i, s := range list {
		if s.Scan == nil {
			continue
		}
		for r := range found[i].rows() {
			if err := s.Scan(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// say runs one statement, or several of a text.
func say(ctx context.Context, c *pgconn.PgConn, sql string) error {
	return run(ctx, c, []table.Statement{{SQL: sql}})
}

// ask reads the one row of an answer.
func ask(ctx context.Context, c *pgconn.PgConn, sql string, args []any, into ...any) error {
	return run(ctx, c, []table.Statement{{SQL: sql, Args: args, Scan: func(row table.Scanner) error { return row.Scan(into...) }}})
}

// appendStatement appends a statement with its values in their places. It has no other dollar signs.
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

// appendValue appends a value as a literal of no type: its place says which it is.
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

// appendText appends a text. It is one to the server whatever its settings say of backslashes. A backslash is written as a
// number: there are encodings in which the second half of another character is one.
func appendText(sql []byte, text string) []byte {
	if strings.ContainsAny(text, `'\`) {
		sql, text = append(sql, " E"...), strings.NewReplacer(`'`, `''`, `\`, `\134`).Replace(text)
	}
	sql = append(sql, '\'')
	sql = append(sql, text...)
	return append(sql, '\'')
}

// rowset is the answer to a statement, as it came: a column of many rows is no value of its own yet.
type rowset struct {
	names []string
	kinds []uint32
	data  string  // of all rows
	sizes []int32 // of all values; -1: null
}

func answer(from *pgconn.ResultReader) rowset {
	var (
		found rowset
		data  strings.Builder
	)
	for _, f := range from.FieldDescriptions() {
		found.names, found.kinds = append(found.names, f.Name), append(found.kinds, f.DataTypeOID)
	}
	for from.NextRow() {
		values := from.Values()
		if len(values) > cap(found.sizes)-len(found.sizes) {
			found.sizes = slices.Grow(found.sizes, len(found.sizes)+len(values)) // "append" would copy many rows five times
		}
		for _, v := range values {
			size := int32(len(v)) //nolint:gosec // a value has at most 1 GB
			if v == nil {
				size = -1
			}
			found.sizes = append(found.sizes, size)
			data.Grow(len(v)) // doubles it
			data.Write(v)
		}
	}
	found.data = data.String()
	return found
}

// rows are the rows of an answer, one after the other.
func (s rowset) rows() func(yield func(row) bool) {
	return func(yield func(row) bool) {
		data, width := s.data, len(s.names)
		for at := 0; at < len(s.sizes); at += width {
			r := row{s.names, s.kinds, s.sizes[at : at+width], data}
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
	names []string
	kinds []uint32
	sizes []int32
	data  string // from its first value on
}

// Scan reads the row into places.
func (r row) Scan(dest ...any) error {
	if len(dest) != len(r.names) {
		return fmt.Errorf("%d places for %d columns", len(dest), len(r.names))
	}
	data := r.data
	for i, d := range dest {
		c := column{kind: r.kinds[i], null: r.sizes[i] < 0, text: data[:max(0, r.sizes[i])]}
		data = data[len(c.text):]
		if err := c.into(d); err != nil {
			return fmt.Errorf("column %s: %w", r.names[i], err)
		}
	}
	return nil
}

// scanner is a place that reads a column by itself.
type scanner interface{ Scan(column any) error }

// Kinds of columns that are numbers, by the server's catalog of types.
const (
	bigint  = 20
	integer = 23
	double  = 701
)

// column is a value as it came, which is as text.
type column struct {
	kind uint32
	null bool
	text string
}

// value is the value of a column of one of the kinds that stores are made of.
func (c column) value() (any, error) {
	switch {
	case c.null:
		return nil, nil //nolint:nilnil // null is a value
	case c.kind == bigint, c.kind == integer:
		return strconv.ParseInt(c.text, 10, 64)
	case c.kind == double:
		return strconv.ParseFloat(c.text, 64)
	}
	return c.text, nil
}

// into puts the value into a place.
func (c column) into(d any) error {
	if s, scans := d.(scanner); scans {
		v, err := c.value()
		if err != nil {
			return err
		}
		return s.Scan(v)
	}
	to := reflect.ValueOf(d).Elem()
	if to.Kind() == reflect.Pointer {
		if c.null {
			to.SetZero()
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	if c.null {
		return fmt.Errorf("null is no %s", to.Type())
	}
	return c.set(to)
}

// set puts a value that is not null into a place of a type.
func (c column) set(to reflect.Value) error {
	switch kind := to.Kind(); {
	case kind == reflect.String:
		to.SetString(c.text)
	case kind == reflect.Bool && (c.text == "t" || c.text == "f"):
		to.SetBool(c.text == "t")
	case to.CanInt():
		n, err := strconv.ParseInt(c.text, 10, to.Type().Bits())
		to.SetInt(n)
		return err
	case to.CanFloat():
		x, err := strconv.ParseFloat(c.text, 64)
		to.SetFloat(x)
		return err
	default:
		return fmt.Errorf("%q is no %s", c.text, to.Type())
	}
	return nil
}
