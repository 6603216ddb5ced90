package table

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store"
)

// Tx is one write. A rule asks it for rows, each of which is read from the store once, and tells it the rows to write;
// they are written after the rule's decision. A question without an answer ends the rule, see [Tx.Decide].
type Tx struct {
	Learn rank.Settings // for learning from grades
	Local time.Time     // this machine's clock at [Tx.Now]; zero: the same as the store's

	Fleet    Rows[Fleet] // one
	Fires    Rows[Fire]
	Runs     Rows[Run]
	Claims   Rows[Claim]
	Events   Rows[rank.Event]
	Rankings Rows[Ranking]
	Lessons  Rows[store.Lesson]
	Agents   Rows[fleet.AgentState]
	Spent    Rows[Spent]
	Tasks    Rows[fleet.TaskMemory]
	Pauses   Rows[fleet.Pause]
	Reviews  Rows[Review]
	Notices  Rows[Notice]
	Hosts    Rows[fleet.Host] // except the time of the last sign of life
	Heard    Rows[Heard]
	Tails    Rows[fleet.Tail]
	Denials  Rows[Denial]
	Resets   Rows[Reset]

	// Read in part, and never written.
	Open Rows[Run]        // location, task and reserves of open runs
	Told Rows[fleet.Tail] // only the time

	State  *rank.State // the present ranking; nil: nobody asked
	Stored int         // the last event in the stored state behind it

	read   func([]Statement) error
	day    string // SQL for the day by the store's clock; empty: a question costs no trip
	ahead  []Ask
	now    time.Time
	tables []Rowset
	also   []Statement
}

// NewTx makes a write that reads rows through read, which begins the write first, see [Tx.Begin].
func NewTx(learn rank.Settings, read func([]Statement) error) *Tx {
	tx := &Tx{Learn: learn, read: read}
	// Rows refer to earlier tables.
	add(tx, &tx.Fleet, Fleets(), apart)
	add(tx, &tx.Fires, Fires(), stays)
	add(tx, &tx.Runs, Runs(), stays)
	add(tx, &tx.Claims, Claims(), stays)
	add(tx, &tx.Events, Events(), stays)
	add(tx, &tx.Rankings, Rankings(), stays)
	add(tx, &tx.Lessons, Lessons(), stays)
	add(tx, &tx.Agents, Agents(), stays)
	add(tx, &tx.Spent, Spending(), stays)
	add(tx, &tx.Tasks, Tasks(), shrinks)
	add(tx, &tx.Pauses, Pauses(), shrinks)
	add(tx, &tx.Reviews, Reviews(), shrinks)
	add(tx, &tx.Notices, Notices(), shrinks)
	add(tx, &tx.Hosts, Hosts(), shrinks)
	add(tx, &tx.Heard, LastHeard(), shrinks)
	add(tx, &tx.Tails, Tails(), shrinks)
	add(tx, &tx.Denials, Denials(), stays)
	add(tx, &tx.Resets, Resets(), stays)
	add(tx, &tx.Open, Runs().With("id", "host", "category", "agent", "task", "key", "day", "reserved_tokens", "reserved_usd", "ended_at", "lane_at", "lane_left"), brief)
	return tx
}

// use is the way in which a table is used.
type use int

const (
	stays   use = iota // rows are never deleted
	shrinks            // rows are deleted: the role for daily work may delete only here
	apart              // not part of the record, and not copied
	brief              // read in part, and never written
)

func add[R any](tx *Tx, rows *Rows[R], t Table[R], u use) {
	*rows = Rows[R]{Table: t, tx: tx, use: u, read: map[string]bool{}, rows: map[string]R{}, gone: map[string]R{}}
	tx.tables = append(tx.tables, rows)
}

// Rowset is a table with rows of any type.
type Rowset interface {
	Name() string
	Shrinks() bool
	Len() int // of all rows
	usedAs() use
	all() Ask
	written() []Statement
	removed() []Statement
	Same(as Rowset) bool
	Fill(from Rowset) // writes the rows of another store
}

// Tables returns the tables of the record.
func (tx *Tx) Tables() []Rowset {
	return plain.Kept(tx.tables, func(t Rowset) bool { return t.usedAs() <= shrinks })
}

// Begin sets the write's time by the store's clock, and by this machine's if that differs.
func (tx *Tx) Begin(now, local time.Time) { tx.now, tx.Local = Whole(now), local }

// Now returns the write's time, in whole milliseconds, read once nobody else can write.
func (tx *Tx) Now() time.Time {
	if tx.now.IsZero() {
		tx.answer()
	}
	return tx.now
}

