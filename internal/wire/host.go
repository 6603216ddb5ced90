package wire

import "stint/internal/fleet"

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
