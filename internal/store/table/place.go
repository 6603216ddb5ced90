package table

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// Time is the place of a time in a row: milliseconds, and for the zero time null, or 0.
type Time struct {
	at   *time.Time
	zero driver.Value
}

// When is the place of a time in a column that has null for the zero time.
func When(t *time.Time) Time { return Time{t, nil} }

// Scan reads the time.
func (t Time) Scan(column any) error {
	ms, whole := column.(int64)
	switch {
	case column == t.zero:
		*t.at = time.Time{}
	case whole:
		*t.at = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("%v is no time in milliseconds", column)
	}
	return nil
}

// Value is what is written of the time.
func (t Time) Value() (driver.Value, error) {
	if t.at.IsZero() {
		return t.zero, nil
	}
	return t.at.UnixMilli(), nil
}

// Flag is the place of a bool in a column of 0 and 1.
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

// Value is what is written of the bool.
func (f Flag) Value() (driver.Value, error) {
	if *f.is {
		return int64(1), nil
	}
	return int64(0), nil
}

// Maybe is the place of a whole number in a column that has null for 0.
type Maybe[N ~int | ~int64] struct{ n *N }

// Scan reads the number.
func (m Maybe[N]) Scan(column any) error {
	n, whole := column.(int64)
	if !whole && column != nil {
		return fmt.Errorf("%v is no whole number", column)
	}
	*m.n = N(n)
	return nil
}

// Value is what is written of the number.
func (m Maybe[N]) Value() (driver.Value, error) {
	if *m.n == 0 {
		return nil, nil //nolint:nilnil // null is a value
	}
	return int64(*m.n), nil
}

// JSON is the place of a value that is written as JSON. Most rows have none of it: then the column
// has the text for nothing, such as [], and nothing is read.
type JSON struct {
	v       any
	nothing string
}

// Scan reads the value.
func (j JSON) Scan(column any) error {
	var text []byte
	switch c := column.(type) {
	case string:
		text = []byte(c)
	case []byte:
		text = c
	}
	if string(text) == j.nothing {
		return nil
	}
	if err := json.Unmarshal(text, j.v); err != nil {
		return fmt.Errorf("column of JSON: %w", err)
	}
	return nil
}

// Value is what is written of the value.
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
