package rank

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// Why a category is left out of a ranking.
const (
	ReasonNotAllowed = "not in the fanout's allow-list"
	ReasonNoTask     = "no workable task"
	ReasonAllClaimed = "every workable task is claimed"
	ReasonAllRest    = "every workable task rests"
	ReasonAllOverlap = "every workable task waits for other work"
	ReasonFiltered   = "not asked for"
)

// OfPool is the reason to leave out a category that fires of another pool start.
func OfPool(name string) string { return "of pool " + name }

// NotHere is the reason to leave out a category whose sessions run on other hosts.
func NotHere(why string) string { return "not for this host: " + why }

// Facts has the facts about one category before its tasks are looked at.
type Facts struct {
	Category     fleet.Category
	Share        float64 // of all sessions that it is to get, relative to the others'
	Elsewhere    string  // the pool it is of, when others fire; empty: it is of the one that fires
	NotForHost   string  // why fires on this host do not start it; empty: they may
	Barred       string  // why no fire may start it; empty: fires may
	SelfDirected bool    // runs without a task
	Lanes        int
	InFlight     []fleet.RunID // runs that live, or are about to
	Rests        time.Time     // cools down until then; zero: it does not
	Paused       Obstacle      // by whom or why; no reason: it is not
	Review       string        // why its results keep it from starting; empty: they do not
	Gate         Obstacle      // what else keeps every session of it from starting; no kind: nothing
	Unlisted     string        // which failed sources may have tasks for it; empty: none
	Agents       []string      // that could work, except for their slots, the preferred one first
	LOO          float64       // of its lessons, see [LOO]
	Arm          Arm
	Pairs        Pairs
}

// Situation is everything that decides who may be ranked.
type Situation struct {
	Queue
	Facts []Facts
	Only  fleet.Category // assess this one alone; empty: all
	// Forced are categories that a person wants started, whatever yields to that.
	Forced []fleet.Category
	// Begins leaves out what a session that begins finds out by itself: whether it gets a lane,
	// a task and a claim. Its category has rested.
	Begins bool
}

// Candidate has a ranking's facts about one category. Candidates are recorded with the
// fire, so that it can be replayed.
type Candidate struct {
	Category fleet.Category  `json:"category"`
	Out      string          `json:"out,omitempty"`    // why it cannot be started; empty: it can
	By       fleet.Hindrance `json:"by,omitempty"`     // what kind of thing that is
	Pool     string          `json:"pool,omitempty"`   // that it is of, when it is not the fire's
	Agents   []string        `json:"agents,omitempty"` // that could work, except for their slots, the preferred one first
	Share    float64         `json:"share"`
	Pending  int             `json:"pending"` // sessions in flight
	Tasks    int             `json:"tasks"`   // workable now
	Next     *Next           `json:"next,omitempty"`
	LOO      float64         `json:"loo"`
	Arm      Arm             `json:"arm"`
	Pairs    Pairs           `json:"pairs,omitempty"`
}

// Next is the task that a category's next session would try first.
type Next struct {
	ID         fleet.TaskID    `json:"id"`
	State      fleet.TaskState `json:"state"`
	NextAction string          `json:"next_action,omitempty"`
	Fruitless  bool            `json:"fruitless,omitempty"` // it was begun, and leads no longer: it brings nothing
}

// Assess finds out who can be started, and lists the open tasks that are blocked.
func (s Situation) Assess() ([]Candidate, []BlockedTask) {
	work, blocked := s.backlogs()
	list := plain.Each(blocked, blockedTask)
	var candidates []Candidate
	for _, f := range s.Facts {
		w := work.of(f.Category)
		out := first(s.obstacles(f, w))
		candidates = append(candidates, Candidate{
			Category: f.Category, Out: out.Reason, By: out.Kind, Pool: f.Elsewhere, Agents: f.Agents, Share: f.Share, Pending: len(f.InFlight),
			Tasks: w.tasks, Next: w.next, LOO: f.LOO, Arm: f.Arm, Pairs: f.Pairs,
		})
	}
	return candidates, list
}

// Obstacles are all that keeps a category from being started, the reason by which
// [Situation.Assess] leaves it out first.
func (s Situation) Obstacles(c fleet.Category) []Obstacle {
	work, _ := s.backlogs()
	for _, f := range s.Facts {
		if f.Category == c {
			return s.obstacles(f, work.of(c))
		}
	}
	return nil
}

// backlogs are the open tasks of every category, and those of them that are blocked.
func (s Situation) backlogs() (backlogs, []Blocked) {
	g := newGraph(s.Tasks)
	ready, blocked := s.workable(g)
	work := backlogs{}
	for _, t := range ready {
		work.of(t.Category).add(t, g.changed(t, s.At))
	}
	for _, b := range blocked {
		work.of(b.Task.Category).block(b, s.Queue)
	}
	return work, blocked
}

type backlogs map[fleet.Category]*backlog

func (b backlogs) of(c fleet.Category) *backlog {
	if b[c] == nil {
		b[c] = &backlog{}
	}
	return b[c]
}

