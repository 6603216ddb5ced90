package fleet

import (
	"strings"
	"time"
)

// Outcome is the way in which a run ended.
type Outcome string

const (
	// Productive runs did work; they are graded.
	Productive Outcome = "productive"
	// Noop runs did nothing although there was something to do; not graded.
	Noop Outcome = "noop"
	// Nothing runs found that nothing needed doing; not graded.
	Nothing Outcome = "nothing"
	// Failed runs had an agent that failed; graded 0.
	Failed Outcome = "failed"
	// Timeout runs had an agent that overran; graded 0.
	Timeout Outcome = "timeout"
	// Quota runs were stopped by a usage limit; not graded.
	Quota Outcome = "quota"
	// Unavailable runs met a service or a login that failed; not graded, and no
	// attempt at their task.
	Unavailable Outcome = "unavailable"
	// Cancelled runs were stopped by a person or by systemd; not graded.
	Cancelled Outcome = "cancelled"
	// Lost runs lost their claim while working; not graded.
	Lost Outcome = "lost"
	// Abandoned runs never started, or were found dead; not graded.
	Abandoned Outcome = "abandoned"
	// Busy runs found every lane of their category taken; not graded.
	Busy Outcome = "busy"
	// RunDenied runs were denied every claim they tried; not graded.
	RunDenied Outcome = "denied"
	// Idle runs found no workable task when they came to pick; not graded.
	Idle Outcome = "idle"
)

// Outcomes lists them, from work to none.
func Outcomes() []Outcome {
	return []Outcome{
		Productive, Noop, Nothing, Failed, Timeout, Quota, Unavailable, Cancelled, Lost, Abandoned, Busy, RunDenied, Idle,
	}
}

// Succeeded reports whether a session that ended so is nobody's concern.
func (o Outcome) Succeeded() bool {
	return o == Productive || o == Noop || o == Nothing
}

// Source says what put a category on a fire's list, in the order in which a
// payload is read, or that a person started the run by hand.
type Source string

const (
	FromSelected     Source = "selected.category"
	FromDiversity    Source = "diversity_alternatives"
	FromAlternatives Source = "alternatives"
	FromScores       Source = "all_scores"
	FromAllowList    Source = "allow-list"
	FromHand         Source = "hand"
	FromRespawn      Source = "respawn" // a good session of the category came before
)

// Verdict is a session's outcome and grade, with their reasons.
type Verdict struct {
	Outcome    Outcome
	Grade      *float64 // in [0,1]; nil when the run is not graded
	Reason     string   // a sentence fragment for the operator
	Parts      map[string]float64
	TaskState  TaskState // what the agent asked for; empty: leave the task
	ExitStatus *int      // the agent's own; nil when it did not run to an exit
	Internal   bool      // stint could not run the session: neither agent nor task is to blame
	Fault      FaultKind // what kept the agent from its work; empty: nothing, or a usage limit
}

// Run is one session, from the row a fire writes for it to its end.
type Run struct {
	ID           RunID
	Location            // where it is at work, or is to be
	Fire         FireID // 0: started by hand
	Category     Category
	Rank         int // place in the fire's ranking, from 1; 0 by hand
	ChainDepth   int
	Source       Source
	Unit         string // the transient unit; empty outside systemd
	Lane         int    // from 1; 0 before one was taken
	Task         TaskID // empty before a pick, and for a session without a task
	Key          Key    // what was claimed
	Epoch        Epoch
	Round        Round   // of the category when the claim was granted
	Load         float64 // of the category then, before this run
	Agent        string
	Box          string // that its agent was in, and what held that; empty: it had no agent
	PID          int    // of stint run
	CreatedAt    time.Time
	StartedAt    time.Time     // when its session began, or its worker found none; zero before
	EndedAt      time.Time     // zero while open
	NotBefore    time.Time     // a run that waits for its cooldown; zero: it does not
	Limit        time.Duration // from its planned start to the last moment of its unit; 0: not known
	Verdict      Verdict
	Deferred     bool     // a failure that counts only once its agent has worked again, see [FailuresToOpen]
	Usage        Usage    // as far as it is known
	Commits      []string // revisions that the run made, oldest first; at most [MostCommits]
	Conversation Conversation
	Branch       string          // that it worked on, if it had one of its own; empty: the workspace's
	QuotaUntil   time.Time       // of a usage limit that the agent met: when it can work again; zero: it met none, or did not say
	FollowedBy   RunID           // the session that followed it in its lane; empty: none, or not decided
	Followed     string          // why one did, or none; empty: not decided
	Stop         string          // why a person on another machine wants it to end; empty: nobody does
	LeaseOver    time.Time       // when its lease was over and its session perhaps not; zero: nobody found that so
	OverranTo    time.Time       // when that session ended after it, by its own machine's word; zero: it did not, or said nothing
	Fates        []ReviewOutcome // what became of its work, in the order in which it was found out

	// Left is the state in which the run leaves its task. It is added to the memory of the task,
	// and not stored with the run.
	Left TaskLeft
	// Tail is the last of what its agent printed, see [Tail]. It is stored beside the run; empty: nothing
	// new, or no other machine asks.
	Tail string `json:"-"`
	// NoWork says, to the write of its end, that the run left nothing to review: its place there is free.
	NoWork bool `json:"-"`
}

