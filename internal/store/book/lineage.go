package book

import (
	"maps"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
)

// Acknowledged is a row of acknowledged: how many writes of a machine there were. No other machine
// counts there, so that the haste of others after a failover cannot hide what was lost.
type Acknowledged struct {
	Host   string
	Writes int64
}

// Meeting is a machine that is about to write to a server.
type Meeting struct {
	Host   string
	Server store.Server
	Seen   store.Seen
	Pause  time.Duration // for which nothing is granted after a loss: every session has its heartbeat within it
}

// Lineage is that of a store to which a machine writes, of whose writes so many are on record. Nothing
// is granted for a while if writes are lost, or if nobody can know that none is.
func (m Meeting) Lineage(l fleet.Lineage, written int64, now time.Time) fleet.Lineage {
	timeline, known := l.Servers[m.Server.System]
	seen := m.Seen
	if _, here := l.Servers[seen.System]; !here { // the store was copied from there, or the machine is new
		seen = store.Seen{}
	}
	if seen.Host != m.Host { // as for a copy of another machine
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
		next = fleet.Lineage{Incarnation: max(l.Incarnation, seen.Incarnation) + 1, Since: now, Lost: lost, GrantsFrom: whole(now.Add(m.Pause))}
	case joined:
		next.Lost += lost
		if l.GrantsFrom.IsZero() {
			next.GrantsFrom = whole(now.Add(m.Pause))
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

// Meet compares what a machine has seen with what is on record, and reports whether the lineage is to
// be written: before anything else is, and by itself, for what follows may be refused.
func (p *Page) Meet(m Meeting) (news bool) {
	had, _ := p.Acknowledged.Get(Acknowledged{Host: m.Host})
	before, found := p.Lineage.Get(fleet.Lineage{})
	l := m.Lineage(before, had.Writes, p.Now)
	if found && sameLineage(l, before) {
		return false
	}
	p.Lineage.Put(l)
	return true
}

// Restored takes a person's word that the store is a backup: machines may have lost writes that none of those knows of
// that write next, and would grant their epochs again. It returns the lineage from then on.
func (p *Page) Restored(pause time.Duration) fleet.Lineage {
	l := p.lineage()
	l.Incarnation, l.Since, l.Lost, l.GrantsFrom = l.Incarnation+1, p.Now, 0, whole(p.Now.Add(pause))
	p.Lineage.Put(l)
	return l
}

// Count counts a write of a machine, and returns what the machine has seen once it is acknowledged.
func (p *Page) Count(m Meeting) store.Seen {
	had, _ := p.Acknowledged.Get(Acknowledged{Host: m.Host})
	had.Writes++
	p.Acknowledged.Put(had)
	return store.Seen{System: m.Server.System, Timeline: m.Server.Timeline, Incarnation: p.lineage().Incarnation, Host: m.Host, Writes: had.Writes}
}

func sameLineage(a, b fleet.Lineage) bool {
	return a.Incarnation == b.Incarnation && a.Lost == b.Lost && a.GrantsFrom.Equal(b.GrantsFrom) && a.Synchronous == b.Synchronous && maps.Equal(a.Servers, b.Servers)
}

// lineage is the store's; of one that is a single machine's, nothing is known.
func (p *Page) lineage() fleet.Lineage {
	l, _ := p.Lineage.Get(fleet.Lineage{})
	return l
}

// barred refuses a grant while the sessions find out whether the store still has their claims.
func (p *Page) barred() error {
	if l := p.lineage(); l.Bars(p.Now) {
		return fleet.WithHint(fleet.RefusedError{
			Reason: "nothing is granted before " + l.GrantsFrom.Format(time.RFC3339) + ": " + l.Reason(),
			By:     fleet.HinderedByPause, Outcome: fleet.Unavailable,
		}, "sessions find out by then whether they have their claims; if none is at work: stint resume")
	}
	return nil
}
