package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

func (contract) Take(t *testing.T, b bundle) {
	r := store.TakeRequest{Key: `a 'key' "of" $HOME %n 任务`, Holder: bob, TTL: time.Hour, Note: "first of ünïcode"}
	want := fleet.Claim{Key: r.Key, Holder: bob, Epoch: 1, AcquiredAt: Start(), ExpiresAt: Start().Add(time.Hour), Note: r.Note}
	same(t, "granted", b.mustTake(t, r, fleet.Granted), want)
	b.clock.Advance(time.Minute)
	inTheWay := want
	inTheWay.ReadAt = b.clock.Now()
	same(t, "in the way of another", b.mustTake(t, store.TakeRequest{Key: r.Key, Holder: alice, Renews: true, TTL: time.Hour}, fleet.Denied), inTheWay)
	same(t, "in the way of one who named nobody", b.mustTake(t, store.TakeRequest{Key: r.Key, Holder: bob, TTL: time.Hour}, fleet.Denied), inTheWay)
	b.mustTake(t, store.TakeRequest{Key: r.Key + "x", Holder: alice, TTL: time.Hour}, fleet.Granted)
	got, held, err := b.check(t.Context(), r.Key)
	must.Do(t, err)
	same(t, "after the denials", got, want)
	if !held {
		t.Error("got it free, want held")
	}
}

func (contract) TakeRefused(t *testing.T, b bundle) {
	for _, ttl := range []time.Duration{-time.Hour, 0, 1, time.Millisecond - 1} {
		grant, c, err := b.Take(t.Context(), store.TakeRequest{Key: "k", Holder: bob, TTL: ttl})
		mustBe(t, err, fleet.ErrUsage)
		same(t, "grant", grant, fleet.Grant(""))
		same(t, "claim", c, fleet.Claim{})
	}
	if c, held, err := b.check(t.Context(), "k"); held || c.Epoch != 0 || err != nil {
		t.Errorf("got %+v, %v, %v, want nothing written", c, held, err)
	}
	b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Millisecond}, fleet.Granted)
}

func (contract) RenewByTaking(t *testing.T, b bundle) {
	r := store.TakeRequest{Key: "k", Holder: bob, Renews: true, TTL: time.Hour, Note: "first"}
	want := b.mustTake(t, r, fleet.Granted)
	b.clock.Advance(10 * time.Minute)
	r.Note = ""
	want.ExpiresAt = b.clock.Now().Add(time.Hour)
	same(t, "renewed", b.mustTake(t, r, fleet.Renewed), want)
	r.Note, want.Note = "second", "second"
	same(t, "renewed with a note", b.mustTake(t, r, fleet.Renewed), want)
	r.TTL, want.ExpiresAt = time.Minute, b.clock.Now().Add(time.Minute)
	same(t, "renewed for less", b.mustTake(t, r, fleet.Renewed), want)
}

// RenewAhead renews claims that a clock granted that was ahead. They are their holders'
// then: nothing else of them is from the future.
func (contract) RenewAhead(t *testing.T, b bundle) {
	again := store.TakeRequest{Key: "again", Holder: bob, Renews: true, TTL: time.Hour}
	b.mustTake(t, again, fleet.Granted)
	h := b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour}, fleet.Granted)
	b.clock.Advance(-50 * time.Minute)
	b.mustTake(t, again, fleet.Renewed)
	must.Get(b.Renew(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: h.Epoch}, time.Hour))(t)
	for _, key := range []fleet.Key{"again", "k"} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: alice, TTL: time.Hour}, fleet.Denied)
	}
	b.clock.Advance(-61 * time.Minute)
	for _, key := range []fleet.Key{"again", "k"} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: alice, TTL: time.Hour}, fleet.Granted)
	}
}

