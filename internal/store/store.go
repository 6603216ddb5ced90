// Package store says what the fleet remembers: the contract that every kind of
// store keeps. Each method is one transaction with one reading of the clock: a write's is taken
// once nobody else can write. Implementations translate their own failures to
// the errors of package fleet where a caller branches on them.
package store

import (
	"context"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/rank"
)

// Store is all that is remembered of a fleet. A caller that never hears whether a write went through may
// repeat it: what was done is not done twice, and the answer is the one that was missed. Only the
// count of denials, a notice, and the amount of a budget that was struck out are not made up for.
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
	// Take grants a key that is free ([fleet.Claim.Free]) at the next epoch, renews
	// it for the same named holder, or denies it. With [fleet.Denied] the claim
	// returned is the one in the way. A claim of a session, expired or not, is
	// denied to a caller that does not know whether that session lives.
	Take(ctx context.Context, t TakeRequest) (fleet.Grant, fleet.Claim, error)
	// Renew moves a held claim's expiry to ttl from now, and with the claim of a session's work that of its lane:
	// [fleet.ErrLost], and nothing written, when either is not, or no longer, the holder's at this epoch. A session
	// is heard of by it, and hears.
	Renew(ctx context.Context, h Hold, ttl time.Duration) (Kept, error)
	// Release gives a held claim back: [fleet.ErrLost] as for Renew. That the epoch was given
	// back in these very words before is fine.
	Release(ctx context.Context, h Hold, ending fleet.Ending, reason string) (fleet.Claim, error)
	// Check returns a key's last claim, or one with epoch 0 when it was never
	// claimed, and when it was read.
	Check(ctx context.Context, key fleet.Key) (fleet.Claim, time.Time, error)
	// List returns claims ordered by key.
	List(ctx context.Context, l Listing) (ClaimsAt, error)
}

// TakeRequest is a request for a claim.
type TakeRequest struct {
	Key    fleet.Key
	Holder fleet.Holder
	Renews bool // the holder was named: taking again what it holds renews
	// Attempt names a take by a holder who was not named, for one who never hears its answer: the
	// same attempt is granted the same epoch. Empty: nobody asks again.
	Attempt string
	TTL     time.Duration // at least a millisecond
	Note    string        // empty: a renewal keeps the note there is
	Known   Known         // what the caller found out of the claim in the way
}

// Known is the liveness of the session that holds a claim. It counts for that
// claim at that epoch alone.
type Known struct {
	Key     fleet.Key // of which it is known, among several
	Holder  fleet.Holder
	Epoch   fleet.Epoch
	Session fleet.Liveness
}

// Begin is a request for a session: its lane, and the first of some offers that can be had.
type Begin struct {
	Run      fleet.RunID
	PID      int // of the process that asks
	Category fleet.Category
	Lane     int           // counted from 1, whose lock the caller has; 0: none
	TTL      time.Duration // of each claim; at least a millisecond
	Offers   []Offer       // in the order in which they are tried; none: only the lane is taken
	Agents   []fleet.Terms // that may do the session, in the order in which they are tried; none: the run's own
	Known    []Known       // what was found out of the sessions that hold claims
}

// Take is the request for one claim of the session.
func (b Begin) Take(key fleet.Key) TakeRequest {
	t := TakeRequest{Key: key, Holder: b.Run.Holder(), Renews: true, TTL: b.TTL}
	for _, k := range b.Known {
		if k.Key == key {
			t.Known = k
		}
	}
	return t
}

// Offer is work for a session, with what was known of it when it was picked.
type Offer struct {
	Task     fleet.TaskID      // empty: the session needs none
	Key      fleet.Key         // of the claim under which it works; empty: that of its lane
	Memory   fleet.TaskMemory  // what was remembered of the task; zero: nothing
	Lessons  []fleet.LessonUse // that match
	Excluded []fleet.TaskID    // at which no other run may be
	Roomy    bool              // it needs no room in review
	Branch   string            // that the session works on, if it is the run's own
	Owed     fleet.TaskLeft    // what the task's tracker is owed from then on; without a call, nothing
}

