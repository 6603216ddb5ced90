package book

import (
	"fmt"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/store"
)

// Need says which rows a write decides by, as far as they are known beforehand. These at least are
// on its page; more may be.
type Need struct {
	Key    fleet.Key    // its claim, and if it is a lane's, the open hold of the run that has it
	Holder fleet.Holder // the claims that it has not given back, and a run's open holds
	Renews bool         // nothing but the expiry of claims is written: others may write meanwhile, if not these
	Runs   []fleet.RunID
	Open   bool           // the runs that have not ended, in brief
	Holds  fleet.Category // whose open holds of lanes
	Task   fleet.TaskID
	Tasks  []fleet.TaskID
	// Begins is a run whose session is to begin: its lessons, its category's arm and last
	// checkpoint, the budgets of the day, the agent of this name and its bills.
	Begins fleet.RunID
	Agent  string
	Room   bool // how many places in review are taken, and whether the reviewer is away
	// Ends is a run that ends: its agent, the failures of that agent that are held back, and of
	// it and these: lessons, tasks, last checkpoints. All arms, and the budgets of its day.
	Ends    fleet.RunID
	Fates   []fleet.RunID    // whose work became something: all that their categories learnt since the last alarm
	Moves   []fleet.Category // whose arms, with the last checkpoint
	Attempt string           // of a fire
	Fire    fleet.FireID     // whose choices
	Number  bool             // of the last fire
	Oldest  bool             // tails, without their text
	Budgets bool             // of the day
	Resumes bool             // pauses, arms, agents, and the tasks that rest
	Vain    fleet.TaskID     // arms that had their last session in vain at it, and feedback on work at it
	Places  []fleet.RunID
	Reviews []fleet.RunID
	Notice  Notice
	Away    bool
	Every   bool        // every row of every table
	Host    string      // the machines, and of this one its starts, and when it was heard of
	Gone    string      // a machine whose open runs end: its claims, holds, tasks and their days' budgets, and all arms
	Heard   fleet.RunID // the run, and when its machine was heard of
	Edge    bool        // all checkpoints, and how many fates moved what is believed
	Forget  time.Time   // the oldest of what ended, or was, before, and need not be kept; where the record begins
}

// Page is the rows of a store that one write decides by, as of one instant, and the rows that it
// decides on. It is read in the transaction that writes them.
type Page struct {
	Now   time.Time       // by the store's clock, in whole milliseconds, read when nobody else could write any more
	Local time.Time       // this machine's clock then; zero: it is the store's
	Learn bandit.Settings // by which grades are learnt from

	Claims      Rows[Claim]
	Fires       Rows[Fire]
	Choices     Rows[Choice]
	Runs        Rows[Run]
	Holds       Rows[Hold]
	Uses        Rows[LessonUse]
	Fates       Rows[Fate]
	Arms        Rows[Arm]
	Checkpoints Rows[Checkpoint]
	Changes     Rows[fleet.GradeChange]
	Lessons     Rows[store.Lesson]
	Agents      Rows[Agent]
	Spent       Rows[Spent]
	Tasks       Rows[fleet.TaskMemory]
	Pauses      Rows[fleet.Pause]
	Places      Rows[Place]
	Reviews     Rows[fleet.Review]
	Feedback    Rows[fleet.Feedback]
	Notices     Rows[Notice]
	Away        Rows[fleet.Away] // at most one
	Hosts       Rows[fleet.Host] // without when they were heard of
	Boots       Rows[Boot]
	Heard       Rows[Heard]
	Tails       Rows[fleet.Tail]

	Lineage      Rows[fleet.Lineage] // at most one
	Acknowledged Rows[Acknowledged]

	Denials Log[fleet.DeniedClaim]
	Resets  Log[Reset]

	Number fleet.FireID // of the last fire
	Moved  string       // where the store is from now on; empty: here
	Edge   store.Edge   // where the record begins; see [Page.SetEdge]
	Edged  bool         // it is another from now on

	// The rest is not written.
	Open   []Run                            // in brief: identity, place, agent, task, key and reserves
	Bills  []fleet.Bill                     // of the agent's last sessions, newest first
	Taken  int                              // places in review
	Newest fleet.RunID                      // of all runs
	Graded map[fleet.Category][]store.Entry // grades that count, in the order in which they did
	Old    []fleet.RunID                    // that need not be kept, oldest first
	Fated  int                              // fates that moved what is believed
}

