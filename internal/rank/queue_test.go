package rank

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
)

// A queue of tasks under load, in which one session a slot works on one task and settles it.
const (
	queueSlot  = 2 * time.Hour
	queueWeeks = 8
	queueSlots = queueWeeks * 7 * 12
	queueSeeds = 24
)

// weights are what a priority's wait counts.
func weights() map[fleet.Priority]float64 {
	return map[fleet.Priority]float64{fleet.PriorityUrgent: 8, fleet.PriorityHigh: 4, fleet.PriorityMedium: 2, fleet.PriorityLow: 1}
}

// taskStream is what comes in, by slot: load tasks a slot on average, of which three in ten
// require one or two that are still open when they come.
func taskStream(seed uint64, load float64) (tasks []fleet.Task, slots []int) {
	rng := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // a stream that is the same every time
	for slot := range queueSlots {
		for n := poisson(rng, load); n > 0; n-- {
			t := testTask(fleet.TaskID(fmt.Sprintf("t%05d", len(tasks))), func(t *fleet.Task) {
				t.Created = midday().Add(time.Duration(slot) * queueSlot)
				t.Priority = drawPriority(rng.Float64())
			})
			if rng.Float64() < 0.3 {
				for range 1 + rng.IntN(2) {
					if near := len(tasks) - 1 - rng.IntN(60); near >= 0 {
						t.Requires = append(t.Requires, string(tasks[near].ID))
					}
				}
			}
			tasks, slots = append(tasks, t), append(slots, slot)
		}
	}
	return tasks, slots
}

func drawPriority(u float64) fleet.Priority {
	switch {
	case u < 0.1:
		return fleet.PriorityUrgent
	case u < 0.3:
		return fleet.PriorityHigh
	case u < 0.7:
		return fleet.PriorityMedium
	}
	return fleet.PriorityLow
}

func poisson(rng *rand.Rand, mean float64) (n int) {
	for left := rng.ExpFloat64(); left < mean; left += rng.ExpFloat64() {
		n++
	}
	return n
}

// waits plays a stream and returns, by priority, how long each task waited, in order. One
// that is not worked on by the end has waited until then.
func waits(seed uint64, load float64, best func(ready []*fleet.Task, o order) *fleet.Task) map[fleet.Priority][]time.Duration {
	stream, slots := taskStream(seed, load)
	got := map[fleet.Priority][]time.Duration{}
	var open []fleet.Task
	next := 0
	end := midday().Add(time.Duration(queueSlots) * queueSlot)
	for slot := range queueSlots {
		for ; next < len(stream) && slots[next] <= slot; next++ {
			t := stream[next]
			t.Requires = slices.DeleteFunc(slices.Clone(t.Requires), func(id string) bool {
				return !slices.ContainsFunc(open, func(o fleet.Task) bool { return string(o.ID) == id })
			})
			open = append(open, t)
		}
		q := queue(open)
		q.At = midday().Add(time.Duration(slot) * queueSlot)
		g := newGraph(open)
		ready, _ := q.workable(g)
		if len(ready) == 0 {
			continue
		}
		t := *best(ready, q.order(ready, g))
		got[t.Priority] = append(got[t.Priority], q.At.Sub(t.Created))
		open = slices.DeleteFunc(open, func(o fleet.Task) bool { return o.ID == t.ID })
		for i := range open {
			open[i].Requires = slices.DeleteFunc(open[i].Requires, func(id string) bool { return id == string(t.ID) })
		}
	}
	for _, t := range open {
		got[t.Priority] = append(got[t.Priority], end.Sub(t.Created))
	}
	for _, list := range got {
		slices.Sort(list)
	}
	return got
}

// TestOrderOfAQueue has more tasks come in than can be worked on, for eight weeks, and compares
// the order of tasks with others on the same streams: first what is pressing, then what is
// old, and first what the most tasks wait for. Where no task waits for another, none that
// ends starvation can match the first, which is best then (the cμ rule); here it pays for
// what it leaves waiting for others.
func TestOrderOfAQueue(t *testing.T) {
	t.Parallel()
	byAge := func(a, b *fleet.Task) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) }
	orders := map[string]func(ready []*fleet.Task, o order) *fleet.Task{
		"ours": func(ready []*fleet.Task, _ order) *fleet.Task { return ready[0] },
		"priority first": func(ready []*fleet.Task, _ order) *fleet.Task {
			return slices.MinFunc(ready, func(a, b *fleet.Task) int {
				return cmp.Or(cmp.Compare(a.Priority.Rank(), b.Priority.Rank()), byAge(a, b))
			})
		},
		"power first": func(ready []*fleet.Task, o order) *fleet.Task {
			return slices.MinFunc(ready, func(a, b *fleet.Task) int {
				return cmp.Or(cmp.Compare(o.waiters[b.ID].count, o.waiters[a.ID].count), cmp.Compare(a.Priority.Rank(), b.Priority.Rank()), byAge(a, b))
			})
		},
	}
	wait, low := map[string]float64{}, map[string]time.Duration{} // by weight; of 95 % of the low ones, on the worst stream
	for name, best := range orders {
		sum, weight := 0.0, 0.0
		for seed := range uint64(queueSeeds) {
			all := waits(seed, 1.1, best)
			for p, list := range all {
				for _, w := range list {
					sum += weights()[p] * w.Hours() / 24
					weight += weights()[p]
				}
			}
			list := all[fleet.PriorityLow]
			low[name] = max(low[name], list[len(list)*95/100])
		}
		wait[name] = sum / weight
		t.Logf("%s: the weighted wait is %.3f days; 95 %% of the low ones wait at most %.1f", name, wait[name], low[name].Hours()/24)
	}
	if wait["ours"] > wait["priority first"] {
		t.Errorf("got a weighted wait of %.3f days, want at most the %.3f of priority first", wait["ours"], wait["priority first"])
	}
	// In three weeks of waiting a low task counts as urgent.
	if most := 21 * 24 * time.Hour; low["ours"] > most || low["ours"] >= low["priority first"] || low["ours"] >= low["power first"] {
		t.Errorf("95 %% of the low ones wait up to %s, want %s at most, and less than in other orders: %v", low["ours"], most, low)
	}
}
