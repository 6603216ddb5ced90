package wire

import (
	"cmp"
	"slices"

	"stint/internal/fleet"
	"stint/internal/inspect"
	"stint/internal/plain"
	"stint/internal/review"
)

// Status is stint/status@1.
type Status struct {
	Schema     string              `json:"schema"`
	Fleet      fleet.Name          `json:"fleet"`
	At         string              `json:"at"`
	Timers     []Timer             `json:"timers"`
	Hosts      []HostState         `json:"hosts"` // the machines of the fleet, by name; empty: it has one
	Lanes      []Lane              `json:"lanes"` // of every category
	Running    []OpenRun           `json:"running"`
	Held       []string            `json:"held"`           // what waits for stint config trust
	Closed     []Closure           `json:"closed"`         // what keeps sessions from starting
	Failed     []fleet.SourceFault `json:"failed_sources"` // of tasks, at the last fire
	Claims     []Claim             `json:"claims"`
	Fires      []Fire              `json:"fires"` // newest first
	Runs       []Run               `json:"runs"`  // newest first
	Posteriors []Posterior         `json:"posteriors"`
	Day        Audit               `json:"day"` // of the last 24 hours

	Pauses  []Pause        `json:"pauses"`  // in force
	Away    *Away          `json:"away"`    // null: nobody said that the reviewer is
	Lineage *Lineage       `json:"lineage"` // null: the store lost nothing that it had acknowledged, as far as it is known
	Agents  []StoppedAgent `json:"agents_stopped"`
	Unboxed []string       `json:"agents_unboxed"`    // that run without a box
	Weak    []string       `json:"agents_landlocked"` // whose box has no namespaces
	Waiting []Waiting      `json:"waiting_for_person"`
	Untold  []Untold       `json:"untold"`
	Spent   []Spent        `json:"spent_today"` // UTC, with what sessions under way are expected to use
	Review  *InReview      `json:"in_review"`   // null: no category works in clones, or there are too many branches for a glance
}

// InReview is how much waits for review.
type InReview struct {
	Open   int          `json:"open"`
	Rotten int          `json:"rotten"` // of the open ones, those in conflict with the target, or with a failed check
	Oldest *string      `json:"oldest"` // when its last commit was made
	Next   *fleet.RunID `json:"next"`   // that is best looked at next
}

// Timer is what fires a pool.
type Timer struct {
	Pool   string  `json:"pool"`
	Unit   string  `json:"unit"`
	Active bool    `json:"active"` // it will fire again
	Failed bool    `json:"failed"` // the last fire did, and there may be no record of it
	Last   *string `json:"last"`
	Next   *string `json:"next"`
}

// Lane is one lane, and the run that is in it.
type Lane struct {
	Category fleet.Category `json:"category"`
	Lane     int            `json:"lane"`
	Run      *fleet.RunID   `json:"run"` // null: it is free
}

// Closure is something that keeps sessions from starting.
type Closure struct {
	Category fleet.Category `json:"category"` // empty: it holds for the whole fleet
	Reason   string         `json:"reason"`
	Fire     fleet.FireID   `json:"fire"` // that found it so; 0: it holds now
}

// Away is a reviewer's word that nobody reviews for a while.
type Away struct {
	Since  string  `json:"since"`
	Until  *string `json:"until"` // null: until "stint review away --end"
	Reason string  `json:"reason"`
}

// Pause is work that a person has stopped.
type Pause struct {
	Category fleet.Category `json:"category"` // empty: the whole fleet
	Since    string         `json:"since"`
	Until    *string        `json:"until"` // null: until it is resumed
	Reason   string         `json:"reason"`
}

// StoppedAgent is an agent of which no session may start.
type StoppedAgent struct {
	Agent    string  `json:"agent"`
	Until    *string `json:"until"` // null: until the run that tries it has ended
	Failures int     `json:"failures"`
	Reason   string  `json:"reason"`
}

// Waiting is a task that waits for a person, because sessions failed at it or left it as it was.
type Waiting struct {
	Task     fleet.TaskID `json:"task"`
	Failures int          `json:"failures"` // in a row
	Sessions int          `json:"sessions"` // since its state last changed
	Since    string       `json:"since"`    // of the last of them
	Reason   string       `json:"reason"`
}

// Untold is a task whose source does not show the state in which it was left.
type Untold struct {
	Task   fleet.TaskID    `json:"task"`
	State  fleet.TaskState `json:"state"`
	Since  string          `json:"since"`
	Reason string          `json:"reason"`
}

// Spent is what the sessions of a day used.
type Spent struct {
	Scope  fleet.Scope `json:"scope"`
	Runs   int         `json:"runs"`
	Tokens int64       `json:"tokens"`
	USD    float64     `json:"usd"`
	// The part of USD that was computed from prices, assumed, or expected of a session under way.
	Guessed float64 `json:"usd_estimated"`
	// The part of tokens and usd for the sessions under way.
	ReservedTokens int64   `json:"tokens_reserved"`
	ReservedUSD    float64 `json:"usd_reserved"`
}

