package simulate

import "math/rand/v2"

// random takes any categories, each as likely as every other.
type random struct {
	blind
	rng *rand.Rand
}

func (r *random) choose(v view) choice {
	order := v.candidates()
	r.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return choice{picks: order[:v.picks]}
}

// roundRobin takes the categories in turn and passes over those that are not awake.
type roundRobin struct {
	blind
	next map[string]int // by pool
}

func (r *roundRobin) choose(v view) choice {
	var c choice
	n := len(v.awake)
	for i := 0; i < n && len(c.picks) < v.picks; i++ {
		at := (r.next[v.pool] + i) % n
		if v.awake[at] {
			c.picks = append(c.picks, at)
		}
	}
	if len(c.picks) > 0 {
		r.next[v.pool] = c.picks[len(c.picks)-1] + 1
	}
	return c
}

// blind learns nothing.
type blind struct{}

func (blind) begin(_ int, v view) start { return start{round: v.round} }
func (blind) learn(flight)              {}
func (blind) surplus(int) float64       { return 0 }
func (blind) alarms() int               { return 0 }