// Begun is the answer to a request for a session: a grant, or the reasons against one.
type Begun struct {
	Claim   fleet.Claim        // under which the run works; of no key: there is no session
	Offer   int                // that was granted
	Agent   string             // that is to work
	Lane    fleet.Claim        // in the way of the lane; of no key: none
	Denied  []Denial           // the offers that others were quicker at, in the order in which they were tried
	Refused fleet.RefusedError // without a reason: no agent was refused
}

// Denial gives the reason for which an offer was not to be had.
type Denial struct {
	Claim  fleet.Claim // the one in the way; of no key: none
	Reason string
}

// Hold names a claim that the caller believes to be its own.
type Hold struct {
	Key    fleet.Key
	Holder fleet.Holder
	Epoch  fleet.Epoch // 0: whichever the holder has
	// Kept says, to [Claims.Renew], that the holder's lease is not over by a clock that does not
	// jump. A claim that has expired by the store's clock, and that nobody took, is then renewed:
	// the store's clock was set meanwhile.
	Kept bool
	// Tail is, to [Claims.Renew] by a session, the last of what its agent printed, which other machines may
	// read; empty: nothing new.
	Tail string
}

// Kept is a claim that was renewed.
type Kept struct {
	fleet.Claim
	Stop string // why a person on another machine wants the session to end that has it; empty: nobody does
}

// Listing says which claims to list.
type Listing struct {
	All    bool         // else only those that may stand in the way
	Holder fleet.Holder // empty: anybody's
}

// ClaimsAt has the claims and open runs at one instant of the store's clock. That clock alone says
// which claims have expired.
type ClaimsAt struct {
	At     time.Time
	Claims []fleet.Claim // ordered by key
	Open   []fleet.Run   // not ended, oldest first
}

// Fires remembers what was decided, and why.
type Fires interface {
	// Snapshot reads what a ranking needs, at one instant.
	Snapshot(ctx context.Context) (Snapshot, error)
	// RankingAt returns what the ranking had learned at a time; the zero value where the record does not go back so far.
	RankingAt(ctx context.Context, at time.Time) (rank.State, error)
	// RecordFire stores a fire, its choices and the runs it is about to start, moves the
	// clocks of its categories on, and entitles them to what is due to them, all or
	// nothing. A choice for which the room was taken since the fire looked is a skip. It returns
	// the fire as it is recorded. One of an attempt that is on record is as it was then.
	RecordFire(ctx context.Context, f Firing) (fleet.Fire, error)
	// NotStarted records that a run's unit did not start, and reports true. A run
	// that has begun all the same is left alone, and its fire's choice with it.
	NotStarted(ctx context.Context, fire fleet.FireID, run fleet.RunID, reason string) (bool, error)
	// Fire reads one fire: [fleet.ErrNotFound] when there is none of that number.
	Fire(ctx context.Context, id fleet.FireID) (fleet.Fire, error)
	// Pause keeps fires from starting what it names, in place of an earlier pause
	// of the same.
	Pause(ctx context.Context, p fleet.Pause) error
	// Resume ends the pause and the back-off of a category. With an empty one it ends
	// the fleet's own pause, every back-off and whatever keeps agents from working;
	// pauses of single categories stay. It says what ended, in words.
	Resume(ctx context.Context, c fleet.Category) (ended []string, err error)
}

// Firing is a fire that is to be recorded.
type Firing struct {
	Fire    fleet.Fire
	Runs    []fleet.Run // that it is about to start
	Bounds  Bounds
	Attempt string // names it, for one who never hears whether it was recorded; empty: nobody asks again
	// Host is the machine that fires, by its own word; without an id it says nothing. A machine that was
	// started anew since, or has the name of another, is refused with [fleet.ErrUsage].
	Host fleet.Host
	// Budget bounds the use of all sessions of a day.
	Budget rank.Amounts
	Extra  bool // between the fires of a timer: no round passes
}

