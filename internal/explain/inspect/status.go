// Package inspect explains a fleet and changes nothing of it: what it does at a moment, why
// something is as it is, all of one run, what was done and what it cost, and what other
// settings would have changed. It returns finished values, which the screens, pages and JSON
// objects lay out.
package inspect

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"stint/internal/agent/preset"
	"stint/internal/config"
	"stint/internal/explain/replay"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/review"
	"stint/internal/store"
	"stint/internal/store/book"
	"stint/internal/survey"
)

// Explainer answers questions about one fleet.
type Explainer struct{ *survey.Reader }

// advice returns the remedy for an agent that rests for a fault. Its reason has the agent's
// words.
func (e *Explainer) advice(a fleet.AgentState) preset.Advice {
	return e.Config.Agents[a.Agent].CLI.Login.Advise(a.Fault, a.Reason)
}

// fix is the advice as one line to follow. Agents that rest are tried again by themselves,
// but not before their time.
func (e *Explainer) fix(a fleet.AgentState) string {
	const resume = "stint resume"
	switch advice := e.advice(a); {
	case advice.Command != "":
		return advice.Command + " && " + resume
	case advice.Do != "":
		return advice.Do + ", then: " + resume
	case a.Fault == fleet.FaultAgent:
		return resume
	}
	return ""
}

// Status is the fleet at one moment.
type Status struct {
	At      time.Time
	NoStore string                     // the folder in which there is no store; empty: there is one
	Timers  []fleet.Timer              // of the pools, the default one's first; nil: there is no manager to ask
	Hosts   []survey.HostState         // of the fleet, by name; nil: it has one
	Lanes   []LaneState                // of every category, by name
	Open    []fleet.RunStatus          // oldest first
	Claims  []fleet.Claim              // held
	Missing []string                   // what the configuration names and is not there, each with what to do
	Ahead   string                     // where the target has left its upstream; empty: it has not
	Pull    string                     // the command for that
	Held    []string                   // what leads to execution and waits for a person's confirmation
	Broken  string                     // the one of them that has faults and cannot be confirmed
	Closed  []Blocker                  // what keeps sessions from starting
	Bars    map[fleet.Category]Blocker // the first thing that keeps a fire from starting a category, as far as it is known
	Failed  []fleet.SourceFault        // sources of tasks that the last fire could not read
	Day     report.Audit               // of the last 24 hours
	Fires   []fleet.Fire               // newest first
	Runs    []fleet.RunStatus          // newest first
	Beliefs []Belief                   // by category, as configured

	Pauses   []fleet.Pause // in force: the whole fleet's first, then by category
	Lineage  fleet.Lineage // of the store
	Away     *fleet.Away   // the reviewer is; nil: nobody said so
	Stopped  []StoppedAgent
	Unboxed  []string           // agents that run without a box, by name
	Weak     []string           // agents whose box has no namespaces
	Waiting  []fleet.Waiting    // by task
	Unsynced []fleet.TaskMemory // whose source does not show their state, by task
	Spent    []fleet.Spent      // today, by scope
	Plans    []string           // what was used of the plans of logins here, by agent
	Review   review.Summary
	First    fleet.Category // that a fire may start, and has the tasks that name none if it can be that; empty: none
}

// LaneState is one lane of a category, and the run that is in it.
type LaneState struct {
	Category fleet.Category
	Number   int              // from 1
	Run      *fleet.RunStatus // nil: it is free
}

// Blocker is something that keeps sessions from starting.
type Blocker struct {
	Category fleet.Category // empty: it holds for the whole fleet
	Kind     fleet.Hindrance
	Reason   string
	Fire     fleet.FireID // that found it so, as finding out takes a while; 0: it holds now
}

// String is the reason, and whose it is.
func (g Blocker) String() string {
	if g.Fire == 0 {
		return g.Reason
	}
	return fmt.Sprintf("%s, as fire %d found", g.Reason, g.Fire)
}

