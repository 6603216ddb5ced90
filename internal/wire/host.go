package wire

import (
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/survey"
)

// Hosts is stint/hosts@1: the machines of a fleet.
type Hosts struct {
	Schema string      `json:"schema"`
	At     string      `json:"at"`
	Hosts  []HostState `json:"hosts"` // by name
}

// HostState is a machine of a fleet, as it said of itself at its last fire.
type HostState struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Here      bool     `json:"here"`     // it is this machine
	Heard     *string  `json:"heard"`    // its last fire, or the last heartbeat of a session there; null: nobody knows
	Sessions  int      `json:"sessions"` // on it that live, or are about to
	Slots     int      `json:"slots"`    // for sessions; 0: nobody bounded them
	Labels    []string `json:"labels"`
	LastFire  *string  `json:"last_fire"`
	NextFire  *string  `json:"next_fire"` // null: it is another machine's, or not known
	Boot      string   `json:"boot"`      // which start of it was the last that fired; empty: nobody knows
	Version   string   `json:"version"`   // of stint
	Arch      string   `json:"arch"`
	Workspace string   `json:"workspace"` // its path there
	Gone      *string  `json:"gone"`      // since when a person says that it is off; null: nobody does
	Trouble   string   `json:"trouble"`   // what is wrong with it; empty: nothing is known to be
}

// NewHosts is the machines of a fleet as JSON.
func NewHosts(at time.Time, list []survey.HostState) Hosts {
	return Hosts{"stint/hosts@1", plain.Stamp(at), each(list, newHostState)}
}

func newHostState(h survey.HostState) HostState {
	return HostState{
		h.ID, h.Name, h.Here, Time(h.HeardAt), h.Sessions, h.Slots, listed(h.Labels), Time(h.FiredAt), Time(h.NextFire), h.Boot, h.Version, h.Arch,
		h.Workspace, Time(h.GoneAt), h.Trouble,
	}
}

// HostChange is stint/host-change@1: a machine that a person said is off, or that was forgotten.
type HostChange struct {
	Schema string        `json:"schema"`
	DryRun bool          `json:"dry_run"`
	ID     string        `json:"id"`
	Name   string        `json:"name"`
	Change string        `json:"change"` // gone, forgotten
	Ended  []fleet.RunID `json:"ended"`  // its runs that were open
	Reason string        `json:"reason"`
}

// NewHostChange is a change of a machine as JSON.
func NewHostChange(h fleet.Host, change string, ended []fleet.RunID, reason string, dryRun bool) HostChange {
	return HostChange{"stint/host-change@1", dryRun, h.ID, h.Name, change, listed(ended), reason}
}
