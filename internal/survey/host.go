package survey

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"stint/internal/fleet"
)

// HostState is a machine of the fleet, and how it does.
type HostState struct {
	fleet.Host
	Here     bool
	Sessions int       // on it that live, or are about to
	NextFire time.Time // by this machine's own timers; zero: it is another's, or not known
	Trouble  string    // empty: nothing is known to be wrong with it
}

// Hosts are the machines of the fleet, by name.
func (f *Fleet) Hosts(v View) (list []HostState) {
	for _, h := range v.Snapshot.Hosts {
		s, working := HostState{Host: h, Here: h.ID == f.Here.Host}, false
		for _, r := range v.Snapshot.Open {
			if r.Host == h.ID && v.Live[r.ID] {
				s.Sessions++
				working = working || !r.StartedAt.IsZero()
			}
		}
		s.Trouble = h.Trouble(working, v.Now)
		list = append(list, s)
	}
	return list
}

// Several are the machines of a fleet that has more than one.
func (f *Fleet) Several(v View) []HostState {
	if list := f.Hosts(v); len(list) > 1 {
		return list
	}
	return nil
}

// askHosts reads the machines of the fleet, unless they are known from a look.
func (f *Fleet) askHosts(ctx context.Context) {
	if f.hosts != nil || f.Store == nil {
		return
	}
	list, _, err := f.Store.Hosts(ctx)
	if err != nil {
		f.Log.WarnContext(ctx, "hosts of the fleet not known", slog.Any("err", err))
	}
	f.setHosts(list)
}

// KeptElsewhere reports whether a machine is another one of the fleet: the branches of its runs are in its clone, and
// that they are not in this one says nothing.
func (f *Fleet) KeptElsewhere(ctx context.Context, host string) bool {
	if !f.Here.Elsewhere(fleet.Seat{Host: host}) {
		return false
	}
	f.askHosts(ctx)
	_, known := f.hosts[host]
	return known
}

func (f *Fleet) setHosts(list []fleet.Host) {
	f.hosts = map[string]fleet.Host{}
	for _, h := range list {
		f.hosts[h.ID] = h
	}
}

// whereabouts are where a run is at work, or was.
func (f *Fleet) whereabouts(r fleet.Run, now time.Time) (w fleet.Whereabouts) {
	if r.Host == "" || len(f.hosts) < 2 {
		return w
	}
	h, known := f.hosts[r.Host]
	w.Machine = cmp.Or(h.Name, r.Host)
	if known && r.EndedAt.IsZero() && f.Here.Elsewhere(r.Seat) {
		w.Heard, w.Unheard = h.HeardAt, h.Silent(now)
	}
	return w
}
