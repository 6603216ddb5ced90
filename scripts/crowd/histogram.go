package main

import (
	"math"
	"math/bits"
	"time"
)

// histogram counts durations by size, to within 1/32 of their value.
type histogram struct {
	counts []int
	n      int
	sum    float64
	most   time.Duration
}

const (
	fineBits = 5 // of a duration's leading bits
	fine     = 1 << fineBits
)

// slot numbers the sizes: exactly below [fine], then by the leading bits.
func slot(d time.Duration) int {
	v := uint64(max(0, d))
	if v < fine {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - fineBits
	return (shift+1)*fine + int(v>>shift) - fine
}

// top is the longest duration of a slot.
func top(slot int) time.Duration {
	if slot < fine {
		return time.Duration(slot)
	}
	shift := slot/fine - 1
	return time.Duration(uint64(slot%fine+fine+1)<<shift - 1)
}

func (h *histogram) add(d time.Duration) {
	i := slot(d)
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i]++
	h.n++
	h.sum += d.Seconds()
	h.most = max(h.most, d)
}

// quantile is what the part p, in [0,1], does not exceed; 0 of nothing.
func (h *histogram) quantile(p float64) time.Duration {
	rank, seen := int(math.Ceil(p*float64(h.n))), 0
	for i, n := range h.counts {
		if seen += n; n > 0 && seen >= rank {
			return min(top(i), h.most)
		}
	}
	return h.most
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n) * float64(time.Second))
}
