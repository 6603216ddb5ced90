package main

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

// nobody is no run, and no task.
const nobody int32 = -1

// claim is a task's row in the store's table of claims; epoch 0: it was never claimed.
type claim struct {
	expires  time.Duration // by the clock of the host that wrote it
	holder   int32         // a run
	epoch    uint32
	released bool
}

// known is what a taker found out of the session in the way, as [store.Known].
type known struct {
	epoch   uint32 // names claim and holder both: each epoch has one holder
	session fleet.Liveness
}

// row is the claim as the rules know it. Every holder is a session, which has a number here.
func (c *claim) row() fleet.Claim {
	r := fleet.Claim{Holder: "run:0", Epoch: fleet.Epoch(c.epoch), ExpiresAt: at(c.expires)}
	if c.released || c.epoch == 0 {
		r.ReleasedAt = at(0)
	}
	return r
}

// at is a time of the simulation as one of the calendar.
func at(d time.Duration) time.Time { return time.Unix(0, int64(d)).UTC() }

// take grants a claim, or denies it, to a session that does not hold it yet.
func (c *claim) take(run int32, now, ttl time.Duration, k known) bool {
	row := c.row()
	t := store.TakeRequest{Known: store.Known{Holder: row.Holder, Epoch: fleet.Epoch(k.epoch), Session: k.session}}
	if book.Take(row, t, at(now)) != fleet.Granted {
		return false
	}
	*c = claim{expires: now + ttl, holder: run, epoch: c.epoch + 1}
	return true
}

// held reports whether a run may write under its claim at its epoch.
func (c *claim) held(run int32, epoch uint32, now time.Duration) bool {
	row := c.row()
	return c.holder == run && book.Holds(row, store.Hold{Holder: row.Holder, Epoch: fleet.Epoch(epoch)}, at(now))
}

// renew moves the expiry.
func (c *claim) renew(run int32, epoch uint32, now, ttl time.Duration) bool {
	ok := c.held(run, epoch, now)
	if ok {
		c.expires = now + ttl
	}
	return ok
}

// release gives the claim back, expired or not.
func (c *claim) release(run int32) bool {
	ok := c.holder == run && !c.released
	if ok {
		c.released = true
	}
	return ok
}
