package rank

const (
	// settledWeight is the number of sessions behind a belief from which a grade can
	// surprise it.
	settledWeight = 4
	// slack is the surprise above which one counts, in standard deviations: half the
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
	Shift float64 `json:"shift"` // of Since.S: what corrections added to the first grades
	From  int     `json:"from"`  // which of the category's grades is the first in Since; 0: it has none
}

// step takes in the nth grade of a category.
func (d *Drift) step(surprise, grade float64, nth int) {
	d.Level += surprise - slack
	if d.Level <= 0 {
		*d = Drift{}
		return
	}
	if d.From == 0 {
		d.From = nth
	}
	d.Since.add(1, grade)
}

// gather takes in a grade that is no surprise, as too little is known.
func (d *Drift) gather(grade float64) {
	if d.From > 0 {
		d.Since.add(1, grade)
	}
}

// restart forgets what was before the change that the stronger statistic shows.
func (e *Evidence) restart() {
	change := e.Up
	if e.Down.Level > e.Up.Level {
		change = e.Down
	}
	scale := min(1, restartWeight/change.Since.W)
	since := change.Since.times(scale)
	e.Fast, e.Slow, e.Shift = since, since, float64(change.Shift*scale)
	e.Kept = Pane{First: change.From, Last: e.Graded, Scale: scale, Round: e.At}
	e.Up, e.Down = Drift{}, Drift{}
	e.Alarms++
}