// Bounds limit the sessions that may be under way at once, for one who decides on more of them. They name the runs
// that were under way when that one looked. A category or an agent without a bound is left out.
type Bounds struct {
	Lanes  map[fleet.Category]int
	Agents map[string]int
	Slots  []Slots              // of one machine
	Seen   map[fleet.RunID]bool // the open runs; true: it lives, or is about to
}

// Slots bound the sessions of some categories together.
type Slots struct {
	Most int
	Of   []fleet.Category // empty: all
}

// Bounds reports whether the slots are for sessions of a category.
func (s Slots) Bounds(c fleet.Category) bool { return len(s.Of) == 0 || slices.Contains(s.Of, c) }

// Snapshot has all that a ranking reads of the store, at one instant.
type Snapshot struct {
	ClaimsAt // of the claims that may stand in the way; [fleet.Claim.Free] decides

	NextFire fleet.FireID
	Arms     map[fleet.Category]Arm
	Rounds   map[string]map[fleet.Category]fleet.Round // in which each host last fired
	Prices   rank.Prices
	Pairs    map[fleet.Category]rank.Pairs
	Pauses   []fleet.Pause // also those that are over, by category
	Lineage  fleet.Lineage // zero: one machine has the store to itself
	Lessons  []Lesson      // by lesson, version and category

	Away   fleet.Away         // the reviewer's last word; it may be over
	Agents []fleet.AgentState // that something is known of, by name
	Spent  []fleet.Spent      // today, by scope
	Hosts  []fleet.Host       // by name
	Tasks  []fleet.TaskMemory // by task
}

// Coming returns the arm of a category in the round of the next fire of a machine, if that counts.
// A machine without an id begins a round with every fire.
func (s Snapshot) Coming(c fleet.Category, host string) rank.Arm {
	arm := s.Arms[c].Arm
	if host == "" {
		return arm.Coming(arm.Round)
	}
	return arm.Coming(s.Rounds[host][c])
}

// RoundsOf are those of the next fire of a machine, if that counts.
func (s Snapshot) RoundsOf(host string) func(fleet.Category) fleet.Round {
	return func(c fleet.Category) fleet.Round { return s.Coming(c, host).Round }
}

// Agent returns the state of an agent; of one that nobody knows, a zero one with its name.
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

// TaskSight compares the state that a task's source shows with the one that was remembered.
type TaskSight struct {
	fleet.TaskMemory
	Was    string // seen of it before
	Forget bool   // the source shows another state: its own word counts from now on
	Over   bool   // it was closed, or is gone: how many sessions it took is forgotten, too
	Owing  bool   // the report to the tracker failed: what is owed still is
	Edited bool   // somebody has changed its text: what sessions brought it counts no longer
}

// Arm is the memory of a category.
type Arm struct {
	rank.Arm
	Ended time.Time // of the last session that had a claim; zero without any
}

// Lesson is the memory of one version of a lesson in one category.
type Lesson struct {
	ID       fleet.LessonID
	Version  string
	Category fleet.Category
	rank.Trial
	Exposure float64 // mean, of the sessions behind what is believed of the category
}

