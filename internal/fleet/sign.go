package fleet

// Sign shows a run's outcome or state: a word, a mark, and the mood for which each screen and
// picture has one colour.
type Sign struct {
	Word, Mark string
	Mood       Mood
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
		return Sign{word, "✓", Good}
	case Noop, Nothing:
		return Sign{word, "–", Vain}
	case Failed, Timeout, Lost, Abandoned:
		return Sign{word, "✗", Bad}
	case Quota, Unavailable, Cancelled:
		return Sign{word, "!", Ended}
	case Busy, RunDenied, Idle:
		return Sign{word, "–", NoWork}
	}
	return RunRunning.sign()
}

// Sign shows a fire's decision.
func (d Decision) Sign() Sign {
	switch d {
	case Spawn:
		return Sign{"started", "▶", Good}
	case StartFailed:
		return Sign{"failed", "✗", Bad}
	case Skip:
	}
	return Sign{"skipped", "–", NoWork}
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
		return Sign{word, "✗", Bad}
	case RunSuspended:
		return Sign{word, "=", Bad}
	case RunPlanned, RunWaiting:
		return Sign{word, "◌", Coming}
	case RunRunning, RunEnded:
	}
	return Sign{string(RunRunning), "●", Alive}
}
