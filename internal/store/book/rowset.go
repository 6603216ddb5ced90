package book

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"stint/internal/plain"
)

// Rows are rows of one table on a page: those that were read, and those that are to be written.
type Rows[R any] struct {
	key     func(R) string
	rows    map[string]R
	changed []string     // keys of what is to be written, in the order in which it was first decided
	gone    map[string]R // that are to be deleted
}

func rows[R any](key func(R) string) Rows[R] {
	return Rows[R]{key: key}
}

// Add puts a row that was read on the page.
func (t *Rows[R]) Add(r R) {
	if t.rows == nil {
		t.rows = map[string]R{}
	}
	t.rows[t.key(r)] = r
}

// Get finds the row with the key of this one, or returns it as it is.
func (t *Rows[R]) Get(like R) (R, bool) {
	r, found := t.rows[t.key(like)]
	if !found {
		return like, false
	}
	return r, true
}

// Put has a row written, in place of the one with its key.
func (t *Rows[R]) Put(r R) {
	t.Add(r)
	key := t.key(r)
	delete(t.gone, key)
	if !slices.Contains(t.changed, key) {
		t.changed = append(t.changed, key)
	}
}

// Delete has the row with the key of this one deleted, and reports whether there was one.
func (t *Rows[R]) Delete(like R) bool {
	key := t.key(like)
	r, found := t.rows[key]
	if found {
		if t.gone == nil {
			t.gone = map[string]R{}
		}
		delete(t.rows, key)
		t.gone[key] = r
		t.changed = slices.DeleteFunc(t.changed, func(k string) bool { return k == key })
	}
	return found
}

// DeleteAll has those of the rows deleted that are like this.
func (t *Rows[R]) DeleteAll(like func(R) bool) {
	for r := range t.All() {
		if like(r) {
			t.Delete(r)
		}
	}
}

// All are the rows, by key.
func (t *Rows[R]) All() iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, key := range slices.Sorted(maps.Keys(t.rows)) {
			if !yield(t.rows[key]) {
				return
			}
		}
	}
}

// Written are the rows that are to be written.
func (t *Rows[R]) Written() []R {
	return plain.Each(t.changed, func(key string) R { return t.rows[key] })
}

// Gone are the rows that are to be deleted.
func (t *Rows[R]) Gone() []R {
	return plain.Each(slices.Sorted(maps.Keys(t.gone)), func(key string) R { return t.gone[key] })
}

// Len is the number of rows.
func (t *Rows[R]) Len() int { return len(t.rows) }

func (t *Rows[R]) same(as Rowset) bool {
	other, is := as.(*Rows[R])
	return is && t.Len() == other.Len() && (t.Len() == 0 || reflect.DeepEqual(t.rows, other.rows))
}

func (t *Rows[R]) take(from Rowset, write bool) {
	if other, is := from.(*Rows[R]); is {
		t.rows = maps.Clone(other.rows)
		if write {
			t.changed = slices.Sorted(maps.Keys(t.rows))
		}
	}
}

// Log is the rows of a table whose rows are never changed.
type Log[R any] struct {
	Kept  []R // that were read
	Added []R // that are to be written
	Gone  []R // that are to be deleted
}

// Add has a row written.
func (l *Log[R]) Add(r R) { l.Added = append(l.Added, r) }

// Delete has those of the rows deleted that are like this.
func (l *Log[R]) Delete(like func(R) bool) {
	l.Gone = append(l.Gone, plain.Kept(l.Kept, like)...)
	l.Kept = slices.DeleteFunc(slices.Clone(l.Kept), like)
}

// Len is the number of rows.
func (l *Log[R]) Len() int { return len(l.Kept) + len(l.Added) }

func (l *Log[R]) all() []R { return slices.Concat(l.Kept, l.Added) }

func (l *Log[R]) same(as Rowset) bool {
	other, is := as.(*Log[R])
	return is && l.Len() == other.Len() && (l.Len() == 0 || reflect.DeepEqual(l.all(), other.all()))
}

func (l *Log[R]) take(from Rowset, write bool) {
	if other, is := from.(*Log[R]); is && write {
		l.Added = other.all()
	} else if is {
		l.Kept = other.all()
	}
}

// Rowset is the rows of any table.
type Rowset interface {
	Len() int
	same(as Rowset) bool
	take(from Rowset, write bool) // the rows of another page, and have them written
}

// Named is a table's rows with its name.
type Named struct {
	Name string
	Rowset
	Shrinks bool // rows of it are deleted, too: the role that does the daily work may do so there alone
}

// Tables are all tables of a store.
func (p *Page) Tables() []Named {
	return []Named{
		{"claims", &p.Claims, false},
		{"fires", &p.Fires, false},
		{"choices", &p.Choices, true},
		{"runs", &p.Runs, true},
		{"lane_holds", &p.Holds, true},
		{"run_lessons", &p.Uses, true},
		{"fates", &p.Fates, true},
		{"arms", &p.Arms, false},
		{"checkpoints", &p.Checkpoints, true},
		{"grade_changes", &p.Changes, true},
		{"lessons", &p.Lessons, false},
		{"agents", &p.Agents, false},
		{"spent", &p.Spent, false},
		{"tasks", &p.Tasks, true},
		{"pauses", &p.Pauses, true},
		{"places", &p.Places, true},
		{"reviews", &p.Reviews, false},
		{"feedback", &p.Feedback, false},
		{"notices", &p.Notices, true},
		{"away", &p.Away, true},
		{"hosts", &p.Hosts, true},
		{"host_boots", &p.Boots, true},
		{"heard", &p.Heard, true},
		{"tails", &p.Tails, true},
		{"denials", &p.Denials, true},
		{"resets", &p.Resets, false},
	}
}