// Runs remembers sessions, from the row a fire writes to the grade.
type Runs interface {
	// AddRun stores a run that no fire planned.
	AddRun(ctx context.Context, r fleet.Run) error
	// Run reads one run: [fleet.ErrNotFound] when there is none of that id.
	Run(ctx context.Context, id fleet.RunID) (fleet.Run, error)
	// Overran reads the runs whose sessions ended after their leases were over, by the word of their own
	// machines, and later than at a time, oldest end first. There should be none.
	Overran(ctx context.Context, since time.Time) ([]fleet.Run, error)
	// Tail reads the last of what the agent of a run printed, as its machine reported at its last heartbeat
	// and at its end, and the time at which it was read: [fleet.ErrNotFound] when there is none. It is kept for
	// two weeks.
	Tail(ctx context.Context, id fleet.RunID) (fleet.Tail, time.Time, error)
	// Begin has a run begin a session, in one write. It takes the claim of the lane, whose category the run works
	// from then on, and that of the first offer that nobody else has; it debits the session to the category, reserves
	// for it in the budgets, takes its place in review, and notes what its tracker is owed. Offers that are denied are
	// on record, whatever comes of the others. If the lane is another's, no offer can be had, or no agent can work,
	// nothing is taken, and the run has not begun. A run that has its session gets the same answer again. A run that
	// has ended, or that another process has begun, gets [fleet.ErrLost].
	Begin(ctx context.Context, b Begin) (Begun, error)
	// OnBranch records the branch that a run works on, if it is the run's own, and the conversation that it goes on with.
	OnBranch(ctx context.Context, id fleet.RunID, branch string, c fleet.Conversation) error
	// Complete ends a run: outcome, grade and what is learnt of it together, once. Whatever the run holds is given
	// back: its claims, as done if the task is settled, and its lane, whose lock the caller still has, so that recorded
	// holds never overlap. [fleet.ErrLost], and nothing written, when the run has ended on record, or its claim is no
	// longer its own at its epoch, or had expired by the run's EndedAt (zero: by now). A run that has ended by this very
	// verdict is fine, and nothing is written: the caller never heard the answer.
	//
	// A run without a claim, or with the outcome [fleet.Lost], needs none, and nothing is learnt of a grade. A run that
	// others closed since its lease was over keeps their word for its end; that its session ended later is noted,
	// see [Runs.Overran].
	Complete(ctx context.Context, r fleet.Run) error
	// Respawn records whether a session follows a run, and why; next is the run that
	// does, or nil. None does, for that reason, for which the room was taken since. It returns
	// what is on record: what was decided before stays.
	Respawn(ctx context.Context, run fleet.RunID, next *fleet.Run, reason string, b Bounds) (by fleet.RunID, why string, err error)
	// NoticeDue notes that a notice goes out, and reports true, unless one of its event
	// and subject did within the time before it.
	NoticeDue(ctx context.Context, n fleet.Notice, every time.Duration) (bool, error)
	// ForgetNotice takes back the note of a notice that did not go out.
	ForgetNotice(ctx context.Context, n fleet.Notice) error
	// LeaveTask remembers the state that a person gives a task, or that its source is owed
	// a word. Sessions are counted anew if the state is another than before. [fleet.ErrLost],
	// and nothing written, when the task's claim is no longer the hold's.
	LeaveTask(ctx context.Context, h Hold, m fleet.TaskMemory) error
	// SeeTasks takes what sources show into what is remembered of their tasks: what is
	// owed is paid then, unless it is owing, or all of it forgotten. A task that changed meanwhile is left alone.
	SeeTasks(ctx context.Context, list []TaskSight) error
	// Retry forgets what sessions left of a task, and reports whether there was anything.
	// The debt to a tracker becomes a release: it has the item as begun, or still to be closed.
	Retry(ctx context.Context, task fleet.TaskID) (bool, error)
	// SaveReview stores what was decided of a run's work, unless no decision is given, and how
	// its check went, unless no tip is given for that: one leaves the other as it is. Work that
	// nobody has to look at any more gives its place back.
	SaveReview(ctx context.Context, r fleet.Review) error
	// SaveFeedback stores what was said of a run's work, in place of what was.
	SaveFeedback(ctx context.Context, f fleet.Feedback) error
	// ResetBudget strikes out what a scope used today, except the reserves of the sessions under
	// way, and records it. The bills of an agent's scope until now say nothing more of its next
	// session. It returns what was struck out.
	ResetBudget(ctx context.Context, scope fleet.Scope, reason string) (fleet.Spent, error)
	// AddFates records what became of the work of runs, once for each run, kind and witness, and
	// corrects their grades and what was learnt of them, see [rank.Settings.Revise]. It returns those
	// that are news, with the grades. A run that is not on record is passed over.
	AddFates(ctx context.Context, list []fleet.ReviewOutcome) ([]fleet.ReviewOutcome, error)
	// Abandon gives back what a run whose session is gone has left: its end, if it
	// is open, its claims, its lane. Nothing is learnt of it, but that its task was tried in
	// vain. It reports whether there was anything left; of two calls one finds nothing.
	Abandon(ctx context.Context, g Gone) (bool, error)
}

