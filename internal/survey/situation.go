package survey

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/config"
	"stint/internal/fleet"
	"stint/internal/plain"
	"stint/internal/rank"
	"stint/internal/store/book"
)

// WithoutAgent says why no session of the category could start now, for want of an agent
// that can work or of a budget. It has no kind where one could, else that of the first agent, and ends when one can.
func (f *Reader) WithoutAgent(v View, c fleet.Category) (o rank.Obstacle) {
	if o = f.Unfit(v, c, false); o.Kind != "" {
		return o
	}
	var reasons []string
	for _, agent := range f.Config.Categories[c].Agents {
		list := f.Refusals(v, c, agent)
		if err := f.faulty(agent, false); err != nil {
			list = []fleet.RefusedError{{By: fleet.HinderedByAgent, Reason: err.Error()}}
		} else if len(list) == 0 {
			return rank.Obstacle{}
		}
		o.Kind = cmp.Or(o.Kind, list[0].By)
		o.Until = rank.Sooner(o.Until, rank.Over(plain.Each(list, func(r fleet.RefusedError) time.Time { return r.Until })...))
		reasons = append(reasons, list[0].Reason)
	}
	o.Reason = strings.Join(slices.Compact(reasons), "; ")
	return o
}

// Unfit says what of the category's own keeps its sessions from starting, until a person has put
// it right: a program or the prompt is not as it was confirmed, no clone of the workspace can be made, or no agent has its
// programs and its secrets. A session asks once more when it begins.
func (f *Reader) Unfit(v View, c fleet.Category, begins bool) rank.Obstacle {
	for _, argv := range f.Config.Categories[c].Commands() {
		if err := f.Config.Trust.Check(argv, f.Config.Workspace); err != nil {
			return rank.Obstacle{Kind: fleet.HinderedByTrust, Reason: err.Error()}
		}
	}
	if f.Config.Categories[c].OwnClone && v.Unready != "" {
		return rank.Obstacle{Kind: fleet.HinderedByClone, Reason: "no clone can be made: " + v.Unready}
	}
	var faults []string
	agents := f.Config.Categories[c].Agents
	for _, agent := range agents {
		if err := f.faulty(agent, begins); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if len(faults) < len(agents) || faults == nil {
		return rank.Obstacle{}
	}
	return rank.Obstacle{Kind: fleet.HinderedByAgent, Reason: strings.Join(faults, "; ")}
}

// faulty says why an agent may not or cannot be started, whatever its service says. Programs are
// looked for in the workspace, of which a clone has what is committed; a session that begins finds
// out by starting them.
func (f *Reader) faulty(agent string, begins bool) error {
	a := f.Config.Agents[agent]
	for _, argv := range a.Commands(f.Config.Workspace) {
		if err := f.Config.Trust.Check(argv, f.Config.Workspace); err != nil {
			return err
		}
	}
	if err := a.Fault(begins); err != nil || begins {
		return err
	}
	for _, program := range a.Programs() {
		if err := f.Agents.Find(program, f.Passed(a), f.Config.Workspace); err != nil {
			return fmt.Errorf("agent %s: %s: %w", agent, program, err)
		}
	}
	return nil
}

// Able are those of the category's agents that can work, whether or not a slot is free, and
// are installed; when there is none, the first of all.
func (f *Reader) Able(v View, c fleet.Category) (list []string) {
	agents := f.Config.Categories[c].Agents
	for _, agent := range agents {
		barred := slices.ContainsFunc(f.Refusals(v, c, agent), func(r fleet.RefusedError) bool { return r.Outcome != fleet.Busy })
		if !barred && f.Installed(agent) {
			list = append(list, agent)
		}
	}
	if len(list) == 0 {
		return agents[:1]
	}
	return list
}

// Seats are the slots of the agents that have a limit of their own.
func (f *Reader) Seats(v View) rank.Seats {
	seats := rank.Seats{}
	for name, a := range f.Config.Agents {
		if a.Slots > 0 {
			seats[name] = rank.Slot{All: a.Slots, Free: max(0, a.Slots-v.Busy[name])}
		}
	}
	return seats
}

// Installed says whether all programs that a session of the agent needs can be started, and its
// environment file can be read.
func (f *Reader) Installed(agent string) bool {
	_, known := f.Config.Agents[agent]
	return known && f.faulty(agent, false) == nil
}

// Refusals are all that keeps an agent from a session of the category. The store goes by the same
// rule when the session takes its claim.
func (f *Reader) Refusals(v View, c fleet.Category, agent string) []fleet.RefusedError {
	state := v.Snapshot.Agent(agent).For(c, f.Here.Host)
	return book.Admission{
		Terms: f.Terms(c, agent), State: state, Probing: v.Live[state.Probe], Busy: v.Busy[agent], Spent: v.Snapshot.Spent, Now: v.Now,
		Host: f.Here.Host,
	}.Refusals()
}

// Terms are those of an agent's sessions of a category.
func (f *Reader) Terms(c fleet.Category, agent string) fleet.Terms {
	a := f.Config.Agents[agent]
	return fleet.Terms{Agent: agent, Slots: a.Slots, Pace: a.Pace, Budgets: f.Config.Budgets(c, agent), Room: f.Config.Room(c)}
}

// Redraws is the number of draws by which a fire estimates the probability of its choices: to
// within 0.05, in some milliseconds.
const Redraws = 400

// OtherPool returns the pool of a category if other fires than those of this pool start it, or "".
func (f *Reader) OtherPool(c fleet.Category, pool string) string {
	if own := f.Config.Categories[c].Pool; own != pool {
		return own
	}
	return ""
}

// NotForHost says why no fire on this host starts a category, or "".
func (f *Reader) NotForHost(c fleet.Category) string {
	return cmp.Or(f.Config.NotForHost(c), f.Config.Unfired(f.Config.Categories[c].Pool))
}

// free returns the number of the pool's sessions that may be started: its own slots bound them, and the
// fleet's.
func (f *Reader) free(v View) int {
	all, own := 0, 0
	for c, n := range v.Running {
		all += n
		if f.OtherPool(c, v.Pool) == "" {
			own += n
		}
	}
	return max(0, min(f.Config.Fanout.Slots-all, f.Config.Pools[v.Pool].Slots-own))
}

// Queue orders the tasks for the sessions that a fire starts next.
func (f *Reader) Queue(v View) rank.Queue {
	return rank.Queue{Tasks: v.Tasks, Held: v.Held, Overlaps: v.Overlaps, At: v.Now, Round: func(c fleet.Category) fleet.Round { return f.coming(v, c).Round }}
}

// coming is a category in the round of the fire that is looked for.
func (f *Reader) coming(v View, c fleet.Category) rank.Arm {
	if v.Extra {
		return v.Snapshot.Arms[c].Arm
	}
	return v.Snapshot.Coming(c, f.Here.Host)
}

// Situation returns the facts that decide which categories may be ranked.
func (f *Reader) Situation(v View) rank.Situation {
	s := rank.Situation{Queue: f.Queue(v)}
	shifts := f.lessonShifts(v)
	for _, name := range f.Config.CategoryNames() {
		c, arm := f.Config.Categories[name], v.Snapshot.Arms[name]
		facts := rank.Facts{
			Category:     name,
			Elsewhere:    f.OtherPool(name, v.Pool),
			NotForHost:   f.NotForHost(name),
			Share:        c.Share,
			Barred:       f.barred(name),
			SelfDirected: c.SelfDirected,
			Lanes:        c.Lanes,
			InFlight:     v.InFlight[name],
			Paused:       Paused(v.Snapshot.Pauses, name, v.Now),
			Review:       v.Full[name],
			Gate:         f.WithoutAgent(v, name),
			Unlisted:     f.Unlisted(v.Failed, name),
			Agents:       f.Able(v, name),
			Pairs:        v.Snapshot.Pairs[name],
			LOO:          shifts[name],
			Arm:          f.coming(v, name),
		}
		// A fire closes crashed runs first, and the category rests from their end on.
		if ended := plain.Latest(arm.Ended, v.Crashed[name].At); !ended.IsZero() {
			facts.Rests = ended.Add(c.Cooldown)
		}
		if fleet.Ahead(arm.AsleepSince, v.Now) {
			facts.Arm.AsleepUntil = 0 // no change of a task would end it
		}
		s.Facts = append(s.Facts, facts)
	}
	return s
}

// Paused is what a person said to keep a category, or with "" the whole fleet, from being started. It has no reason where nobody did.
func Paused(pauses []fleet.Pause, c fleet.Category, now time.Time) (o rank.Obstacle) {
	var ends []time.Time
	for _, p := range pauses {
		reason := book.PausedBy(p, c, now)
		if reason == "" {
			continue
		}
		ends = append(ends, p.Until)
		o.Reason = cmp.Or(o.Reason, reason)
	}
	o.Until = rank.Over(ends...)
	return o
}

// Input returns the input of the ranking.
func (f *Reader) Input(v View, s rank.Situation, seed *uint64) rank.Input {
	in := rank.Input{
		Settings: f.Config.Selector.Settings(), Fire: v.Snapshot.NextFire, At: s.At,
		Free: f.free(v), Seats: f.Seats(v), Failed: v.Failed, Rates: v.Snapshot.Prices.Rates(v.Pool), Extra: v.Extra,
	}
	if v.Pool != config.DefaultPool {
		in.FirePool = v.Pool
	}
	if f.Machine != nil {
		in.Closed = f.Machine()
	}
	in.Candidates, in.Blocked = s.Assess()
	if seed == nil {
		in.Seed = f.Random()
	} else {
		in.Seed = *seed
	}
	return in
}

// barred says why no fire may start a category; empty: fires may.
func (f *Reader) barred(name fleet.Category) string {
	if slices.Contains(f.Config.Fanout.Allow, name) {
		return ""
	}
	return rank.ReasonNotAllowed
}
