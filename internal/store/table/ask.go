package table

import (
	"fmt"
	"strings"

	"stint/internal/plain"
)

// Set is values that a question is about.
type Set struct {
	sql    string // what follows "in", with ? for each value
	args   []any
	one    bool                            // at most: then it may stand behind "=", by which an index can be searched
	values func() (list []any, known bool) // known once the questions were answered that they come from
}

// In is a set of these values.
func In[V any](list []V) Set {
	all, kepts := make([]any, len(list)), make([]any, len(list))
	for i, v := range list {
		all[i], kepts[i] = v, stored(v)
	}
	sql := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(list)), ", ") + ")"
	if len(list) == 0 {
		sql = "(null)" // which nothing is in
	}
	return Set{sql, all, false, func() ([]any, bool) { return kepts, true }}
}

// one is a value where a condition has a set of one.
func one(v any) Set {
	s := In([]any{v})
	s.sql, s.one = "?", true
	return s
}

// stored is a value as it is compared: as stores keep it.
func stored(value any) any {
	v, err := kept(value)
	if err != nil {
		panic(err) // it is of a type that no column has
	}
	return v
}

// Only is one more condition on what is read, or an order and a limit, with sets in the places of ?. A transaction may
// know of rows beyond it: who asks leaves them out.
type Only struct {
	SQL  string
	Sets []Set
}

// Ask is a question for rows of a table.
type Ask struct {
	statement Statement
	tail      string // of the statement, with ? in it
	one       bool   // it is for one row at most
	answered  func()
	known     func() bool
	column    func(name string) []any // of the rows that it is about
}

// Col is the values that a column has in the rows that the question is about. It may be asked in the same trip.
func (q Ask) Col(name string) Set {
	table, tail, _ := strings.Cut(q.tail, " ")
	return Set{"(select " + name + " from " + table + " " + tail + ")", q.statement.Args, q.one, func() ([]any, bool) {
		if !q.known() {
			return nil, false
		}
		return q.column(name), true
	}}
}

// question has the parts of a question.
type question struct {
	where
	columns []string // of which each has a value of
	values  []Set    // these; then come those that what is read is bound by
	name    string
}

// ask reads conditions: a column and its value, or [Set] of values, or nil for null, again and again, and any [Only].
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
		column, value := conditions[0].(string), conditions[1] //nolint:forcetypeassert // as it is said above
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

// put puts sets in the places of a condition, and takes their values.
func (q *question) put(condition string, sets []Set) string {
	for _, s := range sets {
		condition = strings.Replace(condition, "?", s.sql, 1)
		q.args = append(q.args, s.args...)
	}
	return condition
}

// numbered returns the end of a statement with the numbers of the values in their places.
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

// scopes name what is known once the question was answered: one for each combination of values. They are not known
// while the values are not.
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

// Holders is the names by which runs hold claims.
func Holders(runs Ask) Set {
	ids := runs.Col("id")
	return Set{strings.Replace(ids.sql, "select id", "select 'run:' || id", 1), ids.args, ids.one, func() ([]any, bool) {
		list, known := ids.values()
		return plain.Each(list, func(id any) any { return "run:" + fmt.Sprint(id) }), known
	}}
}