// Gone is a run whose session is gone, for [Runs.Abandon].
type Gone struct {
	Run    fleet.RunID
	Reason string
	Used   fleet.Usage // as far as it is known
	Spoke  string      // the id of its conversation, as far as that is known
	Tail   string      // the last of what its agent printed; empty: nothing new
	Died   time.Time   // when the session did; zero: now
	// Silent says that nobody but another machine could know: the run is left alone if that machine
	// was heard of meanwhile, see [fleet.Run.Silent].
	Silent bool
	// By names the place of the caller. A word from a start of a machine that was followed by
	// another is refused with [fleet.ErrUsage]: it is from a copy of that machine.
	By fleet.Location
}

// Hosts remembers the machines of the fleet. [Fires.RecordFire] takes down what one says of itself, and
// [Claims.Renew] that it was heard of.
type Hosts interface {
	// Hosts reads them, by name, with the time at which they were read.
	Hosts(ctx context.Context) ([]fleet.Host, time.Time, error)
	// HostGone takes a person's word that a machine is off: its open runs end as abandoned, and
	// whatever its sessions hold is free. One of them that lives has lost its claim, and records no
	// grade. It returns the runs that it ended. [fleet.ErrNotFound] when there is no machine of
	// this id.
	HostGone(ctx context.Context, id, reason string) ([]fleet.RunID, error)
	// ForgetHost removes a machine that is gone, and has no open runs: else [fleet.ErrUsage].
	ForgetHost(ctx context.Context, id string) error
	// AskToStop notes that a person wants a run of another machine to end, which its session hears at
	// its next heartbeat. It reports false when the run has ended.
	AskToStop(ctx context.Context, id fleet.RunID, reason string) (bool, error)
}

// Places remembers whose work has a place in review, and whether the reviewer is away.
// [Runs.Begin] takes a place.
type Places interface {
	// Places reads those that are taken, by run, and the reviewer's last word, which may be over.
	Places(ctx context.Context) ([]fleet.ReviewSlot, fleet.Away, error)
	// SeePlaces takes what was found of runs' work at a time into their places. A decision of
	// somebody since then counts more.
	SeePlaces(ctx context.Context, at time.Time, list []fleet.PlaceSight) error
	// ReviewTimes reads when since a time somebody decided about work, or was found to look at it,
	// oldest first.
	ReviewTimes(ctx context.Context, since time.Time) ([]time.Time, error)
	// SetAway notes that the reviewer is away, in place of an earlier note.
	SetAway(ctx context.Context, a fleet.Away) error
	// ClearAway ends that, and reports whether there was anything to end.
	ClearAway(ctx context.Context) (bool, error)
}

// Span is a part of the past: from a time on, and before another. Without an end it goes on for ever.
type Span struct{ From, To time.Time }

// Over reports whether the span is over at a time.
func (s Span) Over(at time.Time) bool { return !s.To.IsZero() && !at.Before(s.To) }

