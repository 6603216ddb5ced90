package rank

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// graph is the tasks with what they require.
type graph struct {
	tasks map[string]*fleet.Task
	needs map[string][]string // the unsettled tasks that an unsettled one requires; only those that require some
	knots map[string]int      // tasks that require themselves, by strongly connected component
}

func newGraph(tasks []fleet.Task) graph {
	g := graph{tasks: make(map[string]*fleet.Task, len(tasks)), needs: map[string][]string{}, knots: map[string]int{}}
	for i := range tasks {
		g.tasks[string(tasks[i].ID)] = &tasks[i]
	}
	for i := range tasks {
		t := &tasks[i]
		if t.State.Settled() {
			continue
		}
		for _, need := range t.Requires {
			if other := g.tasks[need]; other != nil && !other.State.Settled() {
				g.needs[string(t.ID)] = append(g.needs[string(t.ID)], need)
			}
		}
	}
	g.findKnots()
	return g
}

// findKnots marks the strongly connected components that have a cycle, by Tarjan's
// algorithm (SIAM J. Comput. 1, 1972): one pass over all that tasks require. A task that
// requires nothing is on no cycle.
func (g graph) findKnots() {
	type mark struct {
		index, low int
		onStack    bool
	}
	var (
		marks = map[string]*mark{}
		stack []string
		visit func(id string) *mark
	)
	visit = func(id string) *mark {
		m := &mark{index: len(marks) + 1, low: len(marks) + 1, onStack: true}
		marks[id] = m
		stack = append(stack, id)
		loop := false
		for _, need := range g.needs[id] {
			loop = loop || need == id
			if len(g.needs[need]) == 0 {
				continue
			}
			if next := marks[need]; next == nil {
				m.low = min(m.low, visit(need).low)
			} else if next.onStack {
				m.low = min(m.low, next.index)
			}
		}
		for single := true; m.low == m.index && m.onStack; single = false {
			member := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			marks[member].onStack = false
			if !single || member != id || loop {
				g.knots[member] = m.index
			}
		}
		return m
	}
	for id := range g.needs {
		if marks[id] == nil {
			visit(id)
		}
	}
}

// maxPower bounds the count of tasks that wait for a task: beyond it the number says
// nothing more, and a folder of 10⁵ tasks must be sorted quickly.
const maxPower = 100

// waiters are the open tasks that wait for a task, directly or not.
type waiters struct {
	count int         // up to [maxPower]
	first *fleet.Task // one of the most pressing
}

// waiters are, by id, those of each of these tasks that has any. Class is as what a task's
// own priority counts.
func (g graph) waiters(tasks []*fleet.Task, class func(*fleet.Task) fleet.Priority) map[fleet.TaskID]waiters {
	waiting := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(g.needs)) { // the order says which are counted
		if !g.tasks[id].State.Workable() {
			continue
		}
		for _, need := range g.needs[id] {
			waiting[need] = append(waiting[need], id)
		}
	}
	all := map[fleet.TaskID]waiters{}
	for _, t := range tasks {
		var w waiters
		for _, id := range reach(waiting, string(t.ID)) {
			other := g.tasks[id]
			if w.first == nil || cmp.Or(cmp.Compare(class(other).Rank(), class(w.first).Rank()), cmp.Compare(other.ID, w.first.ID)) < 0 {
				w.first = other
			}
			w.count++
		}
		if w.count > 0 {
			all[t.ID] = w
		}
	}
	return all
}

// reach returns the tasks that can be reached from start, up to [maxPower].
func reach(edges map[string][]string, start string) (found []string) {
	seen := map[string]bool{start: true}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, next := range edges[queue[0]] {
			if len(found) == maxPower {
				return found
			}
			if !seen[next] {
				seen[next] = true
				queue, found = append(queue, next), append(found, next)
			}
		}
	}
	return found
}

// changed is when a workable task last became what it is: when it was made or written,
// when its wait was over, or when what it requires was written. A time that is to come, as a
// tracker may report it, is none.
func (g graph) changed(t *fleet.Task, now time.Time) (last time.Time) {
	times := []time.Time{t.Modified, t.Created, t.Wait}
	for _, need := range t.Requires {
		if other := g.tasks[need]; other != nil {
			times = append(times, other.Modified)
		}
	}
	for _, at := range times {
		if at.After(last) && !at.After(now) {
			last = at
		}
	}
	return last
}

// obstacles lists the obstacles to work on a task in a workable state.
func (g graph) obstacles(t *fleet.Task, now time.Time) (list []Obstacle) {
	if t.WaitingFor != "" {
		list = append(list, Obstacle{Kind: fleet.HinderedByWaiting, Reason: "waiting for " + t.WaitingFor})
	}
	if t.Wait.After(now) {
		list = append(list, Obstacle{Kind: fleet.HinderedByDate, Reason: "waits until " + t.Wait.Format(time.DateOnly), Until: t.Wait})
	}
	var loop []string // a cycle that the task is on: its first step is named as that
	for _, need := range t.Requires {
		open, reason := g.open(need)
		if open && loop == nil && g.tasks[need] != nil {
			if loop = g.cycle(t); loop != nil {
				list = append(list, Obstacle{Kind: fleet.HinderedByNeed, Reason: "requires itself: " + shorten(loop), On: loop[1]})
			}
		}
		if open && (loop == nil || need != loop[1]) {
			list = append(list, Obstacle{Kind: fleet.HinderedByNeed, Reason: reason, On: need})
		}
	}
	return list
}

// open reports whether what a task requires is unsettled, and says so of the task.
func (g graph) open(need string) (open bool, reason string) {
	other := g.tasks[need]
	switch {
	case other == nil && strings.Contains(need, "://"):
		return true, fmt.Sprintf("requires %s: remove the URL once it is settled", need)
	case other == nil:
		return true, fmt.Sprintf("requires %q, which does not exist", need)
	case other.State.Settled():
		return false, ""
	}
	return true, fmt.Sprintf("requires %q, which is %s", need, other.State)
}

// shorten joins a cycle's ids, so many as a person wants to read.
func shorten(path []string) string {
	const most = 8
	if len(path) > most {
		path = slices.Concat(path[:most-2], []string{"…"}, path[len(path)-1:])
	}
	return strings.Join(path, " → ")
}

// maxSought bounds the search for a shortest cycle, in tasks. Each of thousands on one cycle looks for it.
const maxSought = 500

// cycle returns the ids on a shortest cycle of unsettled requirements through t, first
// and last the same, or nil. A cycle that is far too long to be read is cut after its first step.
func (g graph) cycle(t *fleet.Task) []string {
	start := string(t.ID)
	knot, found := g.knots[start]
	if !found {
		return nil
	}
	from, first := map[string]string{}, "" // breadth first, within the knot
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, need := range g.needs[queue[0]] {
			if need == start {
				return way(from, start, queue[0])
			}
			if len(from) == maxSought {
				return []string{start, first, "…", start}
			}
			if _, seen := from[need]; !seen && g.knots[need] == knot {
				from[need] = queue[0]
				first = cmp.Or(first, need)
				queue = append(queue, need)
			}
		}
	}
	return nil
}

// way is the cycle whose last step leads from last to start.
func way(from map[string]string, start, last string) []string {
	path := []string{start}
	for id := last; id != start; id = from[id] {
		path = append(path, id)
	}
	path = append(path, start)
	slices.Reverse(path)
	return path
}
