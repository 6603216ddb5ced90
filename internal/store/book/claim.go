package book

import (
	"fmt"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// Take decides on a request for a claim, given the claim on record. A claim that was never granted has no epoch.
func Take(c fleet.Claim, t store.TakeRequest, now time.Time) fleet.Grant {
	own := t.Renews && c.Holder == t.Holder && c.ReleasedAt.IsZero()
	switch {
	case own && c.ExpiresAt.After(now):
		return fleet.Renewed
	case own || c.Free(now, known(t.Known, c)):
		return fleet.Granted
	default:
		return fleet.Denied
	}
}

// Repeats reports whether a request repeats one that was granted, and whose caller got no answer.
func Repeats(c fleet.Claim, t store.TakeRequest, now time.Time) bool {
	return t.Attempt != "" && c.Attempt == t.Attempt && c.Holder == t.Holder && c.Current(now)
}

// Released reports whether this hold already released the claim, in these words.
func Released(c fleet.Claim, h store.Hold, ending fleet.Ending, reason string) bool {
	return h.Epoch > 0 && c.Epoch == h.Epoch && c.Holder == h.Holder && !c.ReleasedAt.IsZero() && c.Ending == ending && c.Reason == reason
}

// known returns what the caller knows of the session that holds a claim. If the caller did not ask, the session lives,
// and nothing frees its claim.
func known(k store.Known, c fleet.Claim) fleet.Liveness {
	if k.Holder == c.Holder && k.Epoch == c.Epoch && k.Session != "" {
		return k.Session
	}
	return fleet.Lives
}

// Holds reports whether a claim is this holder's at this epoch and had not expired at a time. Then the holder may write
// under it.
func Holds(c fleet.Claim, h store.Hold, at time.Time) bool {
	return c.Holder == h.Holder && c.Epoch == h.Epoch && c.Current(at)
}

// Take grants, renews or denies a claim. A denial returns the claim in the way.
func (p Tx) Take(r store.TakeRequest) (fleet.Grant, fleet.Claim, error) {
	grant, c, err := p.grant(r)
	if err == nil && grant != fleet.Denied {
		p.Claims.Put(c)
	}
	return grant, c.Claim, err
}

// grant returns a claim's row after a request, not yet written, or the claim in the way.
func (p Tx) grant(r store.TakeRequest) (fleet.Grant, table.Claim, error) {
	if err := lasts(r.TTL); err != nil {
		return "", table.Claim{}, err
	}
	c := p.claim(r.Key)
	if Repeats(c.Claim, r, p.Now()) {
		return fleet.Granted, c, nil
	}
	grant := Take(c.Claim, r, p.Now())
	switch grant {
	case fleet.Denied:
		c.ReadAt = p.Now()
	case fleet.Granted:
		if err := p.barred(); err != nil {
			return "", table.Claim{}, err
		}
		var over time.Time
		if c.Epoch > 0 && c.ReleasedAt.IsZero() {
			over = c.ExpiresAt
		}
		l := p.fleet().Lineage
		c = table.Claim{Claim: fleet.Claim{
			Key: r.Key, Holder: r.Holder, Epoch: l.Epoch(c.Epoch, c.Incarnation), AcquiredAt: p.Now(), ExpiresAt: table.Whole(p.Now().Add(r.TTL)), Note: r.Note, Attempt: r.Attempt,
		}, Incarnation: l.Incarnation, TookOver: over}
	case fleet.Renewed:
		if r.Note != "" {
			c.Note = r.Note
		}
		c.Attempt = r.Attempt
		c = p.renewed(c, r.TTL)
	}
	return grant, c, nil
}

func lasts(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("time-to-live %s: want at least 1ms: %w", ttl, fleet.ErrUsage)
	}
	return nil
}

// renewed moves the expiry. A grant that lies in the future was made by a wrong clock and becomes one of now, so that
// the claim does not stay too long.
func (p Tx) renewed(c table.Claim, ttl time.Duration) table.Claim {
	if c.AcquiredAt.After(p.Now()) {
		c.AcquiredAt = p.Now()
	}
	c.ExpiresAt = table.Whole(p.Now().Add(ttl))
	c.Renewals++
	return c
}

// Renew moves a held claim's expiry to ttl from now, and a session's lane with it. It is a sign of life of the session's
// machine.
func (p Tx) Renew(h store.Hold, ttl time.Duration) (store.Kept, error) {
	if err := lasts(ttl); err != nil {
		return store.Kept{}, err
	}
	id, session := h.Holder.Run()
	p.Ahead(p.Claims.Like(claimRow(h.Key)))
	if session {
		run := p.Runs.Like(runRow(id))
		p.Ahead(p.Claims.Ask("holder", h.Holder, "released_at", nil), run, p.Heard.Ask("host", run.Col("host")))
	}
	at := p.Now()
	if h.Kept {
		at = time.Time{} // an expired claim expired by a clock that was set
	}
	c, err := p.held(h, at)
	if err != nil {
		return store.Kept{}, err
	}
	kept := store.Kept{Claim: p.decide(p.renewed(c, ttl))}
	if !session {
		return kept, nil
	}
	if r, found := p.run(id); found {
		if lane := fleet.LaneKey(r.Category, r.Lane); r.Lane > 0 && h.Key == r.Key && h.Key != lane {
			if c, err = p.held(store.Hold{Key: lane, Holder: h.Holder}, at); err != nil {
				return store.Kept{}, err
			}
			p.decide(p.renewed(c, ttl))
		}
		kept.Stop = r.Stop
		p.hear(r.Host)
		p.keepTail(id, h.Tail)
	}
	return kept, nil
}

// Release gives a held claim back.
func (p Tx) Release(h store.Hold, ending fleet.Ending, reason string) (fleet.Claim, error) {
	run, session := h.Holder.Run()
	p.Ahead(p.Claims.Like(claimRow(h.Key)))
	if session && h.Key.IsLane() {
		p.Ahead(p.Runs.Like(runRow(run)))
	}
	c, err := p.held(h, p.Now())
	if err != nil && Released(c.Claim, h, ending, reason) {
		return c.Claim, nil
	}
	if err != nil {
		return fleet.Claim{}, err
	}
	if session && c.Key.IsLane() {
		if r, found := p.run(run); found {
			r.LeaveLane(p.Now())
			p.Runs.Put(r)
		}
	}
	c.ReleasedAt, c.Ending, c.Reason = p.Now(), ending, reason
	return p.decide(c), nil
}

// held returns the claim of a hold if it had not expired at a time. A hold without an epoch matches any.
func (p Tx) held(h store.Hold, at time.Time) (table.Claim, error) {
	c := p.claim(h.Key)
	if h.Epoch == 0 {
		h.Epoch = c.Epoch
	}
	return c, p.Fence(h, at)
}

// giveBack releases all that a run still holds, expired or not, and reports whether there was anything.
func (p Tx) giveBack(run fleet.RunID, reason string, as func(fleet.Key) fleet.Ending) (had bool) {
	for _, c := range p.claims(run.Holder()) {
		c.ReleasedAt, c.Ending, c.Reason = p.Now(), as(c.Key), reason
		p.Claims.Put(c)
		had = true
	}
	return had
}

// Fence returns [fleet.ErrLost] unless the claim is still this holder's at this epoch and had not expired at a time.
func (p Tx) Fence(h store.Hold, at time.Time) error {
	if !Holds(p.claim(h.Key).Claim, h, at) {
		return fleet.ErrLost
	}
	return nil
}

func (p Tx) decide(c table.Claim) fleet.Claim {
	p.Claims.Put(c)
	return c.Claim
}