// StoppedAgent is an agent of which no session may start, and why.
type StoppedAgent struct {
	fleet.AgentState
	Why        string
	Fix        string           // what a person does about it; empty: nothing, it ends by itself
	Categories []fleet.Category // that start nothing because of it
}

// Belief has the belief about a category's mean grade.
type Belief struct {
	Category fleet.Category
	Graded   int // sessions that brought a grade
	rank.Beta
}

// StatusOptions say how much of the past a status shows.
type StatusOptions struct {
	Fires int // the latest so many
	Runs  int
}

// Status reads the fleet's state. Its cost does not depend on the age of the record.
func (e *Explainer) Status(ctx context.Context, o StatusOptions) (s Status, err error) {
	s.Timers = e.timers(ctx)
	v, err := e.Present(ctx)
	if err != nil {
		return Status{}, err
	}
	snapshot := v.Snapshot
	s.At, s.Bars = v.Now, map[fleet.Category]Blocker{}
	s.Beliefs, s.First = e.beliefs(snapshot), e.firstCategory()
	s.Pauses, s.Lineage = PausesAt(snapshot.Pauses, s.At), snapshot.Lineage
	if snapshot.Away.At(s.At) {
		s.Away = &snapshot.Away
	}
	s.Stopped = e.stoppedAgents(snapshot, s.At)
	boxed := func(how fleet.BoxProfile) []string {
		return plain.Kept(e.Config.AgentNames(), func(name string) bool { return e.Config.Agents[name].Box == how })
	}
	s.Unboxed, s.Weak = boxed(fleet.BoxOpen), boxed(fleet.BoxLandlock)
	for _, agent := range e.Config.AgentNames() {
		if open := snapshot.Agent(agent).Open(e.Here.Host, s.At); len(open) > 0 {
			s.Plans = append(s.Plans, agent+": "+fleet.WindowsText(open))
		}
	}
	s.Waiting, s.Unsynced, s.Spent = fleet.WaitingTasks(snapshot.Tasks), fleet.Unsynced(snapshot.Tasks), snapshot.Spent
	s.Review = e.ReviewSummary(ctx)
	if e.Store == nil {
		s.NoStore, s.Lanes, s.Closed = e.Config.State, e.lanes(nil), e.closed(e.bars(ctx, v, nil))
		return s, nil
	}
	s.Open, s.Hosts = e.OpenRuns(v), e.Several(v)
	s.Lanes = e.lanes(s.Open)
	s.Claims = plain.Kept(v.Held, func(c fleet.Claim) bool { return !c.Key.IsLane() }) // a lane has its run beside it
	if s.Fires, err = e.Store.LastFires(ctx, store.FireQuery{Limit: o.Fires}); err != nil {
		return Status{}, err
	}
	runs, err := e.Store.LastRuns(ctx, store.RunQuery{Limit: o.Runs})
	if err != nil {
		return Status{}, err
	}
	s.Runs = plain.Each(runs, func(r fleet.Run) fleet.RunStatus { return e.Describe(ctx, r, s.Open) })
	last := lastFound(s.Fires)
	s.Bars = e.bars(ctx, v, last)
	s.Closed, s.Held, s.Broken = e.closed(s.Bars), e.Config.Untrusted(), e.Config.Trust.Broken
	for i, a := range s.Stopped {
		s.Stopped[i].Categories = e.stoppedBy(a.Agent, s)
	}
	if len(s.Fires) > 0 {
		s.Failed = last[s.Fires[0].Pool].Failed
	}
	s.Day, err = e.Audit(ctx, store.Span{From: s.At.Add(-24 * time.Hour)})
	return s, err
}

// timers are those of all pools. A manager that cannot be asked has none.
func (e *Explainer) timers(ctx context.Context) []fleet.Timer {
	if e.Timers == nil {
		return nil
	}
	list, err := e.Timers(ctx, e.Config.FiredPools())
	if err != nil {
		e.Log.DebugContext(ctx, "timers cannot be asked", slog.Any("err", err))
		return nil
	}
	return list
}

