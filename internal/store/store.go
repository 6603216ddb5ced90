// Package store declares the fleet's memory: the contract of every kind of store. Each method is one transaction with
// one reading of the clock, which a write takes when nobody else can write any more. Implementations translate their
// failures to errors of package fleet if a caller branches on them.
package store

import (
	"context"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Store remembers a fleet. A caller that gets no answer to a write may repeat it: nothing is done twice, and the caller
// gets the missing answer. A repeat does not restore three things: the count of denials, a notice, and the amount that a
// budget's reset struck out.
type Store interface {
	Claims
	Fires
	Runs
	Places
	Hosts
	Record
	Close() error
}

// Claims arbitrates who works on what. At most one holder has a key at any
// instant; a key's epochs are 1, 2, 3 … without a gap, each with one holder.
type Claims interface {
	// Take grants a free key ([fleet.Claim.Free]) at the next epoch, renews it for the same named holder, or denies it.
	// With [fleet.Denied] it returns the claim in the way. A session's claim, expired or not, is denied to a caller that
	// does not know whether the session lives.
	Take(ctx context.Context, t TakeRequest) (fleet.Grant, fleet.Claim, error)
	// Renew moves a held claim's expiry to ttl from now; a session's lane is renewed with its claim. If either is no
	// longer the holder's at this epoch, it returns [fleet.ErrLost] and writes nothing. Renewal is a session's
	// heartbeat, and its answer may ask the session to stop.
	Renew(ctx context.Context, h Hold, ttl time.Duration) (Kept, error)
	// Release gives a held claim back, or returns [fleet.ErrLost] as Renew does. It may be repeated in the same words.
	Release(ctx context.Context, h Hold, ending fleet.Ending, reason string) (fleet.Claim, error)
	// Check returns a key's last claim, and the time of reading. The claim of a new key has epoch 0.
	Check(ctx context.Context, key fleet.Key) (fleet.Claim, time.Time, error)
	// List returns claims ordered by key.
	List(ctx context.Context, l Listing) (ClaimsAt, error)
}

// TakeRequest is a request for a claim.
type TakeRequest struct {
	Key    fleet.Key
	Holder fleet.Holder
	Renews bool // the holder is named, and renews what it holds
	// Attempt is an idempotency key for a holder without a name: the same attempt is granted the same epoch. Empty: the
	// caller will not retry.
	Attempt string
	TTL     time.Duration // at least a millisecond
	Note    string        // empty: a renewal keeps the old note
	Known   Known         // what the caller knows of the claim in the way
}

// Known tells whether the session that holds a claim lives. It counts only for that claim at that epoch.
type Known struct {
	Key     fleet.Key // the claim's
	Holder  fleet.Holder
	Epoch   fleet.Epoch
	Session fleet.Liveness
}

// Begin requests a session: its lane, and the first offer that is free.
type Begin struct {
	Run      fleet.RunID
	PID      int // of the process that requests it
	Category fleet.Category
	Lane     int           // counted from 1; the caller holds its lock; 0: none
	TTL      time.Duration // of each claim; at least a millisecond
	Offers   []Offer       // in the order of trial; none: take the lane alone
	Agents   []fleet.Terms // candidates in the order of trial; none: the run's agent
	Known    []Known       // of the sessions that hold claims in the way
}

// Take returns the request for one of the session's claims.
func (b Begin) Take(key fleet.Key) TakeRequest {
	t := TakeRequest{Key: key, Holder: b.Run.Holder(), Renews: true, TTL: b.TTL}
	for _, k := range b.Known {
		if k.Key == key {
			t.Known = k
		}
	}
	return t
}

// Offer is work for a session, with the facts known when it was picked.
type Offer struct {
	Task     fleet.TaskID      // empty: the session needs no task
	Key      fleet.Key         // of the session's claim; empty: the lane's
	Memory   fleet.TaskMemory  // the memory of the task at that time; zero: none
	Lessons  []fleet.LessonUse // that match
	Excluded []fleet.TaskID    // tasks on which no other run may work
	Roomy    bool              // the session takes no room in review
	Branch   string            // the session's own branch, if it has one
	Owed     fleet.TaskLeft    // the call owed to the task's tracker once the session begins; empty: none
}

// Begun answers a request for a session: a grant, or the reasons against one.
type Begun struct {
	Claim   fleet.Claim        // of the session; without a key: there is no session
	Offer   int                // index of the granted offer
	Agent   string             // the agent that works
	Lane    fleet.Claim        // the claim on the lane in the way; without a key: none
	Denied  []Denial           // the offers that others took first, in the order of trial
	Refused fleet.RefusedError // without a reason: no agent was refused
}

// Denial gives the reason why an offer was denied.
type Denial struct {
	Claim  fleet.Claim // the claim in the way; without a key: none
	Reason string
}

// Hold names a claim that the caller believes it holds.
type Hold struct {
	Key    fleet.Key
	Holder fleet.Holder
	Epoch  fleet.Epoch // 0: any epoch of the holder
	// Kept tells [Claims.Renew] that the lease is not over by a clock that does not jump. If the claim has expired by
	// the store's clock and nobody took it, that clock was set, and the claim is renewed.
	Kept bool
	// Tail gives [Claims.Renew] the last output of a session's agent, for readers on other machines; empty: nothing new.
	Tail string
}

// Kept is a renewed claim.
type Kept struct {
	fleet.Claim
	Stop string // why a person on another machine wants the session to end; empty: nobody does
}

// Listing selects claims.
type Listing struct {
	All    bool         // also claims that cannot be in anybody's way
	Holder fleet.Holder // empty: any
}

// ClaimsAt holds the claims and open runs at one instant of the store's clock. Only by that clock does a claim expire.
type ClaimsAt struct {
	At     time.Time
	Claims []fleet.Claim // ordered by key
	Open   []fleet.Run   // runs without an end, oldest first
}

// Fires remembers the decisions of fires, and their reasons.
type Fires interface {
	// Snapshot reads the input of a ranking, as of one instant.
	Snapshot(ctx context.Context) (Snapshot, error)
	// RankingAt returns the ranking's state at a time; zero if the record does not go back so far.
	RankingAt(ctx context.Context, at time.Time) (rank.State, error)
	// RecordFire stores a fire, its choices and the runs that it is about to start, advances its categories, and credits
	// them with their dues: all or nothing. A choice whose room was taken since the fire looked becomes a skip. It
	// returns the fire as recorded; an attempt already on record stays unchanged.
	RecordFire(ctx context.Context, f Firing) (fleet.Fire, error)
	// NotStarted records that a run's unit did not start, and reports true. If the run has begun all the same, it
	// changes nothing.
	NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (bool, error)
	// Fire reads one fire, or returns [fleet.ErrNotFound].
	Fire(ctx context.Context, id fleet.FireID) (fleet.Fire, error)
	// Pause keeps fires from starting a category, or anything. It replaces an earlier pause of the same.
	Pause(ctx context.Context, p fleet.Pause) error
	// Resume ends the pause and the back-off of a category. Without a category it ends the fleet's own pause, every
	// back-off and whatever stops agents; pauses of single categories stay. It tells in words what ended.
	Resume(ctx context.Context, c fleet.Category) (ended []string, err error)
}

// Firing requests the record of a fire.
type Firing struct {
	Fire    fleet.Fire
	Runs    []fleet.Run // the runs that it is about to start
	Bounds  Bounds
	Attempt string // idempotency key; empty: the caller will not retry
	// Host describes the machine that fires; without an id it says nothing. It is refused with [fleet.ErrUsage] if the
	// machine has booted since, or has another host's name.
	Host fleet.Host
	// Budget bounds the use of all sessions in one day.
	Budget rank.Amounts
	Extra  bool // the fire is not a timer's, and begins no round
}

// Bounds limit the open sessions for a caller that decides on more. They count the runs that the caller did not see. A
// category or agent without an entry has no bound.
type Bounds struct {
	Lanes  map[fleet.Category]int
	Agents map[string]int
	Slots  []Slots              // of one machine
	Seen   map[fleet.RunID]bool // the open runs that the caller saw; true: it lives, or soon will
}

// Slots bound the sessions of several categories together.
type Slots struct {
	Most int
	Of   []fleet.Category // empty: all
}

// Bounds reports whether the slots count a category's sessions.
func (s Slots) Bounds(c fleet.Category) bool { return len(s.Of) == 0 || slices.Contains(s.Of, c) }

// Snapshot holds the store's part of a ranking's input, as of one instant.
type Snapshot struct {
	ClaimsAt // the claims that may be in the way; [fleet.Claim.Free] decides

	NextFire fleet.FireID
	Arms     map[fleet.Category]Arm
	Rounds   map[string]map[fleet.Category]fleet.Round // of each host's last fire
	Prices   rank.Prices
	Pairs    map[fleet.Category]rank.Pairs
	Pauses   []fleet.Pause // ended ones included, by category
	Lineage  fleet.Lineage // zero: only one machine uses the store
	Lessons  []Lesson      // by lesson, version and category

	Away   fleet.Away         // the reviewer's last note, which may have ended
	Agents []fleet.AgentState // agents with a history, by name
	Spent  []fleet.Spent      // today, by scope
	Hosts  []fleet.Host       // by name
	Tasks  []fleet.TaskMemory // by task
}

// Coming returns a category's arm in the round of a machine's next fire, if that fire counts. A machine without an id
// begins a round with every fire.
func (s Snapshot) Coming(c fleet.Category, host string) rank.Arm {
	arm := s.Arms[c].Arm
	if host == "" {
		return arm.Coming(arm.Round)
	}
	return arm.Coming(s.Rounds[host][c])
}

// RoundsOf returns the rounds of a machine's next fire, if that fire counts.
func (s Snapshot) RoundsOf(host string) func(fleet.Category) fleet.Round {
	return func(c fleet.Category) fleet.Round { return s.Coming(c, host).Round }
}

// Agent returns the state of an agent; if unknown, a zero state with its name.
func (s Snapshot) Agent(name string) fleet.AgentState {
	state := fleet.AgentState{Agent: name}
	for _, a := range s.Agents {
		if a.Agent == name {
			state = a
		}
	}
	state.Others = rank.Others(s.Pairs, name)
	return state
}

// TaskSight compares the state of a task at its source with the remembered one.
type TaskSight struct {
	fleet.TaskMemory
	Was    string // the source's state, as seen before
	Forget bool   // the source's state has changed, and counts from now on
	Over   bool   // the task was closed or is gone: forget the number of its sessions
	Owing  bool   // the report to the tracker failed, and is still owed
	Edited bool   // somebody has changed its text: results of earlier sessions no longer count
}

// Arm is the memory of a category.
type Arm struct {
	rank.Arm
	Ended time.Time // the end of the last session with a claim; zero: none
}

// Lesson is the memory of one version of a lesson in one category.
type Lesson struct {
	ID       fleet.LessonID
	Version  string
	Category fleet.Category
	rank.Trial
	Exposure float64 // mean over the sessions behind the belief about the category
}

// Runs remembers sessions, from the fire's row to the grade.
type Runs interface {
	// AddRun stores a run that no fire planned.
	AddRun(ctx context.Context, r fleet.Run) error
	// Run reads one run, or returns [fleet.ErrNotFound].
	Run(ctx context.Context, id fleet.RunID) (fleet.Run, error)
	// Overran reads the runs whose sessions ended after their leases, by the word of their own machines, and after a
	// time; oldest end first. There should be none.
	Overran(ctx context.Context, since time.Time) ([]fleet.Run, error)
	// Tail reads the last output of a run's agent, as its machine sent it with the last heartbeat or at the end, and the
	// time of reading, or returns [fleet.ErrNotFound]. It is kept for two weeks.
	Tail(ctx context.Context, id fleet.RunID) (fleet.Tail, time.Time, error)
	// Begin has a run begin a session, in one write. It takes the lane's claim and the claim of the first free offer,
	// charges the session to the category, reserves its budgets, takes a place in review, and notes the call owed to a
	// tracker. The run works in the lane's category from then on. Denied offers are recorded in any case. If the lane is
	// taken, no offer is free, or no agent can work, the run takes nothing and has not begun. A repeat by a run that has
	// its session returns the same answer. A run that has ended, or that another process began, gets [fleet.ErrLost].
	Begin(ctx context.Context, b Begin) (Begun, error)
	// OnBranch records a run's own branch, if it has one, and the conversation that it continues.
	OnBranch(ctx context.Context, id fleet.RunID, branch string, c fleet.Conversation) error
	// Complete ends a run: it stores outcome, grade and lessons together, once. It releases everything that the run
	// holds: its claims, as done if the task is settled, and its lane. The caller still has the lane's lock, so recorded
	// holds never overlap. It returns [fleet.ErrLost] and writes nothing if the run has ended on record, or if its claim
	// was lost or had expired at the run's EndedAt (zero: now). A repeat with the same verdict succeeds and writes
	// nothing.
	//
	// A run without a claim, or with the outcome [fleet.Lost], needs no claim, and its grade teaches nothing. If others
	// closed a run because its lease was over, its end stays as they wrote it; a later end of its session is noted, see
	// [Runs.Overran].
	Complete(ctx context.Context, r fleet.Run) error
	// Respawn records whether a session follows a run, and why; next is that session's run, or nil. If the room was
	// taken meanwhile, none follows, for that reason. It returns the recorded decision; an earlier one stays.
	Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b Bounds) (by fleet.RunID, why string, err error)
	// NoticeDue notes that a notice goes out, and reports true, unless one with its event and subject did within the
	// given time.
	NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (bool, error)
	// ForgetNotice removes the note of a notice that did not go out.
	ForgetNotice(ctx context.Context, n fleet.Notice) error
	// LeaveTask remembers the state that a person gives a task, or a call owed to its source. A new state resets the
	// count of its sessions. If the task's claim is no longer the hold's, it returns [fleet.ErrLost] and writes nothing.
	LeaveTask(ctx context.Context, h Hold, m fleet.TaskMemory) error
	// SeeTasks merges the states at the sources into the memory of their tasks: an owed call counts as made unless it is
	// still owing, or the memory is dropped. A task that changed meanwhile is left alone.
	SeeTasks(ctx context.Context, list []TaskSight) error
	// Retry forgets the results of a task's sessions, and reports whether there were any. A call owed to a tracker
	// becomes a release: the tracker has the item as begun, or as not yet closed.
	Retry(ctx context.Context, task fleet.TaskID) (bool, error)
	// SaveReview stores the decision about a run's work, if there is one, and the result of its check, if that has a
	// tip. Each leaves the other as it is. Work that needs no more review frees its place.
	SaveReview(ctx context.Context, r fleet.Review) error
	// SaveFeedback stores the feedback on a run's work, and replaces what was there.
	SaveFeedback(ctx context.Context, f fleet.Feedback) error
	// ResetBudget strikes out a scope's use of today, except the reserves of open sessions, and records that. An agent's
	// earlier bills no longer predict its next session. It returns the amount struck out.
	ResetBudget(ctx context.Context, scope fleet.Scope, reason string) (fleet.Spent, error)
	// AddFates records review outcomes, once for each run, kind and witness, and corrects grades and the ranking, see
	// [rank.Settings.Revise]. It returns the new ones, with the grades. Runs that are not on record are skipped.
	AddFates(ctx context.Context, list []fleet.ReviewOutcome) ([]fleet.ReviewOutcome, error)
	// Abandon releases what a run still holds after its session is gone: it ends the run if it is open, and frees its
	// claims and lane. The ranking learns nothing, except that the task was tried without result. It reports whether
	// anything was left: of two calls, one finds nothing.
	Abandon(ctx context.Context, g Gone) (bool, error)
}

