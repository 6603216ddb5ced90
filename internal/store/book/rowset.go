package book

import (
	"iter"
	"maps"
	"slices"
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
func (t *Rows[R]) Written() (list []R) {
	for _, key := range t.changed {
		list = append(list, t.rows[key])
	}
	return list
}

// Gone are the rows that are to be deleted.
func (t *Rows[R]) Gone() (list []R) {
	for _, key := range slices.Sorted(maps.Keys(t.gone)) {
		list = append(list, t.gone[key])
	}
	return list
}

// copied are the same rows, of which nothing is decided yet.
func (t *Rows[R]) copied() Rows[R] {
	return Rows[R]{key: t.key, rows: maps.Clone(t.rows)}
}
