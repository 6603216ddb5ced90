package view

import (
	"cmp"
	"slices"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/survey"
)

// Status shows the fleet at one moment to programs. People have a screen and a page.
func Status(name fleet.Name) View[inspect.Status] {
	type status = inspect.Status
	return View[status]{
		Schema[status]("stint/status@1"),
		Word("fleet", "", "", func(status) fleet.Name { return name }),
		At("at", "", "", func(s status) time.Time { return s.At }),
		Each("timers", "", View[fleet.Timer]{
			Word("pool", "", "", func(t fleet.Timer) string { return t.Pool }),
			Text("unit", "", "", func(t fleet.Timer) string { return t.Unit }),
			Bool("active", "it will fire again", func(t fleet.Timer) bool { return t.Active }),
			Bool("failed", "the last fire did, and there may be no record of it", func(t fleet.Timer) bool { return t.Failed }),
			At("last", "", "", func(t fleet.Timer) time.Time { return t.Last }).OrNull(),
			At("next", "", "", func(t fleet.Timer) time.Time { return t.Next }).OrNull(),
		}, func(s status) []fleet.Timer { return s.Timers }),
		Each("hosts", "the machines of the fleet, by name; empty: it has one", Host(), func(s status) []survey.HostState { return s.Hosts }),
		Each("lanes", "of every category", View[inspect.LaneState]{
			Word("category", "", "", func(l inspect.LaneState) fleet.Category { return l.Category }),
			Int("lane", "", "", func(l inspect.LaneState) int { return l.Number }),
			Word("run", "", "null: it is free", func(l inspect.LaneState) (id fleet.RunID) {
				if l.Run != nil {
					id = l.Run.ID
				}
				return id
			}).OrNull(),
		}, func(s status) []inspect.LaneState { return s.Lanes }),
		Each("running", "", OpenRun(), func(s status) []fleet.RunStatus { return s.Open }),
		Texts("held", "", "what waits for stint config trust", func(s status) []string { return s.Held }),
		Each("closed", "what keeps sessions from starting", View[inspect.Blocker]{
			Word("category", "", "empty: it holds for the whole fleet", func(c inspect.Blocker) fleet.Category { return c.Category }),
			Text("reason", "", "", func(c inspect.Blocker) string { return c.Reason }),
			Int("fire", "", "that found it so; 0: it holds now", func(c inspect.Blocker) fleet.FireID { return c.Fire }),
		}, func(s status) []inspect.Blocker { return s.Closed }),
		Each("failed_sources", "of tasks, at the last fire", View[fleet.SourceFault]{
			Word("source", "", "", func(f fleet.SourceFault) string { return f.Source }),
			Text("reason", "", "", func(f fleet.SourceFault) string { return f.Reason }),
		}, func(s status) []fleet.SourceFault { return s.Failed }),
		Each("claims", "", Claim(), func(s status) []ClaimState { return Held(s.Claims) }),
		Each("fires", "newest first", Fire(), func(s status) []fleet.Fire { return s.Fires }),
		Each("runs", "newest first", Run(), func(s status) []fleet.RunStatus { return s.Runs }),
		Each("posteriors", "", View[inspect.Belief]{
			Word("category", "", "", func(b inspect.Belief) fleet.Category { return b.Category }),
			Int("graded", "", "", func(b inspect.Belief) int { return b.Graded }),
			Number("alpha", "", func(b inspect.Belief) float64 { return b.A }),
			Number("beta", "", func(b inspect.Belief) float64 { return b.B }),
			Number("mean", "", func(b inspect.Belief) float64 { return b.Mean() }),
		}, func(s status) []inspect.Belief {
			return slices.SortedStableFunc(slices.Values(s.Beliefs), func(a, b inspect.Belief) int { return cmp.Compare(b.Mean(), a.Mean()) })
		}),
		Part("day", "of the last 24 hours", Audit(), func(s status) report.Audit { return s.Day }),
		Each("pauses", "in force", append(pause(), At("since", "", "", func(p fleet.Pause) time.Time { return p.Since })),
			func(s status) []fleet.Pause { return s.Pauses }),
		Sub("away", "null: nobody said that the reviewer is",
			append(away(), At("since", "", "", func(a fleet.Away) time.Time { return a.Since })),
			func(s status) *fleet.Away { return s.Away }),
		Sub("lineage", "null: the store lost nothing that it had acknowledged, as far as it is known", View[fleet.Lineage]{
			Int("incarnation", "", "how often it did", func(l fleet.Lineage) int { return l.Incarnation }),
			At("since", "", "", func(l fleet.Lineage) time.Time { return l.Since }),
			Int("lost_writes", "", "as far as it is known", func(l fleet.Lineage) int64 { return l.Lost }),
			At("grants_from", "", "no claim is granted before", func(l fleet.Lineage) time.Time { return l.GrantsFrom }),
			Text("reason", "", "", fleet.Lineage.Reason),
		}, func(s status) *fleet.Lineage {
			if s.Lineage.Reason() == "" {
				return nil
			}
			return &s.Lineage
		}),
		Each("agents_stopped", "", View[inspect.StoppedAgent]{
			Word("agent", "", "", func(a inspect.StoppedAgent) string { return a.Agent }),
			At("until", "", "null: until the run that tries it has ended", func(a inspect.StoppedAgent) time.Time { return a.Until }).OrNull(),
			Int("failures", "", "", func(a inspect.StoppedAgent) int { return a.Failures }),
			Text("reason", "", "", func(a inspect.StoppedAgent) string { return a.Why }),
			Texts("categories", "", "that start nothing because of it", func(a inspect.StoppedAgent) []fleet.Category { return a.Categories }),
		}, func(s status) []inspect.StoppedAgent {
			list := slices.Clone(s.Stopped)
			for i, a := range list {
				if !a.Until.After(s.At) {
					list[i].Until = time.Time{}
				}
			}
			return list
		}),
		Texts("agents_unboxed", "", "that run without a box", func(s status) []string { return s.Unboxed }),
		Texts("agents_landlocked", "", "whose box has no namespaces", func(s status) []string { return s.Weak }),
		Each("waiting_for_person", "", View[fleet.Waiting]{
			Word("task", "", "", func(w fleet.Waiting) fleet.TaskID { return w.Task }),
			Int("failures", "", "in a row", func(w fleet.Waiting) int { return w.Failures }),
			Int("sessions", "", "since its state last changed", func(w fleet.Waiting) int { return w.Sessions }),
			At("since", "", "of the last of them", func(w fleet.Waiting) time.Time { return w.Since }),
			Text("reason", "", "", func(w fleet.Waiting) string { return w.Reason }),
		}, func(s status) []fleet.Waiting { return s.Waiting }),
		Each("untold", "", View[fleet.TaskMemory]{
			Word("task", "", "", func(m fleet.TaskMemory) fleet.TaskID { return m.Task }),
			Enum("state", "", "", fleet.TaskStates(), func(m fleet.TaskMemory) fleet.TaskState { return m.State }),
			At("since", "", "", func(m fleet.TaskMemory) time.Time { return m.Since }),
			Text("reason", "", "", func(m fleet.TaskMemory) string { return m.Trouble }),
		}, func(s status) []fleet.TaskMemory { return s.Unsynced }),
		Each("spent_today", "UTC, with what sessions under way are expected to use", Spent(), func(s status) []fleet.Spent { return s.Spent }),
		Sub("next", "the command that frees the most categories; null: nothing waits for a person", View[inspect.Alert]{
			Text("command", "", "", func(a inspect.Alert) string { return a.Command }),
			Int("frees", "", "", func(a inspect.Alert) int { return a.Frees }),
			Text("reason", "", "", func(a inspect.Alert) string { return a.Text }),
		}, func(s status) *inspect.Alert {
			next := s.Next()
			if next.Command == "" {
				return nil
			}
			return &next
		}),
		Sub("in_review", "null: no category works in clones, or there are too many branches for a glance", View[review.Summary]{
			Int("open", "", "", func(g review.Summary) int { return g.Open }),
			Int("rotten", "", "of the open ones, those in conflict with the target, or with a failed check",
				func(g review.Summary) int { return g.Rotten }),
			At("oldest", "", "when its last commit was made", func(g review.Summary) time.Time { return g.Oldest }).OrNull(),
			Word("next", "", "that is best looked at next", func(g review.Summary) fleet.RunID { return g.Next }).OrNull(),
		}, func(s status) *review.Summary {
			if !s.Review.Known {
				return nil
			}
			return &s.Review
		}),
	}
}
