package fleet

import "time"

// Feedback has a reviewer's words on the work that a run left on its branch. A session at its task
// answers them on the same branch.
type Feedback struct {
	Run    RunID
	Task   TaskID
	Rounds int      // how often it became work
	Seen   []string // marks of what is known, so that it is not news again
	Said   string   // what the next session is to answer; empty: nothing
	At     time.Time
}

// MostRounds bounds the answers of sessions: more are a sign of a misunderstanding.
const MostRounds = 3

// Waits reports whether a session is to answer it; else a person is.
func (f Feedback) Waits() bool { return f.Said != "" && f.Rounds <= MostRounds }
