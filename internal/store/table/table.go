// Package table turns rows into statements, and answers into rows, in SQL that every store understands. Values are $1,
// $2 and so on, and must first appear in that order: SQLite numbers them by appearance.
package table

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"stint/internal/plain"
	"stint/internal/store"
)

// Scanner is one row of an answer.
type Scanner interface{ Scan(dest ...any) error }

// Statement is one statement with its values.
type Statement struct {
	SQL  string
	Args []any
	Scan func(Scanner) error // takes each row; nil: the answer has no rows
	Lock bool                // lock the rows if other writes may run meanwhile
}

// Column is a column's name, and the variable to read it into or write it from.
type Column struct {
	Name  string
	Value any
}

// Table maps whole rows of a table to R.
type Table[R any] struct {
	name string
	key  int                 // the key is so many of the first columns
	row  func(r *R) []Column // the variables of a row's columns
}

// columns pairs names with variables: name, variable, and so on.
func columns(pairs ...any) []Column {
	list := make([]Column, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, Column{fmt.Sprint(pair[0]), pair[1]})
	}
	return list
}

// Names returns the columns' names, joined by commas.
func (t Table[R]) Names() string { return names(t.row(new(R))) }

func names(row []Column) string {
	return strings.Join(plain.Each(row, func(c Column) string { return c.Name }), ", ")
}

func values(row []Column) []any { return plain.Each(row, func(c Column) any { return c.Value }) }

// With returns the table with only these columns.
func (t Table[R]) With(columns ...string) Table[R] { return t.narrow(columns, true) }

// Without returns the table without these columns.
func (t Table[R]) Without(columns ...string) Table[R] { return t.narrow(columns, false) }

func (t Table[R]) narrow(columns []string, keep bool) Table[R] {
	return Table[R]{t.name, t.key, func(r *R) []Column {
		return plain.Kept(t.row(r), func(c Column) bool { return slices.Contains(columns, c.Name) == keep })
	}}
}

// Scan reads a row, and further columns after it.
func (t Table[R]) Scan(from Scanner, more ...any) (r R, err error) {
	err = from.Scan(append(values(t.row(&r)), more...)...)
	return r, err
}

// Select reads rows into one variable, and passes on each. Tail follows the table's name.
func (t Table[R]) Select(add func(R), tail string, args ...any) Statement {
	r := new(R)
	row := t.row(r)
	into := values(row)
	return Statement{SQL: "select " + names(row) + " from " + t.name + " " + tail, Args: args, Lock: t.name == "claims", Scan: func(from Scanner) error {
		var nothing R
		*r = nothing
		err := from.Scan(into...)
		add(*r)
		return err
	}}
}

// Put writes a row, and replaces the one with its key. A table without a key has exactly one row.
func (t Table[R]) Put(r R) Statement {
	row := t.row(&r)
	if t.key == 0 {
		return Statement{SQL: "update " + t.name + " set " + assigned(row), Args: values(row)}
	}
	s := Statement{SQL: "insert into " + t.name + " (" + names(row) + ") values " + places(row), Args: values(row)}
	changes := plain.Each(row[t.key:], func(c Column) string { return c.Name + " = excluded." + c.Name })
	s.SQL += " on conflict (" + names(row[:t.key]) + ") do update set " + strings.Join(changes, ", ")
	return s
}

// assigned lists columns with places for their values.
func assigned(row []Column) string {
	list := make([]string, len(row))
	for i, c := range row {
		list[i] = c.Name + " = $" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}

// Delete deletes the row with this row's key.
func (t Table[R]) Delete(r R) Statement {
	key := t.row(&r)[:t.key]
	return Statement{SQL: "delete from " + t.name + " where " + strings.ReplaceAll(assigned(key), ", ", " and "), Args: values(key)}
}

// Values returns a statement's values as every store can keep them: whole numbers, fractions and clean text
// ([store.Text]).
func (s Statement) Values() ([]any, error) {
	list := make([]any, len(s.Args))
	for i, a := range s.Args {
		v, err := kept(a)
		if err != nil {
			return nil, fmt.Errorf("value %d of %q: %w", i+1, s.SQL, err)
		}
		list[i] = v
	}
	return list, nil
}

func kept(value any) (driver.Value, error) {
	v, err := driver.DefaultParameterConverter.ConvertValue(value)
	switch text := v.(type) {
	case string:
		v = store.Text(text)
	case []byte:
		v = store.Text(string(text))
	}
	return v, err
}

// places lists the places of so many values.
func places[T any](list []T) string {
	all := make([]string, len(list))
	for i := range list {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func args[T any](list []T) []any { return plain.Each(list, func(v T) any { return v }) }