// Final is the run's grade after what became of its work: its first one as long as nothing did.
func (r Run) Final() *float64 {
	if n := len(r.Fates); n > 0 {
		return r.Fates[n-1].Grade
	}
	return r.Verdict.Grade
}

// Home is the run whose branch and folder it works in: its own, unless it went on with the work of
// an earlier one.
func (r Run) Home() RunID {
	name := r.Branch[strings.LastIndexAny(r.Branch, "/-")+1:]
	if home, err := ParseRunID(name); err == nil {
		return home
	}
	return r.ID
}

// Following says whether a session followed the run, and why; empty: that is not decided.
func (r Run) Following() string {
	if r.FollowedBy != "" {
		return "by run " + string(r.FollowedBy) + ": " + r.Followed
	}
	return r.Followed
}

// Rests reports whether the run is planned and waits until its category has rested.
func (r Run) Rests(now time.Time) bool {
	return r.StartedAt.IsZero() && r.EndedAt.IsZero() && r.NotBefore.After(now)
}

// RestLeft is the rest of its cooldown: never longer than the whole, also where its times are of a
// clock that was ahead.
func (r Run) RestLeft(now time.Time) time.Duration {
	return min(r.NotBefore.Sub(now), r.NotBefore.Sub(r.CreatedAt))
}

// RunState is the state of a run, ended or not.
type RunState string

const (
	RunPlanned RunState = "planned" // its worker is about to begin, or looks for a session
	RunWaiting RunState = "waiting" // planned, until its category has rested
	RunRunning RunState = "running"
	// RunSuspended runs have a supervisor that a signal stopped: nobody looks after their
	// claim and their time.
	RunSuspended RunState = "suspended"
	RunCrashed   RunState = "crashed" // nothing of it lives, and no result is recorded
	RunEnded     RunState = "ended"
)

// State is the run's, if it lives, or is about to, and its supervisor is suspended.
func (r Run) State(lives, suspended bool, now time.Time) RunState {
	switch {
	case !r.EndedAt.IsZero():
		return RunEnded
	case !lives:
		return RunCrashed
	case r.Rests(now):
		return RunWaiting
	case r.StartedAt.IsZero():
		return RunPlanned
	case suspended:
		return RunSuspended
	}
	return RunRunning
}

// RunStatus is a run, and how it does.
type RunStatus struct {
	Run
	State   RunState
	Timeout time.Duration // of its category; 0: that is not in the configuration, or the run has ended
	Tokens  *int64        // that it has used so far; nil: not known
	RunHost
}

// RunHost says on which machine of a fleet a run is, or was, at work.
type RunHost struct {
	Machine string    // its name, or if nobody knows that its identity; empty: the fleet has one
	Heard   time.Time // when an open run's machine was heard of; zero: it is this one, or nobody knows
	Unheard bool      // nothing was heard of it for long
}

// MostCommits bounds how many revisions of a run are recorded: the last ones it made.
const MostCommits = 100

