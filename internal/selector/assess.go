package selector

import (
	"fmt"
	"slices"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
)

// Why a category is left out of a ranking.
const (
	ReasonNotAllowed = "not in the fanout's allow-list"
	ReasonNoTask     = "no workable task"
	ReasonAllClaimed = "every workable task is claimed"
	ReasonFiltered   = "not asked for"
)

// OfPool is why a category is left out that fires of another pool start.
func OfPool(name string) string { return "of pool " + name }

// Facts is what is known of one category before its tasks are looked at.
type Facts struct {
	Category     fleet.Category
	Share        float64 // of all sessions that it is to get, relative to the others'
	Elsewhere    string  // the pool it is of, when others fire; empty: it is of the one that fires
	Allowed      bool    // a fire may start it
	SelfDirected bool    // runs without a task
	Lanes        int
	InFlight     []fleet.RunID // runs that live, or are about to
	Rests        time.Time     // cools down until then; zero: it does not
	Paused       string        // by whom or why; empty: it is not
	Gate         string        // what else keeps every session of it from starting; empty: nothing
	LOO          float64       // of its lessons, see [bandit.LOO]
	Arm          bandit.Arm
}

// Situation is everything that decides who may be ranked.
type Situation struct {
	Fire  fleet.FireID
	At    time.Time
	Facts []Facts
	Tasks []fleet.Task
	Held  []fleet.Claim  // what a take would deny
	Only  fleet.Category // assess this one alone; empty: all
}

// Candidate is what a ranking knows of one category. Candidates are recorded with the
// fire, so that it can be replayed.
type Candidate struct {
	Category fleet.Category `json:"category"`
	Out      string         `json:"out,omitempty"`  // why it cannot be started; empty: it can
	Pool     string         `json:"pool,omitempty"` // that it is of, when it is not the fire's
	Share    float64        `json:"share"`
	Pending  int            `json:"pending"` // sessions in flight
	Tasks    int            `json:"tasks"`   // workable now
	Next     *Next          `json:"next,omitempty"`
	LOO      float64        `json:"loo"`
	Arm      bandit.Arm     `json:"arm"`
}

// Next is the task that a category's next session would try first.
type Next struct {
	ID         fleet.TaskID    `json:"id"`
	State      fleet.TaskState `json:"state"`
	NextAction string          `json:"next_action,omitempty"`
}

// Assess finds out who can be started, and lists the open tasks that are blocked.
func (s Situation) Assess() ([]Candidate, []BlockedTask) {
	g := newGraph(s.Tasks)
	ready, blocked := workable(s.Tasks, g, byKey(s.Held), s.At)
	work := map[fleet.Category]*backlog{}
	of := func(c fleet.Category) *backlog {
		if work[c] == nil {
			work[c] = &backlog{}
		}
		return work[c]
	}
	for _, t := range ready {
		of(t.Category).add(t, g.changed(t, s.At))
	}
	var list []BlockedTask
	for _, b := range blocked {
		w := of(b.Task.Category)
		w.claimed = w.claimed || b.Reason == ClaimBlocked
		list = append(list, blockedTask(b))
	}
	var candidates []Candidate
	for _, f := range s.Facts {
		w := of(f.Category)
		candidates = append(candidates, Candidate{
			Category: f.Category, Out: s.unavailable(f, w), Pool: f.Elsewhere, Share: f.Share, Pending: len(f.InFlight),
			Tasks: w.tasks, Next: w.next, LOO: f.LOO, Arm: f.Arm,
		})
	}
	return candidates, list
}

// backlog is the open tasks of one category.
type backlog struct {
	tasks   int
	next    *Next
	news    time.Time // when its workable tasks last changed
	claimed bool      // some are
}

func (b *backlog) add(t *fleet.Task, changed time.Time) {
	if b.tasks++; b.next == nil {
		b.next = &Next{t.ID, t.State, t.NextAction}
	}
	if changed.After(b.news) {
		b.news = changed
	}
}

// unavailable says why a category cannot be started, or "".
func (s Situation) unavailable(f Facts, w *backlog) string {
	switch {
	case s.Only != "" && s.Only != f.Category:
		return ReasonFiltered
	case f.Elsewhere != "":
		return OfPool(f.Elsewhere)
	case !f.Allowed && s.Only == "": // asking for a category by name overrides the list
		return ReasonNotAllowed
	case f.Paused != "":
		return "paused: " + f.Paused
	case f.Gate != "":
		return f.Gate
	case len(f.InFlight) >= f.Lanes:
		return fmt.Sprintf("lane busy: run %s", f.InFlight[0])
	case s.At.Before(f.Rests):
		return "cools down until " + f.Rests.UTC().Format(time.RFC3339)
	case w.tasks == 0 && f.SelfDirected && lanesClaimed(s.Held, f):
		return ClaimBlocked
	case w.tasks == 0 && !f.SelfDirected && w.claimed:
		return ReasonAllClaimed
	case w.tasks == 0 && !f.SelfDirected:
		return ReasonNoTask
	case f.Arm.Asleep(s.Fire, w.news):
		return fmt.Sprintf("backs off until fire %d, or until a task changes: found nothing to do %s",
			f.Arm.AsleepUntil, times(f.Arm.Noops))
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// lanesClaimed reports whether a session without a task would be denied on every
// lane: a claim outlives a session that died.
func lanesClaimed(held []fleet.Claim, f Facts) bool {
	for lane := range f.Lanes {
		key := fleet.LaneKey(f.Category, lane+1)
		if !slices.ContainsFunc(held, func(h fleet.Claim) bool { return h.Key == key }) {
			return false
		}
	}
	return true
}
