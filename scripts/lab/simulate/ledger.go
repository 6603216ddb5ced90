package simulate

// window is over how many rounds the worst concentration is looked for.
const window = 200

// windowLeast is the least entitlement, in sessions, at which the ratio over a window
// says something.
const windowLeast = 5

// ledger keeps what each category was entitled to and what it got.
type ledger struct {
	sessions []int
	entitled []float64
	waiting  []float64 // entitled sessions since the last one
	longest  float64
	worst    float64 // ratio over any window
	rounds   int
	recent   [][]entry // a ring of the window's rounds, per category
	sums     []entry   // of the ring
}

// entry is one round's part.
type entry struct {
	due float64
	got int
}

func newLedger(categories int) *ledger {
	l := &ledger{
		sessions: make([]int, categories), entitled: make([]float64, categories),
		waiting: make([]float64, categories), recent: make([][]entry, window), sums: make([]entry, categories),
	}
	for i := range l.recent {
		l.recent[i] = make([]entry, categories)
	}
	return l
}

// next begins a round.
func (l *ledger) next() {
	if l.rounds >= window {
		l.compare()
	}
	now := l.recent[l.rounds%window]
	l.rounds++
	for i, old := range now {
		l.sums[i].due -= old.due
		l.sums[i].got -= old.got
		now[i] = entry{}
	}
}

// entitle books a fire of the round, whose sessions follow.
func (l *ledger) entitle(due []float64) {
	now := l.recent[(l.rounds-1)%window]
	for i, due := range due {
		now[i].due += due
		l.entitled[i] += due
		l.waiting[i] += due
		l.longest = max(l.longest, l.waiting[i])
		l.sums[i].due += due
	}
}

// got books a session of the last fire, or one that followed it.
func (l *ledger) got(category int) {
	l.sessions[category]++
	l.waiting[category] = 0
	l.recent[(l.rounds-1)%window][category].got++
	l.sums[category].got++
}

func (l *ledger) compare() {
	for _, s := range l.sums {
		if s.due >= windowLeast {
			l.worst = max(l.worst, float64(s.got)/s.due)
		}
	}
}

// ratios are the least and the most sessions over entitlement, among the categories
// that are entitled to one at least; 0 without any.
func (l *ledger) ratios() (least, most float64) {
	first := true
	for i, e := range l.entitled {
		if e < 1 {
			continue
		}
		r := float64(l.sessions[i]) / e
		if first || r < least {
			least = r
		}
		most, first = max(most, r), false
	}
	return least, most
}
