package table

import (
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/store"
)

// Fleets holds the fleet's one row.
func Fleets() Table[Fleet] {
	return Table[Fleet]{"fleet", 0, func(f *Fleet) []Column {
		a, l := &f.Away, &f.Lineage
		return columns(
			"fires", &f.Fires, "moved", &f.Moved,
			"away_since", When(&a.Since), "away_until", When(&a.Until), "away_reason", &a.Reason,
			"incarnation", &l.Incarnation, "servers", JSON{&l.Servers, "{}"},
			"synchronous", Flag{&l.Synchronous}, "since", When(&l.Since), "lost", &l.Lost,
			"grants_from", When(&l.GrantsFrom),
		)
	}}
}

// Claims holds the last claim of each key.
func Claims() Table[Claim] {
	return Table[Claim]{"claims", 1, func(c *Claim) []Column {
		return columns(
			"key", &c.Key, "holder", &c.Holder, "epoch", &c.Epoch, "acquired_at", When(&c.AcquiredAt),
			"expires_at", When(&c.ExpiresAt), "renewals", &c.Renewals, "note", &c.Note,
			"released_at", When(&c.ReleasedAt), "ending", &c.Ending, "reason", &c.Reason, "attempt", &c.Attempt,
			"incarnation", &c.Incarnation, "took_over", When(&c.TookOver),
		)
	}}
}

// Events holds the history that the ranking folds.
func Events() Table[rank.Event] {
	return Table[rank.Event]{"events", 1, func(e *rank.Event) []Column { return columns("seq", &e.Seq, "event", JSON{e, ""}) }}
}

// Rankings holds the stored states of the ranking, the last of each day.
func Rankings() Table[Ranking] {
	return Table[Ranking]{"rankings", 1, func(r *Ranking) []Column {
		return columns("day", &r.Day, "seq", &r.State.Seq, "state", JSON{&r.State, ""})
	}}
}

// Lessons holds the trials of versions of lessons in categories.
func Lessons() Table[store.Lesson] {
	return Table[store.Lesson]{"lessons", 3, func(l *store.Lesson) []Column {
		return columns(
			"lesson", &l.ID, "version", &l.Version, "category", &l.Category, "at_round", &l.At, "with_w", &l.With.W,
			"with_s", &l.With.S, "with_g2", &l.With.G2, "with_graded", &l.With.Graded, "with_empty", &l.With.Empty,
			"with_failed", &l.With.Failed, "without_w", &l.Without.W, "without_s", &l.Without.S,
			"without_g2", &l.Without.G2, "without_graded", &l.Without.Graded, "without_empty", &l.Without.Empty,
			"without_failed", &l.Without.Failed, "exposure", &l.Exposure,
		)
	}}
}

// Agents holds the state of each agent.
func Agents() Table[fleet.AgentState] {
	return Table[fleet.AgentState]{"agents", 1, func(a *fleet.AgentState) []Column {
		return columns(
			"agent", &a.Agent, "until", When(&a.Until), "since", When(&a.Since),
			"reason", &a.Reason, "failures", &a.Failures, "limits", &a.Limits, "fault", &a.Fault, "faults", &a.Faults,
			"host", &a.Host, "category", &a.Category, "probe", &a.Probe, "bills", JSON{&a.Bills, "[]"}, "windows", JSON{&a.Windows, "[]"},
		)
	}}
}

// Tasks holds the memory of each task.
func Tasks() Table[fleet.TaskMemory] {
	return Table[fleet.TaskMemory]{"tasks", 1, func(m *fleet.TaskMemory) []Column {
		return columns(
			"task", &m.Task, "state", &m.State, "source", &m.Source, "item", &m.Item, "seen", &m.Seen, "owed", &m.Owed,
			"run", &m.Run, "since", When(&m.Since), "sessions", &m.Sessions,
			"failures", &m.Failures, "vain", &m.Fruitless, "taken", &m.Taken, "rests", &m.Rests, "reason", &m.Reason,
			"trouble", &m.Trouble,
		)
	}}
}

