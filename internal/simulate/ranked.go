package simulate

import (
	"slices"
	"strings"
	"time"

	"stint/internal/bandit"
	"stint/internal/fleet"
	"stint/internal/selector"
)

// outOfReach is why a category is out: it is not awake, or in flight.
const outOfReach = "not available"

// outAsleep is why a category is out that backs off.
const outAsleep = "backs off"

// ranked decides by the ranking of real fires, and keeps what the store keeps.
type ranked struct {
	settings   bandit.Settings
	seed       uint64
	candidates []selector.Candidate // by name, as a ranking wants them
	at         []int                // of each category in candidates
	index      []int                // of each candidate in the scenario
	pool       bandit.Pool
	due        []float64
	rounds     []fleet.Round // that each fire saw
	picks      []int
	loads      []float64
}

func newRanked(settings bandit.Settings, s *Scenario, seed uint64) *ranked {
	n := len(s.Categories)
	r := &ranked{settings: settings, seed: seed, at: make([]int, n), index: make([]int, n), due: make([]float64, n)}
	for i := range s.Categories {
		r.index[i] = i
	}
	slices.SortFunc(r.index, func(a, b int) int {
		return strings.Compare(string(s.Categories[a].Name), string(s.Categories[b].Name))
	})
	for at, i := range r.index {
		r.at[i] = at
		r.candidates = append(r.candidates, selector.Candidate{Category: s.Categories[i].Name, Share: s.Categories[i].Share})
	}
	return r
}

func (r *ranked) choose(v view) choice {
	for at := range r.candidates {
		c, i := &r.candidates[at], r.index[at]
		c.Arm = c.Arm.Coming()
		c.Out, c.By = r.unavailable(c, v, i)
		c.Pending, r.due[i] = v.busy[i], 0
	}
	s := selector.Rank(selector.Input{
		Settings: r.settings, Seed: r.seed, Fire: v.fire, At: at(v.fire), Workers: v.picks, Free: v.free, Candidates: r.candidates,
	})
	r.pool = s.Pool
	r.rounds = append(r.rounds, r.candidates[0].Arm.Round)
	if !s.Moves() {
		for at := range r.candidates {
			r.candidates[at].Arm.Round--
		}
	}
	r.picks, r.loads = r.picks[:0], r.loads[:0]
	// Entitlement accrues at the fire, and is debited after it.
	for _, c := range s.Ranked() {
		c.Arm.Entitle(r.settings, c.Due)
		r.due[r.category(c)] = c.Due
	}
	for _, c := range s.Ranked()[:s.Picks] {
		r.picks = append(r.picks, r.category(c))
		r.loads = append(r.loads, c.Arm.Debit(c.Arm.Round))
	}
	return choice{picks: r.picks, loads: r.loads, due: r.due}
}

func (r *ranked) unavailable(c *selector.Candidate, v view, i int) (string, selector.Hindrance) {
	switch {
	case !v.awake[i]:
		return outOfReach, selector.HinderedByTasks
	case c.Arm.Asleep(c.Arm.Round, time.Time{}):
		return outAsleep, selector.HinderedByBackoff
	}
	return "", ""
}

func (r *ranked) category(s selector.Score) int {
	at, _ := slices.BinarySearchFunc(r.candidates, s.Category, func(c selector.Candidate, name fleet.Category) int {
		return strings.Compare(string(c.Category), string(name))
	})
	return r.index[at]
}

func (r *ranked) learn(e ended) {
	arm := &r.candidates[r.at[e.category]].Arm
	switch {
	case e.noop:
		arm.Noop(arm.Round, time.Time{})
	case e.graded:
		r.settings.Learn(arm, r.pool, bandit.Graded{Round: r.rounds[e.started-1], Turn: bandit.Turn(at(e.started)), Load: e.load, Grade: e.grade})
	}
}

func (r *ranked) alarms() int {
	sum := 0
	for i := range r.candidates {
		sum += r.candidates[i].Arm.Alarms
	}
	return sum
}

// at is when a fire is: every half hour, 48 a day.
func at(fire fleet.FireID) time.Time {
	return time.Date(2026, 1, 1, 0, 30*int(fire), 0, 0, time.UTC)
}
