package book

import (
	"time"

	"stint/internal/fleet"
)

// Need says which rows a write decides by. Only these are on its page.
type Need struct {
	Key    fleet.Key    // its claim
	Holder fleet.Holder // the claims that it has not given back
}

// Page is the rows of a store that one write decides by, as of one instant, and the rows that it
// decides on. It is read in the transaction that writes them.
type Page struct {
	Now     time.Time // by the store's clock, in whole milliseconds, read when nobody else could write any more
	claims  map[fleet.Key]Claim
	Decided []Claim       // the rows to be written, in this order
	Vacated []fleet.RunID // that hold no lane any more
}

// NewPage is an empty page.
func NewPage(now time.Time) *Page {
	return &Page{Now: whole(now), claims: map[fleet.Key]Claim{}}
}

// whole is a time as a store keeps it.
func whole(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Add puts a row that was read on the page.
func (p *Page) Add(c Claim) { p.claims[c.Key] = c }

// claim is a key's row, or one with epoch 0 when it was never claimed.
func (p *Page) claim(key fleet.Key) Claim {
	c := p.claims[key]
	c.Key = key
	return c
}

func (p *Page) decide(c Claim) fleet.Claim {
	p.claims[c.Key] = c
	p.Decided = append(p.Decided, c)
	return c.Claim
}
