package table

import (
	"fmt"
	"strings"

	"stint/internal/plain"
)

// Set is a set of values in a question.
type Set struct {
	sql    string // follows "in"; ? stands for each value
	args   []any
	one    bool                            // it has at most one value: "=" in place of "in" lets an index be searched
	values func() (list []any, known bool) // known once the questions behind them are answered
}

// In returns a set of given values.
func In[V any](list []V) Set {
	all, kepts := make([]any, len(list)), make([]any, len(list))
	for i, v := range list {
		all[i], kepts[i] = v, stored(v)
	}
	sql := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(list)), ", ") + ")"
	if len(list) == 0 {
		sql = "(null)" // nothing is in it
	}
	return Set{sql, all, false, func() ([]any, bool) { return kepts, true }}
}

// one returns a set of one value.
func one(v any) Set {
	s := In([]any{v})
	s.sql, s.one = "?", true
	return s
}

// stored converts a value to the form in which stores keep and compare it.
func stored(value any) any {
	v, err := kept(value)
	if err != nil {
		panic(err) // no column has its type
	}
	return v
}

// Only adds a condition to a question, or an order and a limit. Sets take the places of ?. A transaction may know of
// other rows, which the caller must leave out.
type Only struct {
	SQL  string
	Sets []Set
}

// Ask is a question for rows of a table.
type Ask struct {
	statement Statement
	tail      string // of the statement, with ?
	one       bool   // it matches one row at most
	answered  func()
	known     func() bool
	column    func(name string) []any // of the rows in the answer
}

// Col returns a column's values in the rows of an answer. It may be used in another question of the same trip.
func (q Ask) Col(name string) Set {
	table, tail, _ := strings.Cut(q.tail, " ")
	return Set{"(select " + name + " from " + table + " " + tail + ")", q.statement.Args, q.one, func() ([]any, bool) {
		if !q.known() {
			return nil, false
		}
		return q.column(name), true
	}}
}

// question is a question in parts.
type question struct {
	where
	columns []string // columns with a condition
	values  []Set    // their sets, and then those of further conditions
	name    string
}

// ask reads conditions: pairs of a column and its value, [Set], or nil for null; and any [Only].
func ask(conditions []any) (q question) {
	var bounds []Set
	rest := ""
	for len(conditions) > 0 {
		if only, is := conditions[0].(Only); is {
			if strings.HasPrefix(only.SQL, "order by") {
				rest = " " + q.put(only.SQL, only.Sets)
			} else {
				q.conditions = append(q.conditions, q.put(only.SQL, only.Sets))
			}
			bounds = append(bounds, only.Sets...)
			q.name += only.SQL + ";"
			conditions = conditions[1:]
			continue
		}
		column, value := conditions[0].(string), conditions[1] //nolint:forcetypeassert // the caller's duty
		conditions = conditions[2:]
		q.columns = append(q.columns, column)
		q.name += column + ";"
		set, is := value.(Set)
		switch {
		case value == nil:
			set = Set{values: func() ([]any, bool) { return []any{nil}, true }}
			q.conditions = append(q.conditions, column+" is null")
		case !is:
			set = one(value)
			fallthrough
		default:
			q.conditions = append(q.conditions, q.put(column+map[bool]string{false: " in ?", true: " = ?"}[set.one], []Set{set}))
		}
		q.values = append(q.values, set)
	}
	q.values = append(q.values, bounds...)
	if len(q.conditions) > 0 {
		rest = "where " + strings.Join(q.conditions, " and ") + rest
	}
	q.conditions = []string{rest}
	return q
}

// put puts sets into a condition, and collects their values.
func (q *question) put(condition string, sets []Set) string {
	for _, s := range sets {
		condition = strings.Replace(condition, "?", s.sql, 1)
		q.args = append(q.args, s.args...)
	}
	return condition
}

// numbered numbers the places of values in the end of a statement.
func numbered(tail string) string {
	var s strings.Builder
	parts := strings.Split(tail, "?")
	for i, part := range parts {
		s.WriteString(part)
		if i < len(parts)-1 {
			fmt.Fprintf(&s, "$%d", i+1)
		}
	}
	return s.String()
}

// scopes names what an answer makes known: one scope for each combination of values. While a value is unknown, so are
// the scopes.
func (q question) scopes() (list []string, known bool) {
	list = []string{q.name}
	for _, set := range q.values {
		values, known := set.values()
		if !known {
			return nil, false
		}
		var next []string
		for _, l := range list {
			for _, v := range values {
				next = append(next, fmt.Sprintf("%s%q;", l, fmt.Sprint(v)))
			}
		}
		list = next
	}
	return list, true
}

// Holders returns the names under which runs hold claims.
func Holders(runs Ask) Set {
	ids := runs.Col("id")
	return Set{strings.Replace(ids.sql, "select id", "select 'run:' || id", 1), ids.args, ids.one, func() ([]any, bool) {
		list, known := ids.values()
		return plain.Each(list, func(id any) any { return "run:" + fmt.Sprint(id) }), known
	}}
}