// Gone describes a run whose session is gone, for [Runs.Abandon].
type Gone struct {
	Run    fleet.RunID
	Reason string
	Used   fleet.Usage // as far as known
	Spoke  string      // the id of its conversation, if known
	Tail   string      // the last output of its agent; empty: nothing new
	Died   time.Time   // when the session died; zero: now
	// Silent limits the write to a run whose own machine has not been heard of meanwhile, see [fleet.Run.Silent]: only
	// that machine could know better.
	Silent bool
	// By is the caller's location. A caller from an earlier boot of a machine is refused with [fleet.ErrUsage]: it runs
	// on a copy of that machine.
	By fleet.Location
}

// Hosts remembers the fleet's machines. [Fires.RecordFire] stores a machine's description, and [Claims.Renew] the time
// of its last sign of life.
type Hosts interface {
	// Hosts reads the machines, by name, and the time of reading.
	Hosts(ctx context.Context) ([]fleet.Host, time.Time, error)
	// HostGone records a person's word that a machine is off: its open runs end as abandoned, and all that its sessions
	// hold is freed. A session that still lives has lost its claim, and records no grade. It returns the runs that it
	// ended, or [fleet.ErrNotFound] for an unknown machine.
	HostGone(ctx context.Context, id, reason string) ([]fleet.RunID, error)
	// ForgetHost removes a machine that is gone and has no open runs; otherwise it returns [fleet.ErrUsage].
	ForgetHost(ctx context.Context, id string) error
	// AskToStop asks a run on another machine to end; its session gets this with the next heartbeat. It reports false if
	// the run has ended.
	AskToStop(ctx context.Context, id fleet.RunID, reason string) (bool, error)
}

