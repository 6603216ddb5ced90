package book

import (
	"maps"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// Meeting describes a machine that is about to write to a server.
type Meeting struct {
	Host   string
	Server store.Server
	Seen   store.Seen
	Pause  time.Duration // after a loss nothing is granted for this time: every session sends a heartbeat within it
}

// Lineage returns a store's lineage after a machine has met it. Written counts the machine's writes on record. Nothing
// is granted for a while if writes are lost, or if nobody can know.
func (m Meeting) Lineage(l fleet.Lineage, written int64, now time.Time) fleet.Lineage {
	timeline, known := l.Servers[m.Server.System]
	seen := m.Seen
	if _, here := l.Servers[seen.System]; !here { // the store was copied from there, or the machine is new
		seen = store.Seen{}
	}
	if seen.Host != m.Host { // this is a copy of another machine
		seen.Writes = 0
	}
	lost := max(0, seen.Writes-written)
	var (
		first  = len(l.Servers) == 0
		back   = seen.Incarnation > l.Incarnation || lost > 0 && seen.Incarnation == l.Incarnation || known && m.Server.Timeline < timeline
		doubt  = !first && (!known || m.Server.Timeline > timeline && !l.Synchronous)
		joined = lost > 0 && !back // another machine found out first
		next   = l
	)
	switch {
	case back || doubt:
		next = fleet.Lineage{Incarnation: max(l.Incarnation, seen.Incarnation) + 1, Since: now, Lost: lost, GrantsFrom: table.Whole(now.Add(m.Pause))}
	case joined:
		next.Lost += lost
		if l.GrantsFrom.IsZero() {
			next.GrantsFrom = table.Whole(now.Add(m.Pause))
		}
	}
	next.Servers = maps.Clone(l.Servers)
	if next.Servers == nil {
		next.Servers = map[string]int{}
	}
	next.Servers[m.Server.System] = m.Server.Timeline
	next.Synchronous = m.Server.Synchronous
	return next
}

// Restored records a person's word that the store is a backup. Writes may be lost that no machine notices at its next
// write, and their epochs would be granted again. It returns the new lineage.
func (p Tx) Restored(pause time.Duration) fleet.Lineage {
	row := p.fleet()
	l := &row.Lineage
	l.Incarnation, l.Since, l.Lost, l.GrantsFrom = l.Incarnation+1, p.Now(), 0, table.Whole(p.Now().Add(pause))
	p.Fleet.Put(row)
	return *l
}

// Same reports whether two lineages are equal, apart from their time.
func Same(a, b fleet.Lineage) bool {
	return a.Incarnation == b.Incarnation && a.Lost == b.Lost && a.GrantsFrom.Equal(b.GrantsFrom) && a.Synchronous == b.Synchronous && maps.Equal(a.Servers, b.Servers)
}

// barred refuses a grant while the sessions find out whether the store still has their claims.
func (p Tx) barred() error {
	if l := p.fleet().Lineage; l.Bars(p.Now()) {
		return fleet.WithHint(fleet.RefusedError{
			Reason: "nothing is granted before " + l.GrantsFrom.Format(time.RFC3339) + ": " + l.Reason(),
			By:     fleet.HinderedByPause, Outcome: fleet.Unavailable,
		}, "sessions find out by then whether they have their claims; if none is at work: stint resume")
	}
	return nil
}