// Record answers what is asked of the past. It grows for years: frequent questions must not
// cost more with its age.
type Record interface {
	// Watched reads the latest runs with commits that were created since a time, have ended, and
	// of whose work nothing became before another time.
	Watched(ctx context.Context, since, became time.Time, limit int) ([]fleet.Run, error)
	// LastRuns reads the latest runs that a query asks for, newest first.
	LastRuns(ctx context.Context, q RunQuery) ([]fleet.Run, error)
	// LastFires reads the latest fires that a query asks for, newest first.
	LastFires(ctx context.Context, q FireQuery) ([]fleet.Fire, error)
	// Fallbacks counts the fires of a span for which the external selector failed.
	Fallbacks(ctx context.Context, s Span) (int, error)
	// Entitled sums up what the fires of a span entitled each category to.
	Entitled(ctx context.Context, s Span) (map[fleet.Category]float64, error)
	// GradeChanges reads the latest changes of grades that a query asks for, newest first.
	GradeChanges(ctx context.Context, q ChangeQuery) ([]fleet.GradeChange, error)
	// LaneHolds reads the acquisitions of lanes that lasted into the time since,
	// oldest first.
	LaneHolds(ctx context.Context, since time.Time) ([]fleet.LaneHold, error)
	// EachLaneHold hands on the same one by one: a record has more than fit into memory.
	EachLaneHold(ctx context.Context, since time.Time, each func(fleet.LaneHold)) error
	// DeniedClaims reads the denials since a time, oldest first.
	DeniedClaims(ctx context.Context, since time.Time) ([]fleet.DeniedClaim, error)
	// LastDenials reads the latest denials that a query asks for, newest first.
	LastDenials(ctx context.Context, q DenialQuery) ([]fleet.DeniedClaim, error)
	// Tallies counts the runs created in a span, alike ones together. With a step they
	// are counted apart for each such time from its beginning on; 0 is one. The order
	// is that of the steps, then of machines, then of categories.
	Tallies(ctx context.Context, s Span, step time.Duration) ([]fleet.Tally, error)
	// FailedTasks counts the sessions created in a span at tasks of which so many failed,
	// those with the most failures first.
	FailedTasks(ctx context.Context, s Span, least int) ([]fleet.TaskTally, error)
	// BudgetResets reads what people struck out of budgets since a time, oldest first.
	BudgetResets(ctx context.Context, since time.Time) ([]fleet.Reset, error)
	// Ledger reads all that the figures of the store can be worked out from. Its cost grows
	// with the record.
	Ledger(ctx context.Context) (Ledger, error)
	// LessonUses reads the lessons that matched a run, by id.
	LessonUses(ctx context.Context, run fleet.RunID) ([]fleet.LessonUse, error)
	// Reviews reads what was decided and found of the work of these runs, or of all.
	Reviews(ctx context.Context, runs ...fleet.RunID) (map[fleet.RunID]fleet.Review, error)
	// Feedback reads what was said of the work of runs.
	Feedback(ctx context.Context) (map[fleet.RunID]fleet.Feedback, error)
}

// RunQuery says which runs are asked for. An empty field asks for any.
type RunQuery struct {
	IDs      []fleet.RunID
	Prefix   fleet.RunID // the beginning of the id
	Before   fleet.RunID // created before this one
	Category fleet.Category
	Task     fleet.TaskID
	Outcome  fleet.Outcome
	Agent    string
	Host     string // the identity of the machine
	Fire     fleet.FireID
	Ended    bool // only those that have
	Landed   bool // only those of which the target has the work, the latest to get in first
	Limit    int
}

// FireQuery says which fires are asked for.
type FireQuery struct {
	Before fleet.FireID // 0: any
	Pool   string       // empty: any
	Until  time.Time    // at that time or before; zero: any
	Brief  bool         // without inputs and selection
	Limit  int
}

// ChangeQuery says which changes of grades are asked for. An empty field asks for any.
type ChangeQuery struct {
	Category fleet.Category
	Run      fleet.RunID
	Since    time.Time
	Limit    int
}

// DenialQuery says which denials are asked for. An empty field asks for any.
type DenialQuery struct {
	Run   fleet.RunID
	Key   fleet.Key
	Limit int
}
