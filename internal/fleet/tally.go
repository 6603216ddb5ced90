package fleet

import "time"

// Tally counts runs that are alike in all that stands first.
type Tally struct {
	From     time.Time // the span of time in which they were created begins
	Host     string    // the identity of the machine
	Category Category
	Agent    string // that worked, or was to
	Source   Source
	Outcome  Outcome // empty: open
	Fired    bool    // started by a fire; a run that followed one is not
	Claimed  bool    // they had a claim: sessions

	Runs    int
	Empty   int // of these, see [Verdict.Empty]
	Graded  int
	Grades  float64 // their sum
	Squares float64 // the sum of the grades' squares
	Tokens  int64   // as far as they are known
	USD     float64
	Guessed float64       // of USD: not what an agent reported, see [Cost.Estimated]
	Worked  time.Duration // from begin to end
}

// TaskTally counts the sessions at a task that came to something or failed: not those whose
// service failed, or that were stopped.
type TaskTally struct {
	Task     TaskID
	Category Category // of the last that failed
	Sessions int
	Failed   int
	Reason   string // of the last that failed
}