// lanes are those of the configuration, and any others that runs hold.
func (e *Explainer) lanes(open []fleet.RunStatus) (list []LaneState) {
	for _, name := range e.Config.CategoryNames() {
		for n := range e.Config.Categories[name].Lanes {
			list = append(list, LaneState{Category: name, Number: n + 1})
		}
	}
	for i := range open {
		r := &open[i]
		if r.Lane == 0 {
			continue
		}
		at, found := slices.BinarySearchFunc(list, r, func(l LaneState, r *fleet.RunStatus) int {
			return cmp.Or(cmp.Compare(l.Category, r.Category), cmp.Compare(l.Number, r.Lane))
		})
		if !found || list[at].Run != nil { // a second one is an orphan, which is seen, too
			list = slices.Insert(list, at, LaneState{Category: r.Category, Number: r.Lane})
		}
		list[at].Run = r
	}
	return list
}

// Idle are the lanes that are free, except those that a run is about to take.
func (s Status) Idle() (list []LaneState) {
	soon := map[fleet.Category]int{}
	for _, r := range s.Open {
		if r.Lane == 0 && r.State != fleet.RunCrashed {
			soon[r.Category]++
		}
	}
	for _, l := range s.Lanes {
		switch {
		case l.Run != nil:
		case soon[l.Category] > 0:
			soon[l.Category]--
		default:
			list = append(list, l)
		}
	}
	return list
}

// closed says what keeps sessions from starting: a store that is only read, the machine, agents, budgets, and results that
// wait for review. Pauses are reported elsewhere.
func (e *Explainer) closed(bars map[fleet.Category]Blocker) (list []Blocker) {
	if s, may := e.Store.(interface{ OnlyReads() string }); may && s.OnlyReads() != "" {
		list = append(list, Blocker{Kind: fleet.HinderedByMachine, Reason: s.OnlyReads()})
	}
	if e.Machine != nil {
		if reason := e.Machine(); reason != "" {
			list = append(list, Blocker{Kind: fleet.HinderedByMachine, Reason: reason})
		}
	}
	for _, c := range slices.Sorted(maps.Keys(bars)) {
		if bars[c].Kind.Gate() {
			list = append(list, bars[c])
		}
	}
	return list
}

// stoppedBy are the categories that start nothing because an agent may not work, nor any other of theirs.
func (e *Explainer) stoppedBy(agent string, s Status) []fleet.Category {
	stopped := func(name string) bool {
		return slices.ContainsFunc(s.Stopped, func(a StoppedAgent) bool { return a.Agent == name })
	}
	return plain.Kept(e.Config.CategoryNames(), func(c fleet.Category) bool {
		agents := e.Config.Categories[c].Agents
		rest := slices.DeleteFunc(slices.Clone(agents), stopped)
		return s.Bars[c].Kind == fleet.HinderedByAgent && slices.Contains(agents, agent) && len(rest) == 0
	})
}

// bars are the first things that keep the fires of their own pools from starting categories:
// as they are now, and only where finding out takes a while as the last of these fires found
// them. The places in review are looked at again where they were full; a gate's own command is not asked.
func (e *Explainer) bars(ctx context.Context, v survey.View, last map[string]found) map[fleet.Category]Blocker {
	bars := map[fleet.Category]Blocker{}
	full := sync.OnceValue(func() map[fleet.Category]string { return e.RoomFull(ctx) })
	for _, v.Pool = range e.Config.PoolNames() {
		s := e.Situation(v)
		for _, name := range e.Config.CategoryNames() {
			if e.Config.Categories[name].Pool != v.Pool {
				continue
			}
			for _, o := range s.Obstacles(name) {
				if _, barred := bars[name]; !barred && !o.Kind.Lists() {
					bars[name] = Blocker{Category: name, Kind: o.Kind, Reason: o.Reason}
				}
			}
			for _, c := range last[v.Pool].Candidates {
				if _, barred := bars[name]; barred || c.Category != name || !c.By.Lists() {
					continue
				}
				b := Blocker{name, c.By, c.Out, last[v.Pool].fire}
				if c.By == fleet.HinderedByReview && e.Config.Room(name).Takes && len(e.Config.Categories[name].WIP.Command) == 0 {
					if b.Reason, b.Fire = full()[name], 0; b.Reason == "" {
						continue // somebody has reviewed since
					}
				}
				bars[name] = b
			}
		}
	}
	return bars
}

