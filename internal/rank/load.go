package rank

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
	c := e.Slope.centred()
	cost := max(0, (float64(p.ridge*p.slope)-c.XG)/(p.ridge+c.XX))
	if cost == 0 {
		return 0 // JSON would show a product's -0
	}
	return float64(cost * (e.Slope.X/e.Slope.N - load))
}
