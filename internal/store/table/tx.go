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

// Tx is one write. A rule asks it for rows, which it reads from the store once, and tells it which are to be written:
// they are when the rule has decided. A question that cannot be answered ends the rule, see [Tx.Decide].
type Tx struct {
	Learn rank.Settings // by which grades are learnt from
	Local time.Time     // this machine's clock at [Tx.Now]; zero: it is the store's

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
	Hosts    Rows[fleet.Host] // without when they were heard of
	Heard    Rows[Heard]
	Tails    Rows[fleet.Tail]
	Denials  Rows[Denial]
	Resets   Rows[Reset]

	// In brief; none of these is written.
	Open Rows[Run]        // where they are, at what, and what is reserved for them
	Told Rows[fleet.Tail] // when

	State  *rank.State // the ranking by now; nil: nobody asked for it
	Stored int         // the last event of the stored state that it was folded from

	read   func([]Statement) error
	day    string // SQL for the day by the store's clock, before it is known; empty: a question costs nothing
	ahead  []Ask
	now    time.Time
	tables []Rowset
	also   []Statement
}

// NewTx is a write that reads rows by a function. That sees to it that the write has begun, see [Tx.Begin].
func NewTx(learn rank.Settings, read func([]Statement) error) *Tx {
	tx := &Tx{Learn: learn, read: read}
	// Rows refer to those of tables before theirs.
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

// How a table is used.
type use int

const (
	stays   use = iota // its rows
	shrinks            // rows of it are deleted, too: the role that does the daily work may do so there alone
	apart              // it is not of the record, and not copied
	brief              // it is read in brief, and not written
)

func add[R any](tx *Tx, rows *Rows[R], t Table[R], u use) {
	*rows = Rows[R]{Table: t, tx: tx, use: u, read: map[string]bool{}, rows: map[string]R{}, gone: map[string]R{}}
	tx.tables = append(tx.tables, rows)
}

// Rowset is the rows of any table.
type Rowset interface {
	Name() string
	Shrinks() bool
	Len() int // of all rows
	usedAs() use
	all() Ask
	written() []Statement
	removed() []Statement
	Same(as Rowset) bool
	Fill(from Rowset) // has the rows of another write's store written
}

// Tables are those of the record.
func (tx *Tx) Tables() []Rowset {
	return plain.Kept(tx.tables, func(t Rowset) bool { return t.usedAs() <= shrinks })
}

// Begin says when the write goes, by the store's clock, and by this machine's, if that is another.
func (tx *Tx) Begin(now, local time.Time) { tx.now, tx.Local = Whole(now), local }

// Now is when the write goes, in whole milliseconds: read when nobody else could write any more.
func (tx *Tx) Now() time.Time {
	if tx.now.IsZero() {
		tx.answer()
	}
	return tx.now
}

// Whole is a time as a store keeps it.
func Whole(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Far says that each question costs a trip to a server, which knows the day as this SQL.
func (tx *Tx) Far(day string) { tx.day = day }

// Today is the day of whose budgets a session is that begins now.
func (tx *Tx) Today() string { return tx.Now().UTC().Format(time.DateOnly) }

// Day is [Tx.Today], which need not be known before the trip that it is asked with.
func (tx *Tx) Day() Set {
	return Set{"(" + tx.day + ")", nil, true, func() ([]any, bool) {
		if tx.now.IsZero() {
			return nil, false
		}
		return []any{tx.Today()}, true
	}}
}

// Ahead has questions answered together with the first that the rule needs an answer to, if each trip costs something.
// What is not asked ahead is asked when it is needed.
func (tx *Tx) Ahead(list ...Ask) {
	if tx.day != "" {
		tx.ahead = append(tx.ahead, plain.Kept(list, func(q Ask) bool { return !q.known() })...)
	}
}

// failure is an error that ends a rule.
type failure struct{ error }

// answer has questions answered, unless they were.
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

// key is by which statements are told apart.
func (s Statement) key() []any { return append([]any{s.SQL}, s.Args...) }

// Decide runs a rule, and returns the error by which it ended: its own, or that of a question.
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

// Also has a statement run after the rows are written.
func (tx *Tx) Also(sql string, args ...any) {
	tx.also = append(tx.also, Statement{SQL: sql, Args: args})
}

// Save writes what was decided: it deletes rows before those to which they refer, and writes them after.
func (tx *Tx) Save() (list []Statement) {
	for _, t := range slices.Backward(tx.tables) {
		list = append(list, t.removed()...)
	}
	for _, t := range tx.tables {
		list = append(list, t.written()...)
	}
	return append(list, tx.also...)
}

// All has every row of the record read.
func (tx *Tx) All() {
	tx.answer(plain.Each(tx.tables, Rowset.all)...)
}

// Rows are a table as one write sees it: the rows that it asked for, and those that it decided on.
type Rows[R any] struct {
	Table[R]
	tx      *Tx
	use     use
	read    map[string]bool // the scopes of questions that were answered
	rows    map[string]R    // by key
	changed []string        // keys of what is to be written, in the order in which it was first decided
	gone    map[string]R    // that are to be deleted
	one     *R              // whose columns these are
	columns []Column
}

// at has the columns be those of a row.
func (t *Rows[R]) at(r R) []Column {
	if t.one == nil {
		t.one = new(R)
		t.columns = t.row(t.one)
	}
	*t.one = r
	return t.columns
}

// Ask is a question for rows: a column and its value, or [Set] of values, or nil for null, again and again, and any
// [Only]. Nothing at all asks for all rows.
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

// Where are the rows that have these values, by key, see [Rows.Ask].
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

// like are the rows that were read, or decided on, and have the values that a question is about.
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

// value is that of a column.
func (t *Rows[R]) value(r R, name string) any {
	row := t.at(r)
	return stored(row[slices.IndexFunc(row, func(c Column) bool { return c.Name == name })].Value)
}

// key is that of a row. Keys sort as the columns do.
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

// Last is the row with the greatest key of those that have these values, or the zero row, see [Rows.Where].
func (t *Rows[R]) Last(conditions ...any) (last R) {
	if list := t.Where(conditions...); len(list) > 0 {
		last = list[len(list)-1]
	}
	return last
}

// Like asks for the row with the key of this one.
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

// Get finds the row with the key of this one, or returns it as it is.
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

// found takes a row that was read, unless it is decided on.
func (t *Rows[R]) found(r R) {
	key := t.keyOf(r)
	if _, gone := t.gone[key]; !gone && !slices.Contains(t.changed, key) {
		t.rows[key] = r
	}
}

// Know says that the table has these rows, and no others.
func (t *Rows[R]) Know(list ...R) {
	t.read[""] = true
	for _, r := range list {
		t.found(r)
	}
}

// Put has a row written, in place of the one with its key.
func (t *Rows[R]) Put(r R) {
	key := t.keyOf(r)
	t.rows[key] = r
	delete(t.gone, key)
	if !slices.Contains(t.changed, key) {
		t.changed = append(t.changed, key)
	}
}

// Delete has the row with the key of this one deleted, and reports whether there was one.
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

// Name is the table's.
func (t *Rows[R]) Name() string { return t.name }

// Shrinks reports whether rows of it are deleted, too.
func (t *Rows[R]) Shrinks() bool { return t.use == shrinks }

// Len is the number of all rows.
func (t *Rows[R]) Len() int { return len(t.Where()) }

// Written are the rows that are to be written.
func (t *Rows[R]) Written() []R {
	return plain.Each(t.changed, func(key string) R { return t.rows[key] })
}

// Gone are the rows that are to be deleted.
func (t *Rows[R]) Gone() []R {
	return plain.Each(slices.Sorted(maps.Keys(t.gone)), func(key string) R { return t.gone[key] })
}

func (t *Rows[R]) usedAs() use          { return t.use }
func (t *Rows[R]) all() Ask             { return t.Ask() }
func (t *Rows[R]) written() []Statement { return plain.Each(t.Written(), t.Table.Put) }
func (t *Rows[R]) removed() []Statement { return plain.Each(t.Gone(), t.Table.Delete) }

// Same reports whether another has the same rows.
func (t *Rows[R]) Same(as Rowset) bool {
	other, is := as.(*Rows[R])
	return is && reflect.DeepEqual(t.Where(), other.Where())
}

// Fill has the rows of another write's store written.
func (t *Rows[R]) Fill(from Rowset) {
	if other, is := from.(*Rows[R]); is {
		t.Know(other.Where()...)
	}
	t.changed = slices.Sorted(maps.Keys(t.rows))
}