// Whole rounds a time as stores do.
func Whole(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Far tells that each question costs a trip to a server. Day is the server's SQL for the day.
func (tx *Tx) Far(day string) { tx.day = day }

// Today returns the day whose budgets pay a session that begins now.
func (tx *Tx) Today() string { return tx.Now().UTC().Format(time.DateOnly) }

// Day is [Tx.Today] as a set, for questions before the day is known.
func (tx *Tx) Day() Set {
	return Set{"(" + tx.day + ")", nil, true, func() ([]any, bool) {
		if tx.now.IsZero() {
			return nil, false
		}
		return []any{tx.Today()}, true
	}}
}

// Ahead asks questions together with the first one that the rule needs an answer to, if each trip costs something. All
// others are asked on demand.
func (tx *Tx) Ahead(list ...Ask) {
	if tx.day != "" {
		tx.ahead = append(tx.ahead, plain.Kept(list, func(q Ask) bool { return !q.known() })...)
	}
}

// failure is an error that ends a rule.
type failure struct{ error }

// answer asks questions, and those from Ahead with them.
func (tx *Tx) answer(list ...Ask) {
	all := tx.ahead
	tx.ahead = nil
	for _, q := range list {
		if !slices.ContainsFunc(all, func(a Ask) bool { return reflect.DeepEqual(a.statement.key(), q.statement.key()) }) {
			all = append(all, q)
		}
	}
	tx.mustRead(plain.Each(all, func(q Ask) Statement { return q.statement })...)
	for _, q := range all {
		q.answered()
	}
}

func (tx *Tx) mustRead(list ...Statement) {
	if err := tx.read(list); err != nil {
		panic(failure{err})
	}
}

// key tells statements apart.
func (s Statement) key() []any { return append([]any{s.SQL}, s.Args...) }

// Decide runs a rule, and returns the rule's error or that of a question.
func (tx *Tx) Decide(rule func() error) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.error
		default:
			panic(f)
		}
	}()
	return rule()
}

// Also runs a statement after the rows are written.
func (tx *Tx) Also(sql string, args ...any) {
	tx.also = append(tx.also, Statement{SQL: sql, Args: args})
}

// Save returns the statements that write the decision: rows are deleted before the rows to which they refer, and written
// after them.
func (tx *Tx) Save() (list []Statement) {
	for _, t := range slices.Backward(tx.tables) {
		list = append(list, t.removed()...)
	}
	for _, t := range tx.tables {
		list = append(list, t.written()...)
	}
	return append(list, tx.also...)
}

// All reads every row of the record.
func (tx *Tx) All() {
	tx.answer(plain.Each(tx.tables, Rowset.all)...)
}

// Rows is a table as one write sees it: the rows that it has read or decided on.
type Rows[R any] struct {
	Table[R]
	tx      *Tx
	use     use
	read    map[string]bool // scopes of answered questions
	rows    map[string]R    // by key
	changed []string        // keys of the rows to write, in the order of decision
	gone    map[string]R    // rows to delete
	one     *R              // the row behind columns
	columns []Column
}

// at points the columns at a row.
func (t *Rows[R]) at(r R) []Column {
	if t.one == nil {
		t.one = new(R)
		t.columns = t.row(t.one)
	}
	*t.one = r
	return t.columns
}

// Ask is a question for rows: pairs of a column and its value, [Set], or nil for null; and any [Only]. Without
// conditions it asks for all rows.
func (t *Rows[R]) Ask(conditions ...any) Ask {
	q := ask(conditions)
	tail := t.name + " " + q.conditions[0]
	return Ask{
		statement: t.Select(t.found, numbered(q.conditions[0]), q.args...),
		tail:      tail,
		answered: func() {
			scopes, _ := q.scopes()
			for _, s := range scopes {
				t.read[s] = true
			}
		},
		known:  func() bool { return t.known(q) },
		column: func(name string) []any { return plain.Each(t.like(q), func(r R) any { return t.value(r, name) }) },
	}
}

// Where returns the rows with these values, by key, see [Rows.Ask].
func (t *Rows[R]) Where(conditions ...any) []R {
	q := ask(conditions)
	if !t.known(q) {
		t.tx.answer(t.Ask(conditions...))
	}
	return t.like(q)
}

func (t *Rows[R]) known(q question) bool {
	if t.read[""] {
		return true
	}
	scopes, known := q.scopes()
	return known && !slices.ContainsFunc(scopes, func(s string) bool { return !t.read[s] })
}