// OpenRun is a run that has not ended. Its tokens are those that its agent has printed so far.
type OpenRun struct {
	Run
	State   fleet.RunState `json:"state"`
	Timeout int64          `json:"timeout_seconds"` // of its category
}

// NewOpenRun is a run that has not ended, as JSON.
func NewOpenRun(r fleet.RunStatus) OpenRun {
	o := OpenRun{newRun(r), r.State, int64(r.Timeout.Seconds())}
	o.Tokens = r.Tokens
	return o
}

// Posterior is what is believed of a category's mean grade.
type Posterior struct {
	Category fleet.Category `json:"category"`
	Graded   int            `json:"graded"`
	Alpha    float64        `json:"alpha"`
	Beta     float64        `json:"beta"`
	Mean     float64        `json:"mean"`
}

// NewStatus is a fleet at one moment, as JSON.
func NewStatus(name fleet.Name, s inspect.Status) Status {
	return Status{
		Schema: "stint/status@1", Fleet: name, At: plain.Stamp(s.At),
		Timers: each(s.Timers, func(t fleet.Timer) Timer {
			return Timer{t.Pool, t.Unit, t.Active, t.Failed, Time(t.Last), Time(t.Next)}
		}),
		Hosts:   each(s.Hosts, newHostState),
		Lanes:   each(s.Lanes, newLane),
		Running: each(s.Open, NewOpenRun),
		Held:    append([]string{}, s.Held...),
		Closed:  each(s.Closed, func(g inspect.Closure) Closure { return Closure(g) }),
		Failed:  listed(s.Failed),
		Claims:  each(s.Claims, func(c fleet.Claim) Claim { return NewClaim(ClaimHeld, c) }),
		Fires:   each(s.Fires, NewFire), Runs: each(s.Runs, newRun), Posteriors: posteriors(s), Day: NewAudit(s.Day),
		Pauses: each(s.Pauses, func(p fleet.Pause) Pause {
			return Pause{p.Category, plain.Stamp(p.Since), Time(p.Until), p.Reason}
		}),
		Away: newAway(s.Away), Lineage: newLineage(s.Lineage),
		Agents: each(s.Stopped, func(g inspect.StoppedAgent) StoppedAgent {
			o := StoppedAgent{g.Agent, nil, g.Failures, g.Why}
			if g.Until.After(s.At) {
				o.Until = Time(g.Until)
			}
			return o
		}),
		Unboxed: listed(s.Unboxed), Weak: listed(s.Weak),
		Waiting: each(s.Waiting, func(q fleet.Waiting) Waiting {
			return Waiting{q.Task, q.Failures, q.Sessions, plain.Stamp(q.Since), q.Reason}
		}),
		Untold: each(s.Untold, func(m fleet.TaskMemory) Untold { return Untold{m.Task, m.State, plain.Stamp(m.Since), m.Trouble} }),
		Spent:  each(s.Spent, func(u fleet.Spent) Spent { return Spent(u) }),
		Review: newInReview(s.Review),
	}
}

// Lineage is the last time that the store lost writes that it had acknowledged.
type Lineage struct {
	Incarnation int    `json:"incarnation"` // how often it did
	Since       string `json:"since"`
	Lost        int64  `json:"lost_writes"` // as far as it is known
	GrantsFrom  string `json:"grants_from"` // no claim is granted before
	Reason      string `json:"reason"`
}

func newLineage(l fleet.Lineage) *Lineage {
	if l.Reason() == "" {
		return nil
	}
	return &Lineage{l.Incarnation, plain.Stamp(l.Since), l.Lost, plain.Stamp(l.GrantsFrom), l.Reason()}
}

func newAway(a *fleet.Away) *Away {
	if a == nil {
		return nil
	}
	return &Away{plain.Stamp(a.Since), Time(a.Until), a.Reason}
}

func newInReview(g review.Glance) *InReview {
	if !g.Known {
		return nil
	}
	return &InReview{g.Open, g.Rotten, Time(g.Oldest), some(g.Next)}
}

func newLane(l inspect.LaneState) Lane {
	o := Lane{Category: l.Category, Lane: l.Number}
	if l.Run != nil {
		o.Run = &l.Run.ID
	}
	return o
}

// posteriors are the beliefs, best first.
func posteriors(s inspect.Status) []Posterior {
	list := each(s.Beliefs, func(b inspect.Belief) Posterior { return Posterior{b.Category, b.Graded, b.A, b.B, b.Mean()} })
	slices.SortStableFunc(list, func(x, y Posterior) int { return cmp.Compare(y.Mean, x.Mean) })
	return list
}