// found has the input of a fire.
type found struct {
	rank.Input
	fire fleet.FireID
}

// lastFound returns the input of each pool's last fire. "stint replay" complains of an input that
// cannot be read.
func lastFound(fires []fleet.Fire) map[string]found {
	last := map[string]found{}
	for _, f := range fires { // newest first
		if _, newer := last[f.Pool]; newer {
			continue
		}
		if in, err := replay.Read(f); err == nil {
			last[f.Pool] = found{in, f.ID}
		}
	}
	return last
}

// PausesAt are those that are not over.
func PausesAt(pauses []fleet.Pause, now time.Time) []fleet.Pause {
	return plain.Kept(pauses, func(p fleet.Pause) bool { return p.Until.IsZero() || p.Until.After(now) })
}

func (e *Explainer) stoppedAgents(s store.Snapshot, now time.Time) (list []StoppedAgent) {
	for _, a := range s.Agents {
		probing := slices.ContainsFunc(s.Open, func(r fleet.Run) bool { return r.ID == a.Probe })
		if why := a.Blocked(now, probing); why != "" {
			if i := slices.IndexFunc(s.Hosts, func(h fleet.Host) bool { return h.ID == a.Host }); i >= 0 && len(s.Hosts) > 1 {
				why += ", on host " + s.Hosts[i].Name + " alone"
			}
			list = append(list, StoppedAgent{AgentState: a, Why: why, Fix: e.fix(a)})
		}
	}
	return list
}

// firstCategory is the one to name to a person who begins.
func (e *Explainer) firstCategory() fleet.Category {
	for _, c := range append([]fleet.Category{e.Config.Tasks.DefaultCategory}, e.Config.Fanout.Allow...) {
		if slices.Contains(e.Config.Fanout.Allow, c) && e.OtherPool(c, config.DefaultPool) == "" && e.NotForHost(c) == "" {
			return c
		}
	}
	return ""
}

// beliefs are about every category of the configuration, in order of names.
func (e *Explainer) beliefs(s store.Snapshot) (list []Belief) {
	names := e.Config.CategoryNames()
	arms := make([]*rank.Arm, len(names))
	for i, name := range names {
		arm := s.Coming(name, e.Here.Host)
		arms[i] = &arm
	}
	settings := e.Config.Selector.Settings()
	pool := settings.Prior(arms)
	for i, name := range names {
		list = append(list, Belief{name, arms[i].Graded, settings.Belief(arms[i], pool)})
	}
	return list
}

// Audit computes from the record how lanes, claims and categories were used in a span.
func (e *Explainer) Audit(ctx context.Context, s store.Span) (report.Audit, error) {
	r, err := e.past(ctx, s, 0, nil)
	if err != nil {
		return report.Audit{}, err
	}
	return report.NewAudit(r, e.Config.Selector.Settings()), nil
}