// like returns the known rows that match a question.
func (t *Rows[R]) like(q question) (list []R) {
	sets := make([][]any, len(q.columns))
	for i := range sets {
		sets[i], _ = q.values[i].values()
	}
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		r, is := t.rows[key], true
		for i, c := range q.columns {
			is = is && slices.Contains(sets[i], t.value(r, c))
		}
		if is {
			list = append(list, r)
		}
	}
	return list
}

// value returns a column of a row.
func (t *Rows[R]) value(r R, name string) any {
	row := t.at(r)
	return stored(row[slices.IndexFunc(row, func(c Column) bool { return c.Name == name })].Value)
}

// keyOf returns a row's key. Keys sort as the columns do.
func (t *Rows[R]) keyOf(r R) string {
	key := ""
	for _, c := range t.at(r)[:t.key] {
		switch v := stored(c.Value).(type) {
		case int64:
			key += fmt.Sprintf("%020d\x00", v)
		case string:
			key += v + "\x00"
		}
	}
	return key
}

// Last returns the row with the greatest key among those with these values, or the zero row, see [Rows.Where].
func (t *Rows[R]) Last(conditions ...any) (last R) {
	if list := t.Where(conditions...); len(list) > 0 {
		last = list[len(list)-1]
	}
	return last
}

// Like asks for the row with this row's key.
func (t *Rows[R]) Like(r R) Ask {
	q := t.Ask(t.keyed(r)...)
	q.one = true
	return q
}

func (t *Rows[R]) keyed(r R) (conditions []any) {
	for _, c := range t.at(r)[:t.key] {
		conditions = append(conditions, c.Name, stored(c.Value))
	}
	return conditions
}

// Get returns the row with this row's key; without one, this row.
func (t *Rows[R]) Get(like R) (R, bool) {
	key := t.keyOf(like)
	if _, gone := t.gone[key]; gone {
		return like, false
	}
	r, found := t.rows[key]
	if !found {
		t.Where(t.keyed(like)...)
		r, found = t.rows[key]
	}
	if !found {
		return like, false
	}
	return r, true
}

// found keeps a row that was read, unless it is decided on.
func (t *Rows[R]) found(r R) {
	key := t.keyOf(r)
	if _, gone := t.gone[key]; !gone && !slices.Contains(t.changed, key) {
		t.rows[key] = r
	}
}

// Know sets all rows of the table.
func (t *Rows[R]) Know(list ...R) {
	t.read[""] = true
	for _, r := range list {
		t.found(r)
	}
}

// Put writes a row, and replaces the one with its key.
func (t *Rows[R]) Put(r R) {
	key := t.keyOf(r)
	t.rows[key] = r
	delete(t.gone, key)
	if !slices.Contains(t.changed, key) {
		t.changed = append(t.changed, key)
	}
}

// Delete deletes the row with this row's key, and reports whether there was one.
func (t *Rows[R]) Delete(like R) bool {
	r, found := t.Get(like)
	if found {
		key := t.keyOf(like)
		delete(t.rows, key)
		t.gone[key] = r
		t.changed = slices.DeleteFunc(t.changed, func(k string) bool { return k == key })
	}
	return found
}

// Name returns the table's name.
func (t *Rows[R]) Name() string { return t.name }

// Shrinks reports whether rows may be deleted.
func (t *Rows[R]) Shrinks() bool { return t.use == shrinks }

// Len counts all rows.
func (t *Rows[R]) Len() int { return len(t.Where()) }

// Written returns the rows to write.
func (t *Rows[R]) Written() []R {
	return plain.Each(t.changed, func(key string) R { return t.rows[key] })
}

// Gone returns the rows to delete.
func (t *Rows[R]) Gone() []R {
	return plain.Each(slices.Sorted(maps.Keys(t.gone)), func(key string) R { return t.gone[key] })
}

func (t *Rows[R]) usedAs() use          { return t.use }
func (t *Rows[R]) all() Ask             { return t.Ask() }
func (t *Rows[R]) written() []Statement { return plain.Each(t.Written(), t.Table.Put) }
func (t *Rows[R]) removed() []Statement { return plain.Each(t.Gone(), t.Table.Delete) }

// Same reports whether another table has the same rows.
func (t *Rows[R]) Same(as Rowset) bool {
	other, is := as.(*Rows[R])
	return is && reflect.DeepEqual(t.Where(), other.Where())
}

// Fill writes the rows of another store.
func (t *Rows[R]) Fill(from Rowset) {
	if other, is := from.(*Rows[R]); is {
		t.Know(other.Where()...)
	}
	t.changed = slices.Sorted(maps.Keys(t.rows))
}
