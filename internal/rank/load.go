package rank

// Slope are weighted sums over graded sessions for the regression of grade on load:
// of 1, load, grade, load², load·grade. They fade with the slow half-life.
type Slope struct {
	N  float64 `json:"n"`
	L  float64 `json:"l"`
	G  float64 `json:"g"`
	LL float64 `json:"ll"`
	LG float64 `json:"lg"`
}

func (s *Slope) add(weight, load, grade float64) {
	s.N += weight
	s.L += float64(weight * load)
	s.G += float64(weight * grade)
	s.LL += float64(weight * load * load)
	s.LG += float64(weight * load * grade)
}

func (s Slope) times(f float64) Slope {
	return Slope{float64(s.N * f), float64(s.L * f), float64(s.G * f), float64(s.LL * f), float64(s.LG * f)}
}

// moments are the centred sums of load² and load·grade.
func (s Slope) moments() (xx, xy float64) {
	if s.N == 0 {
		return 0, 0
	}
	return max(0, s.LL-s.L*s.L/s.N), s.LG - s.L*s.G/s.N
}

// ridge is the weight that draws a slope towards that of all: the variance of a grade over
// that of a slope, of which 0.15 is a typical size.
func ridge(dispersion float64) float64 { return 0.25 * dispersion / (0.15 * 0.15) }

// plateau returns the cost of today's load beside the load under which the belief was
// formed, in units of grade; 0 while nothing speaks for depletion. The belief contains
// the cost of the usual load already.
func (s Settings) plateau(e Evidence, load float64, p Prior) float64 {
	if !s.Depletion || p.slope == 0 || e.Slope.N == 0 {
		return 0
	}
	xx, xy := e.Slope.moments()
	cost := max(0, (float64(p.ridge*p.slope)-xy)/(p.ridge+xx))
	if cost == 0 {
		return 0 // JSON would show a product's -0
	}
	return float64(cost * (e.Slope.L/e.Slope.N - load))
}
