package plot

import (
	"math"
	"strconv"
)

// axis maps values to coordinates; one outside of it is at its edge, and no number at its start.
type axis struct {
	low, high  float64 // values
	start, end float64 // their coordinates
}

func (a axis) at(v float64) float64 {
	part := min(max((v-a.low)/(a.high-a.low), 0), 1)
	if math.IsNaN(part) {
		part = 0
	}
	return a.start + part*(a.end-a.start)
}

// number writes a tick's value: to ten digits, which hide how binary fractions end.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
