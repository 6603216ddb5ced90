package bandit

const (
	// settledWeight is how many sessions a belief rests on before a grade can
	// surprise it.
	settledWeight = 4
	// slack is what a surprise must exceed to count, in standard deviations: half the
	// smallest shift worth noticing.
	slack = 0.25
	// restartWeight bounds what is kept at an alarm, in sessions. The grades that
	// raise an alarm are the luckiest or unluckiest there were; keeping all of them
	// left rare categories stuck.
	restartWeight = 6
)

// Drift is a one-sided CUSUM statistic (Page, "Continuous Inspection Schemes",
// Biometrika 41, 1954): surprises summed up while they lean to one side. With it go
// the grades since it last was 0, which is the estimated time of the change.
type Drift struct {
	Level float64 `json:"level"` // in standard deviations, at least 0
	Since Sums    `json:"since"`
}

func (d *Drift) step(surprise, grade float64) {
	d.Level += surprise - slack
	if d.Level <= 0 {
		*d = Drift{}
		return
	}
	d.Since.add(1, grade)
}

// restart forgets what was before the change that the stronger statistic shows.
func (e *Evidence) restart() {
	since := e.Up.Since
	if e.Down.Level > e.Up.Level {
		since = e.Down.Since
	}
	if since.W > restartWeight {
		since = since.times(restartWeight / since.W)
	}
	e.Fast, e.Slow, e.Shift = since, since, 0
	e.Up, e.Down = Drift{}, Drift{}
	e.Alarms++
}
