package rank

import (
	"math"
	"time"
)

const (
	// periods are what a season may go round in: a day and a week. Their phase is the only thing that matters, so that any
	// place's day does.
	periods = 2
	day     = 24 * time.Hour
)

// Turn is a time as a part of a day and of a week in UTC, in [0,1).
type Turn [periods]float64

// TurnAt is a time's.
func TurnAt(at time.Time) (t Turn) {
	for i, period := range [periods]time.Duration{day, 7 * day} {
		t[i] = at.UTC().Sub(at.UTC().Truncate(period)).Seconds() / period.Seconds()
	}
	return t
}

// waves are the two waves at a time of a period, in [0,1).
func waves(turn float64) (x, y float64) {
	if turn += 0.25; turn >= 1 {
		return wave(turn - 0.25), wave(turn - 1)
	}
	return wave(turn - 0.25), wave(turn)
}

// wave goes as a sine does, within 0.06, and rounds alike on every processor: two parabolas.
func wave(turn float64) float64 {
	if turn < 0.5 {
		return float64(16 * turn * (0.5 - turn))
	}
	return -float64(16 * (turn - 0.5) * (1 - turn))
}

// findSeason tries each period, and takes the one for which the grades of all categories speak most. The ridge says how much
// a category's season is drawn towards none: the variance of a grade over that of what a wave does to it.
func (p *Prior) findSeason(arms []Evidence, noise float64) {
	most := 0.0
	for i := range periods {
		var spread, seen, freedom float64
		for _, e := range arms {
			c := e.Seasons[i].centred()
			if c.XX == 0 || c.YY == 0 {
				continue
			}
			seen += c.XG*c.XG/c.XX + c.YG*c.YG/c.YY
			spread += c.XX + c.YY
			freedom += 2
		}
		if excess := seen - float64(noise*surprising(freedom)); excess > most {
			p.period, p.season, most = i, float64(noise*max(spread/excess, minRidge)), excess
		}
	}
}

// surprising is two standard deviations above the mean of a chi-squared distribution: that is how squared effects over
// the noise are spread if there are none.
func surprising(freedom float64) float64 { return freedom + float64(2*math.Sqrt(2*freedom)) }

// minRidge is that of a swing by a quarter of a grade, over the variance of a grade. Without
// it a change within minutes passes for a piece of a wave that is steep without end: thirty
// sessions of a quarter of an hour, the last ten bad, were worth 8.7 grades at another hour.
const minRidge = 16

// season returns the effect of the time beside the times behind the belief, in units of
// grade; 0 while nothing speaks for it.
func (s Settings) season(e Evidence, turn Turn, p Prior) float64 {
	of := e.Seasons[p.period]
	if !s.Season || p.season == 0 || of.N == 0 {
		return 0
	}
	c := of.centred()
	xx, yy := c.XX+p.season, c.YY+p.season
	det := float64(xx*yy) - float64(c.XY*c.XY)
	a := (float64(yy*c.XG) - float64(c.XY*c.YG)) / det
	b := (float64(xx*c.YG) - float64(c.XY*c.XG)) / det
	x, y := waves(turn[p.period])
	brings := float64(a*(x-of.X/of.N)) + float64(b*(y-of.Y/of.N))
	if brings == 0 {
		return 0 // JSON would show a product's -0
	}
	return brings
}
