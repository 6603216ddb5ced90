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
	// latelyHalfLife is the number of rounds after which a grade counts half in what categories have in common lately, and
	// calmWeight the weight of no shift in that, in sessions. In 50 days whose grades all rise or fall by 0.3 every five days,
	// twelve categories raise 0.3 alarms. It is 100 without a shift, and more with a half-life of 2 or 6.
	latelyHalfLife, calmWeight = 3, 1
)

// shift is by how much the last grades of the categories were off alike, and the variance of that: whichever of them is left
// out, the others' were off so much at least, and to the same side. It is no change of one. Noise is the variance of a grade.
func shift(arms []Evidence, noise float64) (by, variance float64) {
	var all Mean
	for _, e := range arms {
		all.W, all.S = all.W+e.Lately.W, all.S+e.Lately.S
	}
	low, high := 1.0, -1.0
	for _, e := range arms {
		without := (all.S - e.Lately.S) / (all.W - e.Lately.W + calmWeight)
		low, high = min(low, without), max(high, without)
	}
	if by = max(0, low) + min(0, high); by == 0 {
		return 0, 0
	}
	return by, noise / (all.W + calmWeight)
}

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
	e.Up, e.Down, e.Lately = Drift{}, Drift{}, Mean{}
	e.Alarms++
}
