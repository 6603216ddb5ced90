package wire

import "stint/internal/fleet"

// Paused is stint/pause@1: what a pause, or its end, changed.
type Paused struct {
	Schema   string         `json:"schema"`
	DryRun   bool           `json:"dry_run"`
	Category fleet.Category `json:"category"` // empty: the whole fleet
	Paused   bool           `json:"paused"`
	Changed  bool           `json:"changed"`
	Until    *string        `json:"until"` // null: until it is resumed
	Reason   string         `json:"reason"`
	Running  int            `json:"running"` // of a pause: sessions under way, which go on
}

// NewPaused is a pause that was set, as JSON.
func NewPaused(p fleet.Pause, running int, dryRun bool) Paused {
	return Paused{"stint/pause@1", dryRun, p.Category, true, true, Time(p.Until), p.Reason, running}
}

// NewResumed is the end of a pause, as JSON.
func NewResumed(c fleet.Category, changed, dryRun bool) Paused {
	return Paused{Schema: "stint/pause@1", DryRun: dryRun, Category: c, Changed: changed}
}

// Absence is stint/away@1.
type Absence struct {
	Schema  string  `json:"schema"`
	DryRun  bool    `json:"dry_run"`
	Away    bool    `json:"away"`
	Changed bool    `json:"changed"`
	Until   *string `json:"until"` // null: until "stint review away --end"
	Reason  string  `json:"reason"`
}

// NewAway is a reviewer's word, as JSON. One without a reason is back.
func NewAway(a fleet.Away, changed, dryRun bool) Absence {
	return Absence{"stint/away@1", dryRun, a.Reason != "", changed, Time(a.Until), a.Reason}
}

// Stop is stint/stop@1.
type Stop struct {
	Schema  string    `json:"schema"`
	DryRun  bool      `json:"dry_run"`
	Stopped []Stopped `json:"stopped"`
}

// Stopped is a run that was to end.
type Stopped struct {
	Run      fleet.RunID    `json:"run"`
	Category fleet.Category `json:"category"`
	Task     fleet.TaskID   `json:"task"`
	Was      fleet.RunState `json:"was"`
	Outcome  fleet.Outcome  `json:"outcome"` // empty: it has not ended
	Reason   string         `json:"reason"`
	Asked    bool           `json:"asked"` // it is on another machine, and ends at its next heartbeat
	Error    string         `json:"error"` // why it has not ended
}

// NewStop is what stop ended, as JSON.
func NewStop(list []Stopped, dryRun bool) Stop { return Stop{"stint/stop@1", dryRun, listed(list)} }

// Reap is stint/reap@1.
type Reap struct {
	Schema string   `json:"schema"`
	DryRun bool     `json:"dry_run"`
	Reaped []Reaped `json:"reaped"`
}

// Reaped is a run that was closed.
type Reaped struct {
	Run      fleet.RunID    `json:"run"`
	Category fleet.Category `json:"category"`
	Task     fleet.TaskID   `json:"task"`
	Reason   string         `json:"reason"`
}

// NewReap is what reap closed, as JSON.
func NewReap(list []Reaped, dryRun bool) Reap { return Reap{"stint/reap@1", dryRun, listed(list)} }

// Retry is stint/retry@1.
type Retry struct {
	Schema  string       `json:"schema"`
	DryRun  bool         `json:"dry_run"`
	Task    fleet.TaskID `json:"task"`
	Changed bool         `json:"changed"`
}

// NewRetry is a task that was put back into the queue, as JSON.
func NewRetry(id fleet.TaskID, changed, dryRun bool) Retry {
	return Retry{"stint/retry@1", dryRun, id, changed}
}

// Preview is stint/preview@1.
type Preview struct {
	Schema      string         `json:"schema"`
	Category    fleet.Category `json:"category"`
	Task        fleet.TaskID   `json:"task"`
	Key         fleet.Key      `json:"key"`
	Agent       string         `json:"agent"`
	Argv        []string       `json:"argv"`
	Environment []string       `json:"environment"`
	Dir         string         `json:"dir"`
	Prompt      string         `json:"prompt"`
}

// NewPreview is a session that would begin, as JSON.
func NewPreview(r fleet.Run, s fleet.SessionSpec) Preview {
	return Preview{"stint/preview@1", r.Category, r.Task, r.Key, r.Agent, s.Argv, s.Environment, s.Dir, s.Prompt}
}