// Pauses holds the categories that a person has paused.
func Pauses() Table[fleet.Pause] {
	return Table[fleet.Pause]{"pauses", 1, func(p *fleet.Pause) []Column {
		return columns("category", &p.Category, "since", When(&p.Since), "until", When(&p.Until), "reason", &p.Reason)
	}}
}

// Runs holds every session.
func Runs() Table[Run] {
	return Table[Run]{"runs", 1, func(r *Run) []Column {
		v, u := &r.Verdict, &r.Usage
		return columns(
			"id", &r.ID, "host", &r.Host, "boot", &r.Boot, "fire", Maybe[fleet.FireID]{&r.Fire},
			"category", &r.Category, "rank", &r.Rank, "chain_depth", &r.ChainDepth, "source", &r.Source,
			"unit", &r.Unit, "lane", &r.Lane, "task", &r.Task, "key", &r.Key, "epoch", &r.Epoch, "round", &r.Round,
			"load", &r.Load, "nth", Maybe[int]{&r.Nth}, "counted", Maybe[int]{&r.Counted},
			"agent", &r.Agent, "box", &r.Box, "pid", &r.PID,
			"created_at", When(&r.CreatedAt), "not_before", When(&r.NotBefore), "time_limit", &r.Limit, "started_at", When(&r.StartedAt),
			"ended_at", When(&r.EndedAt), "outcome", &v.Outcome, "grade", &v.Grade, "final", &r.Grade,
			"alarm_at", When(&r.Alarm.At), "was", &r.Alarm.Was, "became", &r.Alarm.Became,
			"fates", JSON{&r.Fates, "[]"}, "fated_at", When(&r.FatedAt), "landed_at", When(&r.LandedAt),
			"reason", &v.Reason, "parts", JSON{&v.Parts, "{}"}, "task_state", &v.TaskState,
			"exit_status", &v.ExitStatus, "fault", &v.Fault, "held", Flag{&r.Deferred}, "tokens", &u.Tokens, "usd", &u.USD,
			"cost", &u.Cost, "models", JSON{&u.Models, "[]"}, "day", &r.Day,
			"reserved_tokens", &r.ReservedTokens, "reserved_usd", &r.ReservedUSD, "commits", JSON{&r.Commits, "[]"},
			"branch", &r.Branch, "quota_until", When(&r.QuotaUntil), "followed_by", &r.FollowedBy,
			"followed", &r.Followed, "stop", &r.Stop, "lease_over", When(&r.LeaseOver),
			"overran_to", When(&r.OverranTo), "lane_at", When(&r.LaneAt), "lane_left", When(&r.LaneLeft),
			"lessons", JSON{&r.Lessons, "[]"}, "conversation", JSON{&r.Conversation, "{}"},
		)
	}}
}

// Hosts holds the machines of the fleet.
func Hosts() Table[fleet.Host] {
	return Table[fleet.Host]{"hosts", 1, func(h *fleet.Host) []Column {
		return columns(
			"id", &h.ID, "name", &h.Name, "machine", &h.Machine, "boot", &h.Boot, "boots", JSON{&h.Boots, "[]"}, "version", &h.Version,
			"arch", &h.Arch, "workspace", &h.Workspace, "slots", &h.Slots, "labels", JSON{&h.Labels, "[]"},
			"config", &h.Config, "ahead", &h.Ahead, "fired_at", When(&h.FiredAt),
			"gone_at", When(&h.GoneAt), "reason", &h.Reason,
		)
	}}
}

// LastHeard holds the last sign of life of each machine.
func LastHeard() Table[Heard] {
	return Table[Heard]{"heard", 1, func(h *Heard) []Column {
		return columns("host", &h.Host, "at", When(&h.At))
	}}
}

// Tails holds the last output of sessions.
func Tails() Table[fleet.Tail] {
	return Table[fleet.Tail]{"tails", 1, func(t *fleet.Tail) []Column {
		return columns("run", &t.Run, "at", When(&t.At), "text", &t.Text)
	}}
}

// Writes counts each machine's writes.
func Writes() Table[Acknowledged] {
	return Table[Acknowledged]{"acknowledged", 1, func(a *Acknowledged) []Column {
		return columns("host", &a.Host, "writes", &a.Writes)
	}}
}
