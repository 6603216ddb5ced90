package storetest

import (
	"strings"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// Text has an agent write what is no text: the end of its session is recorded all the same.
func (contract) Text(t *testing.T, b bundle) {
	for text, want := range map[string]string{
		"a\x00b": "a\uFFFDb", "a\xff\xfeb": "a\uFFFDb", "a\xc3": "a\uFFFD", "ä → 漢": "ä → 漢", "'; drop table runs; --": "'; drop table runs; --",
	} {
		b := b.fresh(t, rank.Defaults())
		r := b.begun(t, "0r1")
		r.Verdict = fleet.Verdict{Outcome: fleet.Failed, Reason: text}
		must.Do(t, b.Complete(t.Context(), r))
		stored := b.mustRun(t, "0r1")
		same(t, "reason", stored.Verdict.Reason, want)
		c := b.mustTake(t, store.TakeRequest{Key: "k", Holder: bob, TTL: time.Hour, Note: text}, fleet.Granted)
		_, err := b.Release(t.Context(), store.Hold{Key: "k", Holder: bob, Epoch: c.Epoch}, fleet.EndingDone, text)
		must.Do(t, err)
		c, _, err = b.check(t.Context(), "k")
		must.Do(t, err)
		same(t, "note and reason", []string{c.Note, c.Reason}, []string{want, want})
	}
	// Keys are in the order of their bytes, whatever a language's order is.
	long := fleet.Key(strings.Repeat("k", 512))
	want := []fleet.Key{"B", "a", long, "~", "ä"}
	for _, key := range []fleet.Key{"ä", long, "a", "~", "B"} {
		b.mustTake(t, store.TakeRequest{Key: key, Holder: bob, TTL: time.Hour}, fleet.Granted)
	}
	list := must.Get(b.List(t.Context(), store.Listing{}))(t)
	var got []fleet.Key
	for _, c := range list.Claims {
		got = append(got, c.Key)
	}
	same(t, "order", got, want)
}
