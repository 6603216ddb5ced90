package plot

import (
	"math"
	"strconv"
)

// axis maps values to coordinates.
type axis struct {
	low, high  float64 // values
	start, end float64 // their coordinates
}

func (a axis) at(v float64) float64 {
	return a.start + (v-a.low)/(a.high-a.low)*(a.end-a.start)
}

// newAxis covers low to high and ends at round numbers.
func newAxis(low, high, start, end float64) (axis, []float64) {
	if math.IsNaN(low) || math.IsInf(low, 0) || math.IsNaN(high) || math.IsInf(high, 0) || low > high {
		low, high = 0, 1
	}
	if low == high {
		high = low + max(1, math.Abs(low))
	}
	const wanted = 5 // ticks; as many as can be read
	step := roundStep((high - low) / wanted)
	first, last := math.Floor(low/step), math.Ceil(high/step)
	var ticks []float64
	for i := first; i <= last; i++ {
		ticks = append(ticks, i*step)
	}
	return axis{first * step, last * step, start, end}, ticks
}

// roundStep is the next of 1, 2, 5, 10 … at or above a step.
func roundStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= step {
			return m * power
		}
	}
	return 10 * power
}

// number writes a tick's value: to ten digits, which hide how binary fractions end.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