// Expiry stands at the last instant of a claim, and at the first after it.
func (contract) Expiry(t *testing.T, b bundle) {
	take := store.TakeRequest{Key: "k", Holder: bob, Renews: true, TTL: time.Hour, Note: "bob's"}
	b.mustTake(t, take, fleet.Granted)
	b.clock.Advance(time.Hour - time.Millisecond)
	b.mustTake(t, store.TakeRequest{Key: "k", Holder: alice, TTL: time.Hour}, fleet.Denied)
	b.clock.Advance(time.Millisecond)
	if _, held, err := b.check(t.Context(), "k"); held || err != nil {
		t.Errorf("got held %v, %v at its expiry, want free", held, err)
	}
	want := fleet.Claim{Key: "k", Holder: alice, Epoch: 2, AcquiredAt: b.clock.Now(), ExpiresAt: b.clock.Now().Add(time.Hour)}
	same(t, "granted to another", b.mustTake(t, store.TakeRequest{Key: "k", Holder: alice, TTL: time.Hour}, fleet.Granted), want)
	b.clock.Advance(time.Hour)
	take.Holder = alice
	c := b.mustTake(t, take, fleet.Granted) // its own, but expired: not a renewal
	same(t, "epoch", c.Epoch, fleet.Epoch(3))
	same(t, "acquired at", c.AcquiredAt, b.clock.Now())
}

func (contract) Renew(t *testing.T, b bundle) {
	want := b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour, Note: "n"}, fleet.Granted)
	b.clock.Advance(time.Minute)
	for _, epoch := range []fleet.Epoch{1, 0} {
		want.ExpiresAt = b.clock.Now().Add(2 * time.Hour)
		got := must.Get(b.Renew(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: epoch}, 2*time.Hour))(t)
		same(t, "renewed", got.Claim, want)
		b.clock.Advance(time.Minute)
	}
	_, err := b.Renew(t.Context(), store.Hold{Key: "k", Holder: bob}, time.Millisecond-1)
	mustBe(t, err, fleet.ErrUsage)
	got, _, err := b.check(t.Context(), "k")
	must.Do(t, err)
	same(t, "after all", got, want)
}

func (contract) Release(t *testing.T, b bundle) {
	want := b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour, Note: "n"}, fleet.Granted)
	b.clock.Advance(time.Minute)
	got := must.Get(b.Release(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: 1}, fleet.EndingDone, "all of it"))(t)
	want.ReleasedAt, want.Ending, want.Reason = b.clock.Now(), fleet.EndingDone, "all of it"
	same(t, "released", got, want)
	c, held, err := b.check(t.Context(), "k")
	must.Do(t, err)
	same(t, "checked", c, want)
	if held {
		t.Error("got it held, want free")
	}
	next := fleet.Claim{Key: "k", Holder: bob, Epoch: 2, AcquiredAt: b.clock.Now(), ExpiresAt: b.clock.Now().Add(time.Hour)}
	same(t, "taken again", b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, Renews: true, TTL: time.Hour}, fleet.Granted), next)
	must.Get(b.Release(t.Context(), store.Hold{Key: "k", Holder: bob}, fleet.EndingReleased, ""))(t)
}

// FencedWrites tries to renew and to release what is not, or no longer, the
// holder's at the epoch. Nothing may change by it.
func (contract) FencedWrites(t *testing.T, b bundle) {
	release := func(key fleet.Key) {
		must.Get(b.Release(t.Context(), store.Hold{Key: key, Holder: bob}, fleet.EndingReleased, ""))(t)
	}
	take := func(key fleet.Key) {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: bob, TTL: time.Hour}, fleet.Granted)
	}
	expire := func(fleet.Key) { b.clock.Advance(time.Hour) }
	tests := []struct {
		key    fleet.Key
		before []func(fleet.Key)
		holder fleet.Holder
		epoch  fleet.Epoch
	}{
		{"another's", []func(fleet.Key){take}, alice, 1},
		{"another's, any epoch", []func(fleet.Key){take}, alice, 0},
		{"an epoch to come", []func(fleet.Key){take}, bob, 2},
		{"never claimed", nil, bob, 0},
		{"released", []func(fleet.Key){take, release}, bob, 1},
		{"released, any epoch", []func(fleet.Key){take, release}, bob, 0},
		{"expired", []func(fleet.Key){take, expire}, bob, 1},
		{"a stale epoch", []func(fleet.Key){take, release, take}, bob, 1},
	}
	for _, tt := range tests {
		for _, step := range tt.before {
			step(tt.key)
		}
		before, _, err := b.check(t.Context(), tt.key)
		must.Do(t, err)
		h := store.Hold{Key: tt.key, Holder: tt.holder, Epoch: tt.epoch}
		if c, err := b.Renew(t.Context(), h, time.Hour); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("%s: renew: got %+v, %v, want lost", tt.key, c, err)
		}
		if c, err := b.Release(t.Context(), h, fleet.EndingDone, "mine"); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("%s: release: got %+v, %v, want lost", tt.key, c, err)
		}
		after, _, err := b.check(t.Context(), tt.key)
		must.Do(t, err)
		same(t, string(tt.key), after, before)
		// A lease that is not over by its holder's own clock makes up for the store's clock alone.
		h.Kept = true
		expired := tt.key == "expired"
		if c, err := b.Renew(t.Context(), h, time.Hour); expired != (err == nil) || expired && c.Epoch != before.Epoch || !expired && !errors.Is(err, fleet.ErrLost) {
			t.Errorf("%s: renew what is kept: got %+v, %v", tt.key, c, err)
		}
	}
}

