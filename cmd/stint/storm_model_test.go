package main

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// stormCall is one request of a process about one key. Times are milliseconds since 1970,
// by a clock that nobody steps.
type stormCall struct {
	Kind, Holder string
	Epoch        int64 // 0: whichever the holder has
	TTL          int64
	Window       span // from the start of the process to its end
}

// stormAnswer is the answer that it got.
type stormAnswer struct {
	Status, Holder    string // no status: it was killed, and may have done it or not
	Epoch             int64
	Acquired, Expires span
}

// span is a time that is known to lie between two others, both included.
type span struct{ Lo, Hi int64 }

func (s span) and(o span) span        { return span{max(s.Lo, o.Lo), min(s.Hi, o.Hi)} }
func (s span) plus(millis int64) span { return span{s.Lo + millis, s.Hi + millis} }
func (s span) empty() bool            { return s.Lo > s.Hi }

// claimState is a key's claim: the sequential model, one step a call.
type claimState struct {
	Epoch             int64
	Holder            string
	Acquired, Expires span
	Open              bool  // granted, and not given back
	At                int64 // the clock's least reading by now
}

// stormModel is the claims' contract for one key.
func stormModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{claimState{}} },
		Step: func(state, call, answer any) (next []any) {
			for _, s := range state.(claimState).after(call.(stormCall), answer.(stormAnswer)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(call, answer any) string { return fmt.Sprintf("%+v: %+v", call, answer) },
	}
	return model.ToModel()
}

// after are the states that a call with this answer can have led to. None: the answer
// breaks the contract.
func (s claimState) after(c stormCall, a stormAnswer) (next []claimState) {
	now := c.Window.and(span{s.At, c.Window.Hi})
	switch a.Status {
	case "":
		return s.killed(c, now)
	case "granted":
		if a.Holder == c.Holder && a.Epoch == s.Epoch+1 {
			next = s.granted(c, now.and(a.Acquired).and(a.Expires.plus(-c.TTL)))
		}
	case "renewed":
		if a.Epoch == s.Epoch && a.Holder == s.Holder && !s.Acquired.and(a.Acquired).empty() {
			s.Acquired = s.Acquired.and(a.Acquired)
			next = s.renewed(c, now.and(a.Expires.plus(-c.TTL)))
		}
	case "released":
		if a.Epoch == s.Epoch && a.Holder == s.Holder {
			next = s.released(c, now)
		}
	case "denied", "held":
		next = s.seen(c, a, now)
	case "free", "lost":
		next = s.refused(c, a, now)
	}
	return next
}

func (s claimState) granted(c stormCall, now span) []claimState {
	if s.Open {
		now.Lo = max(now.Lo, s.Expires.Lo) // It must have expired.
	}
	if now.empty() {
		return nil
	}
	return []claimState{{Epoch: s.Epoch + 1, Holder: c.Holder, Acquired: now, Expires: now.plus(c.TTL), Open: true, At: now.Lo}}
}

// current leaves of now what lies before the expiry, if the claim is the caller's.
func (s claimState) current(c stormCall, now span) span {
	if !s.Open || c.Holder != s.Holder || c.Epoch != 0 && c.Epoch != s.Epoch {
		return span{1, 0}
	}
	return now.and(span{now.Lo, s.Expires.Hi - 1})
}

func (s claimState) renewed(c stormCall, now span) []claimState {
	if now = s.current(c, now); now.empty() {
		return nil
	}
	s.Expires, s.At = now.plus(c.TTL), now.Lo
	return []claimState{s}
}

func (s claimState) released(c stormCall, now span) []claimState {
	if now = s.current(c, now); now.empty() {
		return nil
	}
	s.Open, s.At = false, now.Lo
	return []claimState{s}
}

// seen is the claim in the way, or that stands.
func (s claimState) seen(c stormCall, a stormAnswer, now span) []claimState {
	s.Acquired, s.Expires = s.Acquired.and(a.Acquired), s.Expires.and(a.Expires)
	if !s.Open || a.Holder != s.Holder || a.Epoch != s.Epoch || s.Acquired.empty() || s.Expires.empty() ||
		now.and(span{now.Lo, s.Expires.Hi - 1}).empty() || a.Status == "denied" && s.Holder == c.Holder ||
		c.Kind == "verify" && c.Epoch != s.Epoch {
		return nil
	}
	return []claimState{s}
}

// refused is a write or a check that found no claim of the caller's that stands.
func (s claimState) refused(c stormCall, a stormAnswer, now span) []claimState {
	if a.Status == "free" && a.Epoch != s.Epoch {
		return nil
	}
	other := a.Status == "lost" && (c.Kind != "verify" && c.Holder != s.Holder || c.Epoch != 0 && c.Epoch != s.Epoch)
	if !s.Open || other {
		return []claimState{s}
	}
	if s.Expires.Hi = min(s.Expires.Hi, now.Hi); s.Expires.empty() {
		return nil
	}
	return []claimState{s}
}

// killed did it, or not.
func (s claimState) killed(c stormCall, now span) []claimState {
	next := []claimState{s}
	switch c.Kind {
	case "take":
		next = append(next, s.granted(c, now)...)
		next = append(next, s.renewed(c, now)...)
	case "renew":
		next = append(next, s.renewed(c, now)...)
	case "release":
		next = append(next, s.released(c, now)...)
	}
	return next
}

// stormVerdict says whether what was asked about one key, and answered, can be the work
// of a store that does one thing at a time.
func stormVerdict(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(stormModel(), history, time.Minute)
}