// Empty reports whether a session did nothing for its category: there was something to do
// and it did none of it, or it found nothing to do and closed no task by that.
func (v Verdict) Empty() bool {
	return v.Outcome == Noop || v.Outcome == Nothing && !v.TaskState.Settled()
}

// Decision says whether a category of a fire was started.
type Decision string

const (
	Spawn       Decision = "spawn"  // decided; becomes started or not-started
	Skip        Decision = "skip"   // not started, by decision
	StartFailed Decision = "failed" // the unit did not start
)

// ReasonAlone is that of a choice that no other category was ranked for.
const ReasonAlone = "it is the only category"

// Choice is a fire's decision about one category, and its reason.
type Choice struct {
	Category Category  `json:"category"`
	Decision Decision  `json:"decision"`
	Reason   string    `json:"reason"`
	Refusal  string    `json:"refusal,omitempty"`   // the end of the reason: why a ranked one was not started; empty: it was, or was not ranked
	By       Hindrance `json:"hindrance,omitempty"` // what kept it from being started; empty: nothing, or its unit did not start
	Source   Source    `json:"source,omitempty"`    // empty when nothing put the category on the list
	Rank     int       `json:"rank,omitempty"`      // from 1 among the fire's candidates; 0: not ranked
	Score    float64   `json:"score,omitempty"`     // of the ranking; 0 when not ranked
	Odds     *float64  `json:"odds,omitempty"`      // probability of being started, in [0,1]; nil: not estimated
	Agent    string    `json:"agent,omitempty"`     // that is to work; empty: it is not started
	Task     TaskID    `json:"task,omitempty"`      // that another selector chose, and that the session tries first; empty: the usual order
	Unit     string    `json:"unit,omitempty"`
	Run      RunID     `json:"run,omitempty"`
}

// Fire is one fanout: its ranking, what went into it, and what came of it.
type Fire struct {
	ID        FireID
	Host      string // the identity of the machine that fired; empty: nobody knows
	At        time.Time
	Seed      uint64
	Pool      string // of which it started categories
	Workers   int
	Inputs    []byte     // JSON: what the ranking was computed from
	Selection []byte     // JSON: the payload that was followed
	Own       bool       // that was stint's own ranking; else another selector's
	Allowed   []Category // the allow-list, in its order
	Fallback  string     // why the external selector was not followed; empty: it was, or there is none
	Choices   []Choice

	// Moves are the categories whose clocks the fire moves on: all of its pool, or none.
	// Due is the number of sessions to which it entitles those of them that could be started. Both go
	// into the memory of the category.
	Moves []Category
	Due   map[Category]float64
	Full  bool // the slots alone kept it from starting one session more
}

// Count counts the choices with this decision.
func (f Fire) Count(d Decision) (n int) {
	for _, c := range f.Choices {
		if c.Decision == d {
			n++
		}
	}
	return n
}

// Choice returns the fire's decision about a category, zero if there was none.
func (f Fire) Choice(name Category) Choice {
	for _, c := range f.Choices {
		if c.Category == name {
			return c
		}
	}
	return Choice{}
}

// Started names the categories of which the fire started a session, in their order.
func (f Fire) Started() (names []string) {
	for _, c := range f.Choices {
		if c.Decision == Spawn {
			names = append(names, string(c.Category))
		}
	}
	return names
}

// Pause is work that a person has stopped.
type Pause struct {
	Category Category // empty: the whole fleet
	Since    time.Time
	Until    time.Time // zero: until it is resumed
	Reason   string
}

// LessonUse is a lesson that matched a run, and whether the run got it: chance withholds
// some, so that their effect can be measured.
type LessonUse struct {
	Lesson   LessonID `json:"lesson"`
	Version  string   `json:"version"` // see [Lesson.Version]
	Injected bool     `json:"injected"`
}

// LaneHold is one acquisition of a lane, as recorded while the lock was held.
type LaneHold struct {
	Run        RunID
	Category   Category
	Lane       int
	AcquiredAt time.Time
	ReleasedAt time.Time // zero: not given back
}

// DeniedClaim is a claim that a run was denied.
type DeniedClaim struct {
	Run      RunID
	Category Category // in which the run wanted it
	Key      Key
	Holder   Holder // who has it
	At       time.Time
}