// backlog is the open tasks of one category.
type backlog struct {
	tasks   int
	next    *Next
	news    time.Time   // when its workable tasks last changed
	claimed bool        // some are
	waits   string      // for which other work one of them does; empty: none does
	rests   int         // for how many more fires of the pool those that only rest all do; 0: there are none
	resting *fleet.Task // that can be worked on first again
}

func (b *backlog) add(t *fleet.Task, changed time.Time) {
	if b.tasks++; b.next == nil {
		b.next = &Next{t.ID, t.State, t.NextAction, yields(t) && t.Memory.Fruitless >= fleet.SessionsToLead}
	}
	if changed.After(b.news) {
		b.news = changed
	}
}

func (b *backlog) block(t Blocked, q Queue) {
	b.claimed = b.claimed || t.Kind == fleet.HinderedByClaim
	if t.Kind == fleet.HinderedByOverlap && b.waits == "" {
		b.waits = fmt.Sprintf("%q %s", t.Task.ID, t.Reason)
	}
	if fires := q.rest(t.Task); t.Kind == fleet.HinderedByEmpty && (b.resting == nil || fires < b.rests) {
		b.rests, b.resting = fires, t.Task
	}
}

// empty says why there is nothing to work on.
func (b *backlog) empty() Obstacle {
	switch {
	case b.claimed:
		return Obstacle{Kind: fleet.HinderedByClaim, Reason: ReasonAllClaimed}
	case b.waits != "":
		return Obstacle{Kind: fleet.HinderedByOverlap, Reason: ReasonAllOverlap + ": " + b.waits}
	case b.resting != nil:
		return Obstacle{Kind: fleet.HinderedByEmpty, Reason: fmt.Sprintf("%s, %q for %s: %s", ReasonAllRest, b.resting.ID, fleet.Fires(b.rests), b.resting.Memory.Emptied())}
	}
	return Obstacle{Kind: fleet.HinderedByTasks, Reason: ReasonNoTask}
}

// obstacles lists the obstacles to a category's start, the
// most lasting first.
func (s Situation) obstacles(f Facts, w *backlog) (list []Obstacle) {
	type obstacle struct {
		stands bool
		kind   fleet.Hindrance
		reason func() string
		until  time.Time
	}
	all := []obstacle{
		{s.Only != "" && s.Only != f.Category, fleet.HinderedByFilter, says(ReasonFiltered), time.Time{}},
		{f.Elsewhere != "", fleet.HinderedByPool, func() string { return OfPool(f.Elsewhere) }, time.Time{}},
		{f.NotForHost != "", fleet.HinderedByHost, func() string { return NotHere(f.NotForHost) }, time.Time{}},
		// Asking for a category by name overrides the list.
		{f.Barred != "" && s.Only == "", fleet.HinderedByList, says(f.Barred), time.Time{}},
		{f.Paused.Reason != "", fleet.HinderedByPause, func() string { return "paused: " + f.Paused.Reason }, f.Paused.Until},
		{f.Review != "", fleet.HinderedByReview, says(f.Review), time.Time{}},
		{f.Review == "" && f.Gate.Kind != "", f.Gate.Kind, says(f.Gate.Reason), f.Gate.Until},
	}
	if idle := w.tasks == 0 && !f.SelfDirected; !s.Begins {
		all = append(
			all,
			obstacle{len(f.InFlight) >= f.Lanes, fleet.HinderedByLane, func() string { return fmt.Sprintf("lane busy: run %s", f.InFlight[0]) }, time.Time{}},
			obstacle{s.At.Before(f.Rests), fleet.HinderedByRest, func() string { return "cooldown until " + plain.Stamp(f.Rests) }, f.Rests},
			obstacle{w.tasks == 0 && f.SelfDirected && lanesClaimed(s.Held, f), fleet.HinderedByClaim, says(ClaimBlocked), time.Time{}},
			obstacle{idle && f.Unlisted != "", fleet.HinderedBySource, says(f.Unlisted), time.Time{}},
			obstacle{idle && (f.Unlisted == "" || w.claimed), w.empty().Kind, func() string { return w.empty().Reason }, time.Time{}},
			obstacle{f.Arm.Asleep(f.Arm.Round, w.news), fleet.HinderedByBackoff, f.backsOff, time.Time{}},
		)
	}
	forced := slices.Contains(s.Forced, f.Category)
	for _, o := range all {
		if o.stands && !(forced && o.kind.Yields()) {
			list = append(list, Obstacle{Kind: o.kind, Reason: o.reason(), Until: o.until})
		}
	}
	return list
}

func says(reason string) func() string { return func() string { return reason } }

func (f Facts) backsOff() string {
	return fmt.Sprintf("backs off for %s, or until a task changes: its sessions brought nothing, %s",
		fleet.Fires(int(f.Arm.AsleepUntil-f.Arm.Round)), times(f.Arm.Noops))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lanesClaimed reports whether a session without a task would be denied on every
// lane: a claim outlives a session that crashed.
func lanesClaimed(held []fleet.Claim, f Facts) bool {
	for lane := range f.Lanes {
		key := fleet.LaneKey(f.Category, lane+1)
		if !slices.ContainsFunc(held, func(h fleet.Claim) bool { return h.Key == key }) {
			return false
		}
	}
	return true
}
