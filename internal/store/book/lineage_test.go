package book_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/book"
)

func TestLineage(t *testing.T) {
	t.Parallel()
	var (
		now      = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
		earlier  = now.Add(-time.Hour)
		until    = now.Add(5 * time.Minute)
		servers  = func(timeline int) map[string]int { return map[string]int{"a": timeline} }
		on       = func(timeline int) store.Server { return store.Server{System: "a", Timeline: timeline} }
		synced   = store.Server{System: "a", Timeline: 2, Synchronous: true}
		remember = func(timeline, incarnation int, writes int64) store.Seen {
			return store.Seen{System: "a", Timeline: timeline, Incarnation: incarnation, Host: "h", Writes: writes}
		}
	)
	for _, c := range []struct {
		say     string
		on      fleet.Lineage // record
		written int64
		server  store.Server
		seen    store.Seen
		want    fleet.Lineage
	}{
		{
			"the first write of all",
			fleet.Lineage{},
			0, on(1),
			store.Seen{},
			fleet.Lineage{Servers: servers(1)},
		},
		{
			"nothing is lost",
			fleet.Lineage{Servers: servers(1)},
			7, on(1), remember(1, 0, 7),
			fleet.Lineage{Servers: servers(1)},
		},
		{
			"a write that was not remembered is on record",
			fleet.Lineage{Servers: servers(1)},
			8, on(1), remember(1, 0, 7),
			fleet.Lineage{Servers: servers(1)},
		},
		{
			"a backup was restored",
			fleet.Lineage{Servers: servers(1)},
			5, on(1), remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(1), Since: now, Lost: 2, GrantsFrom: until},
		},
		{
			"a standby that lagged took over",
			fleet.Lineage{Servers: servers(1)},
			5, on(2), remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: now, Lost: 2, GrantsFrom: until},
		},
		{
			"nobody knows whether others lost something",
			fleet.Lineage{Servers: servers(1)},
			7, on(2), remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: now, GrantsFrom: until},
		},
		{
			"a synchronous standby took over",
			fleet.Lineage{Servers: servers(1), Synchronous: true},
			7, synced, remember(1, 0, 7),
			fleet.Lineage{Servers: servers(2), Synchronous: true},
		},
		{
			"one that was synchronous once",
			fleet.Lineage{Servers: servers(1), Synchronous: true},
			5, synced, remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: now, Lost: 2, GrantsFrom: until, Synchronous: true},
		},
		{
			"another machine had found that nothing of its own was lost",
			fleet.Lineage{Servers: servers(2)},
			5, on(2), remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: now, Lost: 2, GrantsFrom: until},
		},
		{
			"another machine has found it out",
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: earlier, Lost: 3, GrantsFrom: earlier},
			5, on(2), remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(2), Since: earlier, Lost: 5, GrantsFrom: earlier},
		},
		{
			"a snapshot from before the last loss was restored",
			fleet.Lineage{Servers: servers(1)},
			7, on(1), remember(1, 3, 7),
			fleet.Lineage{Incarnation: 4, Servers: servers(1), Since: now, GrantsFrom: until},
		},
		{
			"a person takes an older server",
			fleet.Lineage{Servers: servers(2)},
			7, on(1), remember(0, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: servers(1), Since: now, GrantsFrom: until},
		},
		{
			"a dump was restored elsewhere",
			fleet.Lineage{Servers: servers(1)},
			5,
			store.Server{System: "b", Timeline: 1},
			remember(1, 0, 7),
			fleet.Lineage{Incarnation: 1, Servers: map[string]int{"a": 1, "b": 1}, Since: now, Lost: 2, GrantsFrom: until},
		},
		{
			"a copy of another machine",
			fleet.Lineage{Servers: servers(1)},
			0, on(1),
			store.Seen{System: "a", Timeline: 1, Host: "original", Writes: 7},
			fleet.Lineage{Servers: servers(1)},
		},
		{
			"the store was copied to another server",
			fleet.Lineage{Incarnation: 2},
			0,
			store.Server{System: "b", Timeline: 1},
			remember(1, 2, 7),
			fleet.Lineage{Incarnation: 2, Servers: map[string]int{"b": 1}},
		},
	} {
		m := book.Meeting{Host: "h", Server: c.server, Seen: c.seen, Pause: 5 * time.Minute}
		if diff := cmp.Diff(c.want, m.Lineage(c.on, c.written, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.say, diff)
		}
	}
}

// TestEpochLeap shows that no epoch that may have been lost is granted again.
func TestEpochLeap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		say          string
		last         fleet.Epoch
		granted, now int // incarnations
		want         fleet.Epoch
	}{
		{"no loss", 4, 0, 0, 5},
		{"never granted", 0, 0, 0, 1},
		{"granted before a loss", 4, 0, 1, 1_000_005},
		{"granted after it", 1_000_005, 1, 1, 1_000_006},
		{"granted before two", 4, 0, 2, 2_000_005},
		{"as far as is known never granted", 0, 0, 1, 1_000_001},
	} {
		if got := (fleet.Lineage{Incarnation: c.now}).Epoch(c.last, c.granted); got != c.want {
			t.Errorf("%s: epoch %d, want %d", c.say, got, c.want)
		}
	}
}
