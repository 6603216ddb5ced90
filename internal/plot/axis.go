package plot

import "strconv"

// axis maps values to coordinates.
type axis struct {
	low, high  float64 // values
	start, end float64 // their coordinates
}

func (a axis) at(v float64) float64 {
	return a.start + (v-a.low)/(a.high-a.low)*(a.end-a.start)
}

// number writes a tick's value: to ten digits, which hide how binary fractions end.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
