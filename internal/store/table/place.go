package table

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
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
	s := text(column)
	if s == j.nothing {
		return nil
	}
	if err := json.Unmarshal([]byte(s), j.v); err != nil {
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

// Word is the place of a text in a column that has null for none.
type Word[S ~string] struct{ text *S }

// Scan reads the text.
func (w Word[S]) Scan(column any) error {
	*w.text = S(text(column))
	return nil
}

// Value is what is written of the text.
func (w Word[S]) Value() (driver.Value, error) {
	if *w.text == "" {
		return nil, nil //nolint:nilnil // null is a value
	}
	return string(*w.text), nil
}

// Words is the place of words in a column of text, with blanks between them.
type Words struct{ list *[]string }

// Scan reads the words.
func (w Words) Scan(column any) error {
	*w.list = strings.Fields(text(column))
	return nil
}

// Value is what is written of the words.
func (w Words) Value() (driver.Value, error) { return strings.Join(*w.list, " "), nil }

// Raw is the place of bytes in a column of text.
type Raw struct{ bytes *[]byte }

// Scan reads the bytes.
func (r Raw) Scan(column any) error {
	*r.bytes = []byte(text(column))
	return nil
}

// Value is what is written of the bytes.
func (r Raw) Value() (driver.Value, error) { return string(*r.bytes), nil }

// Decimal is the place of a number of 64 bits without a sign, in a column of text.
type Decimal struct{ n *uint64 }

// Scan reads the number.
func (d Decimal) Scan(column any) (err error) {
	*d.n, err = strconv.ParseUint(text(column), 10, 64)
	return err
}

// Value is what is written of the number.
func (d Decimal) Value() (driver.Value, error) { return strconv.FormatUint(*d.n, 10), nil }

// text is a column of text as drivers give it; of null, none.
func text(column any) string {
	switch c := column.(type) {
	case string:
		return c
	case []byte:
		return string(c)
	}
	return ""
}
