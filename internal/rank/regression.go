package rank

// Regression are weighted sums over graded sessions for the regression of the grade on x and y: of 1, x, y, grade, x², y²,
// x·y, x·grade and y·grade. They fade with the slow half-life.
type Regression struct {
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

func (r *Regression) add(weight, x, y, grade float64) {
	r.N += weight
	r.X += float64(weight * x)
	r.Y += float64(weight * y)
	r.XX += float64(weight * x * x)
	r.YY += float64(weight * y * y)
	r.XY += float64(weight * x * y)
	r.revise(weight, x, y, grade)
}

// revise has a grade that was added count by so much more.
func (r *Regression) revise(weight, x, y, by float64) {
	r.G += float64(weight * by)
	r.XG += float64(weight * x * by)
	r.YG += float64(weight * y * by)
}

func (r Regression) times(f float64) Regression {
	return Regression{
		float64(r.N * f), float64(r.X * f), float64(r.Y * f), float64(r.G * f), float64(r.XX * f),
		float64(r.YY * f), float64(r.XY * f), float64(r.XG * f), float64(r.YG * f),
	}
}

// centred are the sums about the means.
func (r Regression) centred() Regression {
	if r.N == 0 {
		return Regression{}
	}
	x, y := r.X/r.N, r.Y/r.N
	return Regression{
		XX: max(0, r.XX-float64(x*r.X)), YY: max(0, r.YY-float64(y*r.Y)), XY: r.XY - float64(x*r.Y),
		XG: r.XG - float64(x*r.G), YG: r.YG - float64(y*r.G),
	}
}