// Discrepancies are the figures of the store that do not add up by the record. It reads all of
// that, however old.
func (e *Explainer) Discrepancies(ctx context.Context) ([]fleet.Discrepancy, error) {
	if e.Store == nil {
		return nil, nil
	}
	l, err := e.Store.Ledger(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(book.Discrepancies(l), func(d fleet.Discrepancy) bool {
		if d.Run == "" {
			return false
		}
		r, err := e.Store.Run(ctx, d.Run)
		return err != nil || !r.EndedAt.IsZero() || e.Liveness(ctx, r) != fleet.Lives
	}), nil
}

// past reads what reports are computed from: the record of a span, with runs counted
// apart for each step of it; 0 is one step.
func (e *Explainer) past(ctx context.Context, s store.Span, step time.Duration, drawn []fleet.Run) (r report.Record, err error) {
	r.Shares = e.shares()
	if e.Store == nil {
		return r, nil
	}
	if r.Overran, err = e.Store.Overran(ctx, s.From); err != nil {
		return report.Record{}, err
	}
	r.Overran = slices.DeleteFunc(r.Overran, func(o fleet.Run) bool { return s.Over(o.OverranTo) })
	for _, run := range r.Overran { // of which there should be none
		if run.Task == "" {
			continue
		}
		rivals, err := e.Store.LastRuns(ctx, store.RunQuery{Task: run.Task, Limit: maxDrawn})
		if err != nil {
			return report.Record{}, err
		}
		r.Rivals = append(r.Rivals, rivals...)
	}
	if r.Denials, err = e.Store.DeniedClaims(ctx, s.From); err != nil {
		return report.Record{}, err
	}
	r.Denials = slices.DeleteFunc(r.Denials, func(d fleet.DeniedClaim) bool { return s.Over(d.At) })
	r.Holds.Denied = map[fleet.RunID]fleet.Category{}
	for _, d := range r.Denials {
		r.Holds.Denied[d.Run] = d.Category
	}
	shown := map[fleet.RunID]bool{}
	for _, run := range drawn {
		shown[run.ID] = true
	}
	r.Holds.Keep = func(h fleet.LaneHold) bool {
		return shown[h.Run] || slices.ContainsFunc(r.Overran, func(o fleet.Run) bool { return o.Category == h.Category && o.Lane == h.Lane })
	}
	if err = e.Store.EachLaneHold(ctx, s.From, func(h fleet.LaneHold) {
		if !s.Over(h.AcquiredAt) {
			r.Holds.Add(h)
		}
	}); err != nil {
		return report.Record{}, err
	}
	if r.Fallbacks, err = e.Store.Fallbacks(ctx, s); err != nil {
		return report.Record{}, err
	}
	if r.Entitled, err = e.Store.Entitled(ctx, s); err != nil {
		return report.Record{}, err
	}
	if r.GradeChanges, err = e.Store.GradeChanges(ctx, store.ChangeQuery{Since: s.From, Limit: maxDrawn}); err != nil {
		return report.Record{}, err
	}
	r.GradeChanges = slices.DeleteFunc(r.GradeChanges, func(c fleet.GradeChange) bool { return s.Over(c.At) })
	if r.Tasks, err = e.Store.FailedTasks(ctx, s, fleet.FailuresToWait); err != nil {
		return report.Record{}, err
	}
	r.Tallies, err = e.Store.Tallies(ctx, s, step)
	return r, err
}

// shares are the parts of all sessions that the categories are to get. A category that fires
// may not start gets none: its share is divided among the others, as in every fire. Where the
// store is shared, other hosts may start one that this host may not.
func (e *Explainer) shares() map[fleet.Category]float64 {
	shares := map[fleet.Category]float64{}
	all, open := 0.0, 0.0
	for _, name := range e.Config.CategoryNames() { // the order must not decide the last bit
		c := e.Config.Categories[name]
		shares[name] = 0
		all += c.Share
		if slices.Contains(e.Config.Fanout.Allow, name) && (e.Config.Store.Shared() || e.NotForHost(name) == "") {
			shares[name] = c.Share
			open += c.Share
		}
	}
	if open < all && open > 0 {
		for name := range shares {
			shares[name] *= all / open
		}
	}
	return shares
}