// Places remembers which runs have a place in review, and whether the reviewer is away. [Runs.Begin] takes a place.
type Places interface {
	// Places reads the taken places, by run, and the reviewer's last note, which may have ended.
	Places(ctx context.Context) ([]fleet.ReviewSlot, fleet.Away, error)
	// SeePlaces updates places by the state of runs' work at a time. A later decision counts more.
	SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error
	// ReviewTimes reads the times since a time at which somebody decided about work, or was found to look at it, oldest
	// first.
	ReviewTimes(ctx context.Context, since time.Time) ([]time.Time, error)
	// SetAway notes that the reviewer is away, and replaces an earlier note.
	SetAway(ctx context.Context, a fleet.Away) error
	// ClearAway removes that note, and reports whether there was one.
	ClearAway(ctx context.Context) (bool, error)
}

// Span is a part of the past: from a time, and before another. Without an end it goes on.
type Span struct{ From, To time.Time }

// Over reports whether the span is over at a time.
func (s Span) Over(at time.Time) bool { return !s.To.IsZero() && !at.Before(s.To) }

// Record answers questions about the past. It grows for years: frequent questions must not cost more with its age.
type Record interface {
	// Watched reads the latest ended runs with commits that were created since a time, and whose work had no review
	// outcome before another time.
	Watched(ctx context.Context, since, became time.Time, limit int) ([]fleet.Run, error)
	// LastRuns reads the latest runs that match a query, newest first.
	LastRuns(ctx context.Context, q RunQuery) ([]fleet.Run, error)
	// LastFires reads the latest fires that match a query, newest first.
	LastFires(ctx context.Context, q FireQuery) ([]fleet.Fire, error)
	// Fallbacks counts the fires of a span in which the external selector failed.
	Fallbacks(ctx context.Context, s Span) (int, error)
	// Entitled sums up the dues that the fires of a span gave to each category.
	Entitled(ctx context.Context, s Span) (map[fleet.Category]float64, error)
	// GradeChanges reads the latest changes of grades that match a query, newest first.
	GradeChanges(ctx context.Context, q ChangeQuery) ([]fleet.GradeChange, error)
	// LaneHolds reads the holds of lanes that lasted into the time since, oldest first.
	LaneHolds(ctx context.Context, since time.Time) ([]fleet.LaneHold, error)
	// EachLaneHold passes on the same holds one by one: a record has more than fit into memory.
	EachLaneHold(ctx context.Context, since time.Time, each func(fleet.LaneHold)) error
	// DeniedClaims reads the denials since a time, oldest first.
	DeniedClaims(ctx context.Context, since time.Time) ([]fleet.DeniedClaim, error)
	// LastDenials reads the latest denials that match a query, newest first.
	LastDenials(ctx context.Context, q DenialQuery) ([]fleet.DeniedClaim, error)
	// Tallies counts the runs created in a span, grouped by their properties and by steps of time from its beginning; 0
	// is one step. They are sorted by step, machine and category.
	Tallies(ctx context.Context, s Span, step time.Duration) ([]fleet.Tally, error)
	// FailedTasks counts the sessions created in a span, for tasks with at least so many failures, most failures first.
	FailedTasks(ctx context.Context, s Span, least int) ([]fleet.TaskTally, error)
	// BudgetResets reads the resets of budgets since a time, oldest first.
	BudgetResets(ctx context.Context, since time.Time) ([]fleet.Reset, error)
	// Ledger reads the record from which the store's figures can be computed. Its cost grows with the record.
	Ledger(ctx context.Context) (Ledger, error)
	// LessonUses reads the lessons that matched a run, by id.
	LessonUses(ctx context.Context, run fleet.RunID) ([]fleet.LessonUse, error)
	// Reviews reads the decisions and checks of these runs' work, or of all.
	Reviews(ctx context.Context, runs ...fleet.RunID) (map[fleet.RunID]fleet.Review, error)
	// Feedback reads the feedback on runs' work.
	Feedback(ctx context.Context) (map[fleet.RunID]fleet.Feedback, error)
}

// RunQuery selects runs. An empty field matches any.
type RunQuery struct {
	IDs      []fleet.RunID
	Prefix   fleet.RunID // the beginning of the id
	Before   fleet.RunID // created before this one
	Category fleet.Category
	Task     fleet.TaskID
	Outcome  fleet.Outcome
	Agent    string
	Host     string // a machine's identity
	Fire     fleet.FireID
	Ended    bool // only ended runs
	Landed   bool // only runs whose work the target has, the latest landing first
	Limit    int
}

// FireQuery selects fires.
type FireQuery struct {
	Before fleet.FireID // 0: any
	Pool   string       // empty: any
	Until  time.Time    // at that time or before; zero: any
	Brief  bool         // without inputs and selection
	Limit  int
}

// ChangeQuery selects changes of grades. An empty field matches any.
type ChangeQuery struct {
	Category fleet.Category
	Run      fleet.RunID
	Since    time.Time
	Limit    int
}

// DenialQuery selects denials. An empty field matches any.
type DenialQuery struct {
	Run   fleet.RunID
	Key   fleet.Key
	Limit int
}
