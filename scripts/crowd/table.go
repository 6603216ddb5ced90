package main

import (
	"time"

	"stint/internal/fleet"
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

// take grants a claim, or denies it: as take in store/sqlite does for a session that does
// not hold it yet. A run that does not know of the session in the way takes it for living.
func (c *claim) take(run int32, now, ttl time.Duration, k known) bool {
	session := fleet.Lives
	if k.epoch == c.epoch && k.session != "" {
		session = k.session
	}
	if !c.row().Free(at(now), session) {
		return false
	}
	*c = claim{expires: now + ttl, holder: run, epoch: c.epoch + 1}
	return true
}

// held reports whether a run may write under its claim at its epoch: as "current" and
// the fence of every write do in store/sqlite.
func (c *claim) held(run int32, epoch uint32, now time.Duration) bool {
	return c.holder == run && c.epoch == epoch && c.row().Current(at(now))
}

// renew moves the expiry, as renewClaim in store/sqlite.
func (c *claim) renew(run int32, epoch uint32, now, ttl time.Duration) bool {
	ok := c.held(run, epoch, now)
	if ok {
		c.expires = now + ttl
	}
	return ok
}

// release gives the claim back, as releaseHolder in store/sqlite: expired or not.
func (c *claim) release(run int32) bool {
	ok := c.holder == run && !c.released
	if ok {
		c.released = true
	}
	return ok
}
