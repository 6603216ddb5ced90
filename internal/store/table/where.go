package table

import (
	"strconv"
	"strings"
)

// where collects the conditions of a query, with their values.
type where struct {
	conditions []string
	args       []any
}

// add takes a condition if it is wanted. Each ? is the place of a value.
func (w *where) add(asked bool, condition string, values ...any) {
	if !asked {
		return
	}
	for _, v := range values {
		condition = strings.Replace(condition, "?", w.place(v), 1)
	}
	w.conditions = append(w.conditions, condition)
}

// place takes a value, and returns its place.
func (w *where) place(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

// latest returns the end of a query for the first rows in an order.
func (w *where) latest(order string, limit int) (tail string, args []any) {
	if len(w.conditions) > 0 {
		tail = "where " + strings.Join(w.conditions, " and ") + " "
	}
	return tail + "order by " + order + " limit " + w.place(limit), w.args
}

// maxPlaces bounds a list in a condition: longer ones take several statements.
const maxPlaces = 1000
