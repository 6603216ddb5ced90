package fleet

import "time"

// Timer is what fires the categories of a pool.
type Timer struct {
	Pool   string
	Unit   string
	Active bool      // it will fire again
	Last   time.Time // zero: it has not fired since the manager started
	Next   time.Time // zero: it is not known
}
