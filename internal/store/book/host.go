package book

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/store/table"
)

// heardEvery bounds the writes of a machine's signs of life: many sessions send heartbeats.
const heardEvery = 10 * time.Second

// bootsKept bounds the boots of a machine that are remembered. An older copy passes for the machine.
const bootsKept = 256

// Introduce stores a machine that never fired, and on which people take claims or start sessions: a fire stores the
// same. A copied host, or one with another's name, must not fire and is not stored.
func (p Tx) Introduce(h fleet.Host) {
	switch there, found := p.Hosts.Get(h); {
	case found && there.Gone():
	case found && !there.FiredAt.IsZero():
		p.hear(h.ID)
	default:
		h.FiredAt = time.Time{}
		_ = p.takeDown(h) // a fire will tell the error
	}
}

func (p Tx) takeDown(h fleet.Host) error {
	if err := p.isCurrent(fleet.Location{Host: h.ID, Boot: h.Boot}); err != nil {
		return err
	}
	h.Name = cmp.Or(h.Name, h.ID)
	for _, other := range p.Hosts.Where("name", h.Name) {
		if other.ID != h.ID && !other.Gone() {
			return fleet.WithHint(fmt.Errorf("another host of the fleet, %s, is called %q, too: %w", other.ID, h.Name, fleet.ErrUsage),
				fmt.Sprintf("stint host adopt --name NAME gives this one another name; if the other is off for good: stint host gone %s", other.ID))
		}
	}
	before, _ := p.Hosts.Get(h)
	h.HeardAt, h.GoneAt, h.Reason, h.Boots = time.Time{}, time.Time{}, "", before.Boots
	if !p.Local.IsZero() {
		h.Ahead = p.Now().Sub(p.Local).Milliseconds()
	}
	if h.Boot != "" && !slices.Contains(h.Boots, h.Boot) {
		h.Boots = append(slices.Clone(h.Boots[max(0, len(h.Boots)-bootsKept+1):]), h.Boot)
	}
	same := before
	same.Ahead = h.Ahead
	if heard := p.hear(h.ID); heard || !reflect.DeepEqual(same, h) {
		p.Hosts.Put(h)
	}
	return nil
}

// seat asks for the host's row that a location is compared with.
func (p Tx) seat(s fleet.Location) []table.Ask {
	if s.Host == "" {
		return nil
	}
	return []table.Ask{p.Hosts.Like(fleet.Host{ID: s.Host})}
}

// About asks for all rows needed to store a machine.
func (p Tx) About(h fleet.Host) []table.Ask {
	return append(p.seat(fleet.Location{Host: h.ID, Boot: h.Boot}), p.Hosts.Ask("name", cmp.Or(h.Name, h.ID)), p.Heard.Like(table.Heard{Host: h.ID}))
}

// isCurrent refuses a process of an earlier boot of a machine: two machines share one identity.
func (p Tx) isCurrent(s fleet.Location) error {
	if s.Host == "" {
		return nil
	}
	newest, _ := p.Hosts.Get(fleet.Host{ID: s.Host})
	if !slices.Contains(newest.Boots, s.Boot) || s.Boot == newest.Boot {
		return nil
	}
	return fleet.WithHint(fmt.Errorf("two hosts use copies of one state folder: host %s has booted again since this one did: %w", newest.Name, fleet.ErrUsage),
		"on the copy, remove the file \"host\" from its state folder: it is another host")
}

// hear notes a machine's sign of life, and reports whether that is worth a write.
func (p Tx) hear(host string) (news bool) {
	last, _ := p.Heard.Get(table.Heard{Host: host})
	if news = host != "" && (p.Now().Sub(last.At) >= heardEvery || last.At.After(p.Now())); news {
		p.Heard.Put(table.Heard{Host: host, At: p.Now()})
	}
	return news
}

// tailsKept is the age at which tails of logs are deleted.
const tailsKept = 14 * 24 * time.Hour

// keepTail stores the last output of a session, and replaces the earlier one.
func (p Tx) keepTail(run fleet.RunID, text string) {
	if text != "" {
		p.Tails.Put(fleet.Tail{Run: run, At: p.Now(), Text: text})
	}
}

// leftBehind selects runs that have not ended, or still hold something.
func leftBehind() table.Only {
	return table.Only{SQL: `(ended_at is null or id in
(select substr(holder, 5) from claims where released_at is null and holder >= 'run:' and holder < 'run;'))`}
}

// leftOn asks for all rows that end with a machine's runs.
func (p Tx) leftOn(host string) {
	runs := p.Runs.Ask("host", host, leftBehind())
	p.Ahead(runs, p.Claims.Ask("holder", table.Holders(runs), "released_at", nil),
		p.Tasks.Ask("task", runs.Col("task")), p.Spent.Ask("day", runs.Col("day")))
	p.Ahead(p.asksRanking()...)
}

// HostGone records a person's word that a machine is off, and ends its open runs.
func (p Tx) HostGone(id, reason string) (ended []fleet.RunID, err error) {
	p.leftOn(id)
	h, found := p.Hosts.Get(fleet.Host{ID: id})
	if !found {
		return nil, fmt.Errorf("host %s: %w", id, fleet.ErrNotFound)
	}
	if !h.Gone() {
		h.GoneAt, h.Reason = p.Now(), reason
		p.Hosts.Put(h)
	}
	for _, r := range p.Runs.Where("host", id, leftBehind()) {
		if r.EndedAt.IsZero() {
			ended = append(ended, r.ID)
		}
		p.abandon(store.Gone{Run: r.ID, Reason: "its host is off: " + reason}) // a run that has ended releases what it still holds
	}
	return ended, nil
}

// ForgetHost removes a machine that is gone.
func (p Tx) ForgetHost(id string) error {
	p.Ahead(p.Open.Ask("ended_at", nil), p.Heard.Like(table.Heard{Host: id}))
	h, found := p.Hosts.Get(fleet.Host{ID: id})
	switch {
	case !found:
		return nil // it is forgotten already
	case !h.Gone():
		return fleet.WithHint(fmt.Errorf("nobody says that host %s is off: %w", h.Name, fleet.ErrUsage), "stint host gone "+fleet.ShellWord(h.Name))
	}
	for _, r := range p.underWay() {
		if r.Host == id {
			return fmt.Errorf("host %s has an open run, %s: %w", h.Name, r.ID, fleet.ErrUsage)
		}
	}
	p.Hosts.Delete(h)
	p.Heard.Delete(table.Heard{Host: id})
	return nil
}

// AskToStop notes that a person wants a run to end.
func (p Tx) AskToStop(id fleet.RunID, reason string) bool {
	r, err := p.open(id)
	if err != nil {
		return false
	}
	r.Stop = reason
	p.Runs.Put(r)
	return true
}

// HostGone records a person's word that a machine is off.
//
// All of it is one transaction: if we die before the commit, the machine's sessions keep what they have.
func (w Writer) HostGone(ctx context.Context, id, reason string) ([]fleet.RunID, error) {
	return unrefused(ctx, w, func(p Tx) ([]fleet.RunID, error) { return p.HostGone(id, reason) }, "end what is on a host")
}

// ForgetHost removes a machine that is gone.
func (w Writer) ForgetHost(ctx context.Context, id string) error {
	return w.write(ctx, func(p Tx) error { return p.ForgetHost(id) }, "forget a host")
}

// AskToStop notes that a person wants a run to end.
func (w Writer) AskToStop(ctx context.Context, id fleet.RunID, reason string) (bool, error) {
	return decided(ctx, w, func(p Tx) bool { return p.AskToStop(id, reason) }, "ask run %s to stop", id)
}
