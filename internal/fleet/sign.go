package fleet

// Sign shows a run's outcome or state: a word, a mark, a letter where there are no colours, and the
// mood for which each screen and picture has one colour.
type Sign struct {
	Word, Mark, Letter string
	Mood               Mood
}

// Mood is the impression of a run at a glance. Pages take it for the class of an element.
type Mood string

const (
	Good   Mood = "good"  // work was done
	Vain   Mood = "empty" // it ran and did nothing
	Bad    Mood = "bad"   // it failed
	Ended  Mood = "warn"  // something beside its work ended it
	NoWork Mood = "dull"  // it had nothing to work on, or no lane
	Alive  Mood = "live"  // it is at work
	Coming Mood = "rest"  // it is yet to begin
)

// Moods lists those of runs that were in a lane, from work to none, what is under way last.
func Moods() []Mood { return []Mood{Good, Vain, Bad, Ended, NoWork, Alive} }

// Sign shows runs of the outcome. Without one they have not ended.
func (o Outcome) Sign() Sign {
	word := string(o)
	switch o {
	case Productive:
		return Sign{word, "✓", "P", Good}
	case Noop:
		return Sign{word, "–", "O", Vain}
	case Nothing:
		return Sign{word, "–", "N", Vain}
	case Failed:
		return Sign{word, "✗", "F", Bad}
	case Timeout:
		return Sign{word, "✗", "T", Bad}
	case Lost:
		return Sign{word, "✗", "L", Bad}
	case Abandoned:
		return Sign{word, "✗", "A", Bad}
	case Quota:
		return Sign{word, "!", "Q", Ended}
	case Unavailable:
		return Sign{word, "!", "U", Ended}
	case Cancelled:
		return Sign{word, "!", "C", Ended}
	case Busy:
		return Sign{word, "–", "B", NoWork}
	case RunDenied:
		return Sign{word, "–", "D", NoWork}
	case Idle:
		return Sign{word, "–", "I", NoWork}
	}
	return RunRunning.sign()
}

// Sign shows a fire's decision.
func (d Decision) Sign() Sign {
	switch d {
	case Spawn:
		return Sign{"started", "▶", "", Good}
	case StartFailed:
		return Sign{"failed", "✗", "", Bad}
	case Skip:
	}
	return Sign{"skipped", "–", "", NoWork}
}

// Sign shows the run.
func (r RunStatus) Sign() Sign {
	if r.State == RunEnded {
		return r.Verdict.Outcome.Sign()
	}
	return r.State.sign()
}

func (s RunState) sign() Sign {
	word := string(s)
	switch s {
	case RunCrashed:
		return Sign{word, "✗", "X", Bad}
	case RunSuspended:
		return Sign{word, "=", "Z", Bad}
	case RunPlanned:
		return Sign{word, "◌", "S", Coming}
	case RunWaiting:
		return Sign{word, "◌", "W", Coming}
	case RunRunning, RunEnded:
	}
	return Sign{string(RunRunning), "●", "R", Alive}
}
