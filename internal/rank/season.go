package rank

import (
	"math"
	"time"
)

// day is what a season goes round in. Its phase is the only thing that matters, so that any
// place's day does.
const day = 24 * time.Hour

// Turn is the time of day in UTC as a part of a day, in [0,1).
func Turn(at time.Time) float64 {
	at = at.UTC()
	return at.Sub(at.Truncate(day)).Seconds() / day.Seconds()
}

// Season are weighted sums over graded sessions for the regression of the grade on the time
// of day: of 1, x, y, grade, x², y², x·y, x·grade and y·grade, where x and y are [wave]s a
// quarter of a day apart. They fade with the slow half-life.
type Season struct {
	N  float64 `json:"n"`
	X  float64 `json:"x"`
	Y  float64 `json:"y"`
	G  float64 `json:"g"`
	XX float64 `json:"xx"`
	YY float64 `json:"yy"`
	XY float64 `json:"xy"`
	XG float64 `json:"xg"`
	YG float64 `json:"yg"`
}

func (s *Season) add(weight, turn, grade float64) {
	x, y := waves(turn)
	s.N += weight
	s.X += float64(weight * x)
	s.Y += float64(weight * y)
	s.G += float64(weight * grade)
	s.XX += float64(weight * x * x)
	s.YY += float64(weight * y * y)
	s.XY += float64(weight * x * y)
	s.XG += float64(weight * x * grade)
	s.YG += float64(weight * y * grade)
}

func (s Season) times(f float64) Season {
	return Season{
		float64(s.N * f), float64(s.X * f), float64(s.Y * f), float64(s.G * f), float64(s.XX * f),
		float64(s.YY * f), float64(s.XY * f), float64(s.XG * f), float64(s.YG * f),
	}
}

// centred are the sums about the means.
func (s Season) centred() Season {
	if s.N == 0 {
		return Season{}
	}
	x, y := s.X/s.N, s.Y/s.N
	return Season{
		XX: max(0, s.XX-float64(x*s.X)), YY: max(0, s.YY-float64(y*s.Y)), XY: s.XY - float64(x*s.Y),
		XG: s.XG - float64(x*s.G), YG: s.YG - float64(y*s.G),
	}
}

// waves are the two waves at a time of day, in [0,1).
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

// seasonRidge is how much a category's season is drawn towards none: the variance of a grade
// over that of what a wave does to it, by all categories; 0: nothing speaks for a season.
func seasonRidge(list []Season, noise float64) float64 {
	var spread, seen, freedom float64
	for _, s := range list {
		c := s.centred()
		if c.XX == 0 || c.YY == 0 {
			continue
		}
		seen += c.XG*c.XG/c.XX + c.YG*c.YG/c.YY
		spread += c.XX + c.YY
		freedom += 2
	}
	excess := seen - float64(noise*surprising(freedom))
	if excess <= 0 {
		return 0
	}
	return float64(noise * max(spread/excess, minRidge))
}

// surprising is two standard deviations above the mean of a chi-squared distribution: that is how squared effects over
// the noise are spread if there are none.
func surprising(freedom float64) float64 { return freedom + float64(2*math.Sqrt(2*freedom)) }

// minRidge is that of a swing by a quarter of a grade, over the variance of a grade. Without
// it a change within minutes passes for a piece of a wave that is steep without end: thirty
// sessions of a quarter of an hour, the last ten bad, were worth 8.7 grades at another hour.
const minRidge = 16

// season returns the effect of the time of day beside the times behind the belief, in units of
// grade; 0 while nothing speaks for it.
func (s Settings) season(e Evidence, turn float64, p Prior) float64 {
	if !s.Season || p.season == 0 || e.Season.N == 0 {
		return 0
	}
	c := e.Season.centred()
	xx, yy := c.XX+p.season, c.YY+p.season
	det := float64(xx*yy) - float64(c.XY*c.XY)
	a := (float64(yy*c.XG) - float64(c.XY*c.YG)) / det
	b := (float64(xx*c.YG) - float64(c.XY*c.XG)) / det
	x, y := waves(turn)
	brings := float64(a*(x-e.Season.X/e.Season.N)) + float64(b*(y-e.Season.Y/e.Season.N))
	if brings == 0 {
		return 0 // JSON would show a product's -0
	}
	return brings
}
