// Package table is how rows become statements, and statements rows: once, in SQL that every store
// understands alike. Places are $1, $2 and so on, and first appear in that order: SQLite counts them
// as they appear, whatever their number is.
package table

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stint/internal/store"
)

// Scanner is a row that was read.
type Scanner interface{ Scan(dest ...any) error }

// Statement is one statement with its values.
type Statement struct {
	SQL  string
	Args []any
	Scan func(Scanner) error // takes each row; nil: there are none
	Many func(rows int)      // if not nil: is called before them where their number is known
}

// Column is a column of a table and the place of its value, to be read into or written.
type Column struct {
	Name  string
	Value any
}

// Table is a table whose rows are read and written whole.
type Table[R any] struct {
	name string
	key  int                 // so many of the first columns
	row  func(r *R) []Column // the places of a row's values
}

// Names are the columns' names, joined as SQL wants them.
func (t Table[R]) Names() string { return names(t.row(new(R))) }

func names(row []Column) string {
	list := make([]string, len(row))
	for i, c := range row {
		list[i] = c.Name
	}
	return strings.Join(list, ", ")
}

func values(row []Column) []any {
	list := make([]any, len(row))
	for i, c := range row {
		list[i] = c.Value
	}
	return list
}

// Without is the table with nothing in some columns of text, to be read in brief.
func (t Table[R]) Without(columns ...string) Table[R] {
	return Table[R]{t.name, t.key, func(r *R) []Column {
		row := t.row(r)
		for i, c := range row {
			if slices.Contains(columns, c.Name) {
				row[i].Name = "''"
			}
		}
		return row
	}}
}

// Scan reads a row, and more columns behind it.
func (t Table[R]) Scan(from Scanner, more ...any) (r R, err error) {
	err = from.Scan(append(values(t.row(&r)), more...)...)
	return r, err
}

// Select reads rows. Tail is what follows the table's name. All rows are read in one place.
func (t Table[R]) Select(add func(R), tail string, args ...any) Statement {
	r := new(R)
	row := t.row(r)
	into := values(row)
	return Statement{SQL: "select " + names(row) + " from " + t.name + " " + tail, Args: args, Scan: func(from Scanner) error {
		var nothing R
		*r = nothing
		err := from.Scan(into...)
		add(*r)
		return err
	}}
}

// Put writes a row, in place of the one with its key.
func (t Table[R]) Put(r R) Statement {
	row := t.row(&r)
	s := t.insert(row)
	changes := make([]string, 0, len(row))
	for _, c := range row[t.key:] {
		changes = append(changes, c.Name+" = excluded."+c.Name)
	}
	s.SQL += " on conflict (" + names(row[:t.key]) + ") do update set " + strings.Join(changes, ", ")
	return s
}

// Insert adds a row.
func (t Table[R]) Insert(r R) Statement { return t.insert(t.row(&r)) }

func (t Table[R]) insert(row []Column) Statement {
	return Statement{SQL: "insert into " + t.name + " (" + names(row) + ") values " + places(row), Args: values(row)}
}

// Delete deletes the row with the key of this one.
func (t Table[R]) Delete(r R) Statement {
	key := t.row(&r)[:t.key]
	same := make([]string, len(key))
	for i, c := range key {
		same[i] = c.Name + " = $" + strconv.Itoa(i+1)
	}
	return Statement{SQL: "delete from " + t.name + " where " + strings.Join(same, " and "), Args: values(key)}
}

// Values are the values of a statement as every store can keep them: whole numbers, fractions and
// clean text ([store.Text]).
func (s Statement) Values() ([]any, error) {
	list := make([]any, len(s.Args))
	for i, a := range s.Args {
		v, err := driver.DefaultParameterConverter.ConvertValue(a)
		if err != nil {
			return nil, fmt.Errorf("value %d of %q: %w", i+1, s.SQL, err)
		}
		if text, is := v.(string); is {
			v = store.Text(text)
		}
		list[i] = v
	}
	return list, nil
}
