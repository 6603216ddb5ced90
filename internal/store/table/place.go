package table

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// Time maps a column of milliseconds to a time; null is the zero time.
type Time struct{ at *time.Time }

// When returns the place of a time.
func When(t *time.Time) Time { return Time{t} }

// Scan reads the time.
func (t Time) Scan(column any) error {
	ms, whole := column.(int64)
	switch {
	case column == nil:
		*t.at = time.Time{}
	case whole:
		*t.at = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("%v is no time in milliseconds", column)
	}
	return nil
}

// Value returns the time as it is written.
func (t Time) Value() (driver.Value, error) {
	if t.at.IsZero() {
		return nil, nil //nolint:nilnil // null is a value
	}
	return t.at.UnixMilli(), nil
}

// Flag maps a column of 0 and 1 to a bool.
type Flag struct{ is *bool }

// Scan reads the bool.
func (f Flag) Scan(column any) error {
	n, whole := column.(int64)
	if !whole {
		return fmt.Errorf("%v is neither 0 nor 1", column)
	}
	*f.is = n != 0
	return nil
}

// Value returns the bool as it is written.
func (f Flag) Value() (driver.Value, error) {
	if *f.is {
		return int64(1), nil
	}
	return int64(0), nil
}

// Maybe maps a column to a number or a text; null is 0 or "".
type Maybe[V ~int | ~int64 | ~string] struct{ v *V }

// Scan reads the value.
func (m Maybe[V]) Scan(column any) error {
	var v sql.Null[V]
	err := v.Scan(column)
	*m.v = v.V
	return err
}

// Value returns the value as it is written.
func (m Maybe[V]) Value() (driver.Value, error) {
	if *m.v == *new(V) {
		return nil, nil //nolint:nilnil // null is a value
	}
	return driver.DefaultParameterConverter.ConvertValue(*m.v)
}

// JSON maps a column of JSON to a value. Most rows have none: then the column has an empty text, such as [], which is
// not decoded.
type JSON struct {
	v       any
	nothing string
}

// Scan reads the value.
func (j JSON) Scan(column any) error {
	s := text(column)
	if s == j.nothing {
		return nil
	}
	if err := json.Unmarshal([]byte(s), j.v); err != nil {
		return fmt.Errorf("column of JSON: %w", err)
	}
	return nil
}

// Value returns the value as it is written.
func (j JSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.v)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return j.nothing, nil
	}
	return string(text), nil
}

// text converts a driver's value to a text; null is "".
func text(column any) string {
	switch c := column.(type) {
	case string:
		return c
	case []byte:
		return string(c)
	}
	return ""
}
