package survey

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// TestWhereabouts shows what is said of the machine of a run, by how many the fleet has.
func TestWhereabouts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	one, two := fleet.Host{ID: "a", Name: "one", HeardAt: now}, fleet.Host{ID: "b", Name: "two", HeardAt: now.Add(-11 * time.Minute)}
	open := func(host string) fleet.Run { return fleet.Run{ID: "0r1", Location: fleet.Location{Host: host}} }
	over := open("b")
	over.EndedAt = now
	for _, c := range []struct {
		name  string
		hosts []fleet.Host
		run   fleet.Run
		want  fleet.RunHost
	}{
		{"one machine", []fleet.Host{one}, open("a"), fleet.RunHost{}},
		{"one machine, and a run of an earlier identity", []fleet.Host{one}, open("x"), fleet.RunHost{}},
		{"here", []fleet.Host{one, two}, open("a"), fleet.RunHost{Machine: "one"}},
		{"elsewhere, silent", []fleet.Host{one, two}, open("b"), fleet.RunHost{Machine: "two", Heard: two.HeardAt, Unheard: true}},
		{"elsewhere, over", []fleet.Host{one, two}, over, fleet.RunHost{Machine: "two"}},
		{"on a machine that never fired", []fleet.Host{one, two}, open("x"), fleet.RunHost{Machine: "x"}},
		{"nobody knows", []fleet.Host{one, two}, open(""), fleet.RunHost{}},
	} {
		f := &Reader{Here: fleet.Location{Host: "a"}}
		f.setHosts(c.hosts)
		must.Equal(t, c.name, f.whereabouts(c.run, now), c.want)
		v := View{Snapshot: store.Snapshot{Hosts: c.hosts}, Live: map[fleet.RunID]bool{"0r1": true}, Now: now}
		v.Snapshot.Open = []fleet.Run{c.run}
		if got := f.Several(v); (len(got) > 0) != (len(c.hosts) > 1) || len(got) > 1 && (!got[0].Here || got[1].Here) {
			t.Errorf("%s: got machines %+v", c.name, got)
		}
	}
}

// TestKeptElsewhere is whose work is in the clone of another machine: that of a machine which is not on record is here or
// nowhere, and what became of it counts.
func TestKeptElsewhere(t *testing.T) {
	t.Parallel()
	f := &Reader{Here: fleet.Location{Host: "a"}}
	f.setHosts([]fleet.Host{{ID: "a"}, {ID: "b"}})
	for host, want := range map[string]bool{"a": false, "b": true, "forgotten": false, "": false} {
		must.Equal(t, "host "+host, f.KeptElsewhere(t.Context(), host), want)
	}
}