// EndGivesBack has a session that holds more than its task: its end gives all of that back, expired or not, and what
// others hold stays.
func (contract) EndGivesBack(t *testing.T, b bundle) {
	r, settled := b.begun(t, "0r1"), b.begun(t, "0r2")
	b.mustTake(t, store.TakeRequest{Key: "expired", Holder: "run:0r1", TTL: time.Second}, fleet.Granted)
	b.mustTake(t, store.TakeRequest{Key: "hers", Holder: alice, TTL: time.Hour}, fleet.Granted)
	for id, lane := range map[fleet.RunID]int{"0r1": 1, "0r2": 2} {
		b.mustLane(t, id, "code", lane, fleet.Granted)
	}
	b.clock.Advance(time.Second)
	r.Verdict.Outcome = fleet.Lost
	must.Do(t, b.Complete(t.Context(), r))
	settled.Left.State = fleet.StateDone
	must.Do(t, b.Complete(t.Context(), graded(settled, 0.5)))
	list := must.Get(b.List(t.Context(), store.Listing{All: true}))(t)
	var got []string
	for _, c := range list.Claims {
		got = append(got, fmt.Sprintf("%s %v %s %v", c.Key, c.Current(b.clock.Now()), c.Ending, c.ReleasedAt.Equal(b.clock.Now())))
	}
	same(t, "claims", got, []string{
		"category:code:1 false released true", "category:code:2 false released true", "expired false released true", "hers true  false",
		"task of 0r1 false released true", "task of 0r2 false done true",
	})
	for _, h := range must.Get(b.LaneHolds(t.Context(), Start()))(t) {
		same(t, "lane left at", h.ReleasedAt, b.clock.Now())
	}
}

func (contract) Check(t *testing.T, b bundle) {
	c, held, err := b.check(t.Context(), "k")
	must.Do(t, err)
	same(t, "never claimed", c, fleet.Claim{Key: "k"})
	if held {
		t.Error("got it held, want free")
	}
}

// Clock has all that is compared with time say when it was read: by the store's clock.
func (contract) Clock(t *testing.T, b bundle) {
	for range 2 {
		_, checked, err := b.Check(t.Context(), "k")
		must.Do(t, err)
		list := must.Get(b.List(t.Context(), store.Listing{}))(t)
		same(t, "read at", []time.Time{checked, list.At, b.mustSnapshot(t).At}, []time.Time{b.clock.Now(), b.clock.Now(), b.clock.Now()})
		b.clock.Advance(-2 * time.Hour)
	}
}