// NewPage is an empty page.
func NewPage(now time.Time, learn bandit.Settings) *Page {
	return &Page{
		Now: whole(now), Learn: learn, Graded: map[fleet.Category][]store.Entry{},
		Claims:  rows(func(c Claim) string { return string(c.Key) }),
		Fires:   rows(func(f Fire) string { return fmt.Sprint(f.ID) }),
		Choices: rows(func(c Choice) string { return fmt.Sprintf("%d %09d", c.Fire, c.Place) }),
		Runs:    rows(func(r Run) string { return string(r.ID) }),
		Holds: rows(func(h Hold) string {
			return fmt.Sprintf("%s %s.%d %d", h.Run, h.Category, h.Lane, h.AcquiredAt.UnixMilli())
		}),
		Uses:        rows(func(u LessonUse) string { return string(u.Run) + " " + string(u.Lesson) }),
		Fates:       rows(func(f Fate) string { return fmt.Sprintf("%s %09d", f.Run, f.Seq) }),
		Arms:        rows(func(a Arm) string { return string(a.Category) }),
		Checkpoints: rows(func(c Checkpoint) string { return fmt.Sprintf("%s %09d", c.Category, c.Seq) }),
		Changes:     rows(func(c fleet.GradeChange) string { return string(c.Run) }),
		Lessons:     rows(func(l store.Lesson) string { return fmt.Sprintf("%s\x00%s\x00%s", l.ID, l.Version, l.Category) }),
		Agents:      rows(func(a Agent) string { return a.Agent }),
		Spent:       rows(func(s Spent) string { return s.Day + " " + string(s.Scope) }),
		Tasks:       rows(func(m fleet.TaskMemory) string { return string(m.Task) }),
		Pauses:      rows(func(p fleet.Pause) string { return string(p.Category) }),
		Places:      rows(func(p Place) string { return string(p.Run) }),
		Reviews:     rows(func(r fleet.Review) string { return string(r.Run) }),
		Feedback:    rows(func(f fleet.Feedback) string { return string(f.Run) }),
		Notices:     rows(func(n Notice) string { return string(n.Event) + " " + n.Subject }),
		Away:        rows(func(fleet.Away) string { return "" }),
		Hosts:       rows(func(h fleet.Host) string { return h.ID }),
		Boots:       rows(func(b Boot) string { return b.Host + " " + b.Boot }),
		Heard:       rows(func(h Heard) string { return h.Host }),
		Tails:       rows(func(t fleet.Tail) string { return string(t.Run) }),

		Lineage:      rows(func(fleet.Lineage) string { return "" }),
		Acknowledged: rows(func(a Acknowledged) string { return a.Host }),
	}
}

// Copy is a page with the same rows, at another instant, of which nothing is decided yet.
func (p *Page) Copy(now time.Time) *Page {
	c := NewPage(now, p.Learn)
	c.Number, c.Moved, c.Edge = p.Number, p.Moved, p.Edge
	from := p.Tables()
	for i, t := range c.Tables() {
		t.take(from[i].Rowset, false)
	}
	return c
}

// whole is a time as a store keeps it.
func whole(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// today is the day of whose budgets a session is that begins now.
func (p *Page) today() string { return p.Now.UTC().Format(time.DateOnly) }

func (p *Page) run(id fleet.RunID) (Run, bool) { return p.Runs.Get(Run{Run: fleet.Run{ID: id}}) }

// open is a run that has not ended, or [fleet.ErrLost].
func (p *Page) open(id fleet.RunID) (Run, error) {
	r, found := p.run(id)
	if !found || !r.EndedAt.IsZero() {
		return Run{}, fmt.Errorf("run %s is not open: %w", id, fleet.ErrLost)
	}
	return r, nil
}

func (p *Page) task(id fleet.TaskID) fleet.TaskMemory {
	m, _ := p.Tasks.Get(fleet.TaskMemory{Task: id})
	return m
}

func (p *Page) agent(name string) Agent {
	a, _ := p.Agents.Get(Agent{AgentState: fleet.AgentState{Agent: name}})
	return a
}

func (p *Page) arm(c fleet.Category) bandit.Arm {
	a, _ := p.Arms.Get(Arm{Category: c})
	return a.Arm
}