func (contract) List(t *testing.T, b bundle) {
	b.mustTake(t, store.TakeRequest{Key: "d-expired", Holder: bob, TTL: time.Second}, fleet.Granted)
	for _, key := range []fleet.Key{"c", "a", "e-released"} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: bob, TTL: time.Hour}, fleet.Granted)
	}
	b.mustTake(t, store.TakeRequest{Key: "b", Holder: alice, TTL: time.Hour}, fleet.Granted)
	must.Get(b.Release(t.Context(), store.Hold{Key: "e-released", Holder: bob}, fleet.EndingReleased, ""))(t)
	b.clock.Advance(time.Second)
	for l, want := range map[store.Listing]string{
		{}:                       "a b c",
		{Holder: bob}:            "a c",
		{Holder: "nobody"}:       "",
		{All: true}:              "a b c d-expired! e-released!",
		{All: true, Holder: bob}: "a c d-expired! e-released!",
	} {
		list := must.Get(b.List(t.Context(), l))(t)
		var got []string
		for _, c := range list.Claims {
			name := string(c.Key)
			if !c.Current(b.clock.Now()) {
				name += "!"
			}
			got = append(got, name)
		}
		same(t, fmt.Sprintf("%+v", l), strings.Join(got, " "), want)
	}
}

// ClaimModel holds any sequence of claims against a model: who holds the key,
// since which epoch, until when.
func (contract) ClaimModel(t *testing.T, b bundle) {
	keys := 0
	rapid.Check(t, func(rt *rapid.T) {
		keys++
		key := fleet.Key(fmt.Sprintf("k%d", keys))
		var model fleet.Claim // held while its expiry lies ahead
		held := func() bool { return b.clock.Now().Before(model.ExpiresAt) }
		holder := rapid.SampledFrom([]fleet.Holder{bob, alice})
		ttl := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Minute, time.Hour})
		hold := func() store.Hold {
			return store.Hold{Key: key, Holder: holder.Draw(rt, "holder"), Epoch: fleet.Epoch(rapid.IntRange(0, int(model.Epoch)+1).Draw(rt, "epoch"))}
		}
		owns := func(h store.Hold) bool {
			return held() && h.Holder == model.Holder && (h.Epoch == 0 || h.Epoch == model.Epoch)
		}
		fenced := func(rt *rapid.T, err error, ok bool) {
			if ok && err != nil || !ok && !errors.Is(err, fleet.ErrLost) {
				rt.Fatalf("got %v, want success: %v", err, ok)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"take": func(rt *rapid.T) {
				r := store.TakeRequest{Key: key, Holder: holder.Draw(rt, "holder"), Renews: rapid.Bool().Draw(rt, "renews"), TTL: ttl.Draw(rt, "ttl")}
				want := fleet.Denied
				switch {
				case !held():
					want, model = fleet.Granted, fleet.Claim{Holder: r.Holder, Epoch: model.Epoch + 1, ExpiresAt: b.clock.Now().Add(r.TTL)}
				case r.Renews && r.Holder == model.Holder:
					want, model.ExpiresAt = fleet.Renewed, b.clock.Now().Add(r.TTL)
				}
				got, _, err := b.Take(t.Context(), r)
				if got != want || err != nil {
					rt.Fatalf("got %s, %v, want %s", got, err, want)
				}
			},
			"renew": func(rt *rapid.T) {
				h, d := hold(), ttl.Draw(rt, "ttl")
				ok := owns(h)
				_, err := b.Renew(t.Context(), h, d)
				if fenced(rt, err, ok); ok {
					model.ExpiresAt = b.clock.Now().Add(d)
				}
			},
			"release": func(rt *rapid.T) {
				h := hold()
				ok := owns(h)
				again := !model.ReleasedAt.IsZero() && h.Holder == model.Holder && h.Epoch == model.Epoch
				_, err := b.Release(t.Context(), h, fleet.EndingReleased, "")
				if fenced(rt, err, ok || again); ok {
					model.ExpiresAt, model.ReleasedAt = time.Time{}, b.clock.Now()
				}
			},
			"wait": func(rt *rapid.T) { b.clock.Advance(ttl.Draw(rt, "time")) },
			"": func(rt *rapid.T) {
				c, h, err := b.check(t.Context(), key)
				if err != nil || h != held() || c.Epoch != model.Epoch || h && (c.Holder != model.Holder || !c.ExpiresAt.Equal(model.ExpiresAt)) {
					rt.Fatalf("got %+v, held %v, %v, want %+v, held %v", c, h, err, model, held())
				}
			},
		})
	})
}
