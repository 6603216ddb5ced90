package rank

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func midday() time.Time { return time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC) }

func testTask(id fleet.TaskID, edits ...func(*fleet.Task)) fleet.Task {
	t := fleet.Task{ID: id, Category: "code", State: fleet.StateTodo, Priority: fleet.PriorityMedium}
	for _, edit := range edits {
		edit(&t)
	}
	return t
}

// queue is what sessions of the sixth round choose from.
func queue(tasks []fleet.Task, held ...fleet.Claim) Queue {
	return Queue{Tasks: tasks, Held: held, At: midday(), Round: func(fleet.Category) fleet.Round { return 6 }}
}

// inVain has so many sessions in a row have brought the task nothing, so that it rests until
// a round.
func inVain(sessions int, until fleet.Round) func(*fleet.Task) {
	return func(t *fleet.Task) {
		t.Memory = &fleet.TaskMemory{Run: "0r1", Fruitless: sessions, Taken: sessions, Rests: until}
	}
}

// leftOpen has a session have worked on the task, not in vain.
func leftOpen(t *fleet.Task) { t.Memory = &fleet.TaskMemory{Run: "0r1", Taken: 1} }

func inState(s fleet.TaskState) func(*fleet.Task) { return func(t *fleet.Task) { t.State = s } }

func requires(ids ...string) func(*fleet.Task) { return func(t *fleet.Task) { t.Requires = ids } }

func inCategory(c fleet.Category) func(*fleet.Task) { return func(t *fleet.Task) { t.Category = c } }

func heldBy(holder fleet.Holder, keys ...fleet.Key) (list []fleet.Claim) {
	for _, k := range keys {
		list = append(list, fleet.Claim{Key: k, Holder: holder, Epoch: 1, ExpiresAt: midday().Add(time.Hour)})
	}
	return list
}

// TestObstacles asks about the first task of each list; "" means workable.
func TestObstacles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		tasks []fleet.Task
		want  string
	}{
		{"none", []fleet.Task{testTask("a")}, ""},
		{"waiting for", []fleet.Task{testTask("a", func(t *fleet.Task) { t.WaitingFor = "the review" })}, "waiting for the review"},
		{"wait to come", []fleet.Task{testTask("a", func(t *fleet.Task) { t.Wait = midday().Add(time.Millisecond) })}, "waits until 2026-06-26"},
		{"wait is now", []fleet.Task{testTask("a", func(t *fleet.Task) { t.Wait = midday() })}, ""},
		{"wait is over", []fleet.Task{testTask("a", func(t *fleet.Task) { t.Wait = midday().Add(-time.Hour) })}, ""},
		{"missing", []fleet.Task{testTask("a", requires("b"))}, `requires "b", which does not exist`},
		{"address", []fleet.Task{testTask("a", requires("https://x.org/1"))}, "requires https://x.org/1: remove the URL once it is settled"},
		{"done", []fleet.Task{testTask("a", requires("b")), testTask("b", inState(fleet.StateDone))}, ""},
		{"cancelled", []fleet.Task{testTask("a", requires("b")), testTask("b", inState(fleet.StateCancelled))}, ""},
		{"open", []fleet.Task{testTask("a", requires("b")), testTask("b")}, `requires "b", which is todo`},
		{"expired", []fleet.Task{testTask("a", requires("b")), testTask("b", inState(fleet.StateExpired))}, `requires "b", which is expired`},
		{"second of two", []fleet.Task{testTask("a", requires("b", "c")), testTask("b", inState(fleet.StateDone)), testTask("c")}, `requires "c", which is todo`},
		{"cycle of 1", []fleet.Task{testTask("a", requires("a"))}, "requires itself: a → a"},
		{"cycle of 2", []fleet.Task{testTask("a", requires("b")), testTask("b", requires("a"))}, "requires itself: a → b → a"},
		{"cycle of 3", ring(3), "requires itself: t0 → t1 → t2 → t0"},
		{"cycle of 4", ring(4), "requires itself: t0 → t1 → t2 → t3 → t0"},
		{"cycle beside a dead end", []fleet.Task{
			testTask("a", requires("b", "c")), testTask("b", requires("d")), testTask("c", requires("a")), testTask("d", requires("b")),
		}, "requires itself: a → c → a"},
		{"before a cycle", []fleet.Task{
			testTask("a", requires("b")), testTask("b", requires("c")), testTask("c", requires("b")),
		}, `requires "b", which is todo`},
		{"cycle cut by a settled task", []fleet.Task{
			testTask("a", requires("b")), testTask("b", requires("c")), testTask("c", requires("a"), inState(fleet.StateDone)),
		}, `requires "b", which is todo`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := fate(t, tt.tasks, nil, tt.tasks[0].ID); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// ring is n tasks of which each requires the next.
func ring(n int) (tasks []fleet.Task) {
	for i := range n {
		tasks = append(tasks, testTask(fleet.TaskID(fmt.Sprintf("t%d", i)), requires(fmt.Sprintf("t%d", (i+1)%n))))
	}
	return tasks
}

// fate is the reason why a task is blocked, "" when it is ready, "closed" when it
// is neither.
func fate(t *testing.T, tasks []fleet.Task, held []fleet.Claim, id fleet.TaskID) string {
	t.Helper()
	ready, blocked := queue(tasks, held...).Workable()
	for _, b := range blocked {
		if b.Task.ID == id {
			return b.Reason
		}
	}
	for _, r := range ready {
		if r.ID == id {
			return ""
		}
	}
	return "closed"
}

func TestWorkableStates(t *testing.T) {
	t.Parallel()
	for _, s := range fleet.TaskStates() {
		want := "closed"
		if s.Workable() {
			want = ""
		}
		if got := fate(t, []fleet.Task{testTask("a", inState(s))}, nil, "a"); got != want {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}

func TestWorkableClaims(t *testing.T) {
	t.Parallel()
	tasks := []fleet.Task{testTask("a"), testTask("b", requires("gone")), testTask("c", inState(fleet.StateDone))}
	held := heldBy("bob@host", "a", "b", "c", "other")
	ready, blocked := queue(tasks, held...).Workable()
	if len(ready) > 0 {
		t.Errorf("got %v ready, want none", ready)
	}
	want := []Blocked{{&tasks[0], fleet.HinderedByClaim, ClaimBlocked, &held[0]}, {&tasks[1], fleet.HinderedByClaim, ClaimBlocked, &held[1]}}
	must.Equal(t, "blocked", blocked, want)
}

// TestPickWaits finds that a task waits for other work, unless a person asks for it.
func TestPickWaits(t *testing.T) {
	t.Parallel()
	q := queue([]fleet.Task{testTask("a"), testTask("b", requires("gone"))})
	q.Overlaps = map[fleet.TaskID]fleet.Overlap{"a": {Why: "run x changes y", Waits: true}, "b": {Why: "run x changes z", Waits: true}}
	const want = `every workable task waits for other work: "a" waits for other work: run x changes y`
	if got, why := q.Pick("code", ""); got != nil || why != want {
		t.Errorf("got %v: %s, want none: %s", got, why, want)
	}
	if got, _ := q.Pick("code", "a"); got == nil || got.ID != "a" {
		t.Errorf("asked for: got %v, want a", got)
	}
	if got, why := q.Pick("code", "b"); got != nil {
		t.Errorf("asked for: got %v: %s, want none for what b requires", got, why)
	}
}

// TestWorkableOrder has tasks that differ from the one before in one thing, best
// first.
func TestWorkableOrder(t *testing.T) {
	t.Parallel()
	old, recent := midday().AddDate(0, 0, -6), midday() // within a week, after which the wait counts
	created := func(at time.Time) func(*fleet.Task) { return func(t *fleet.Task) { t.Created = at } }
	priority := func(p fleet.Priority) func(*fleet.Task) { return func(t *fleet.Task) { t.Priority = p } }
	want := []fleet.Task{
		testTask("z-active", inState(fleet.StateActive), priority(fleet.PriorityLow), inVain(fleet.SessionsToLead-1, 6)),
		testTask("y-urgent", priority(fleet.PriorityUrgent), created(recent)),
		testTask("x-high", priority(fleet.PriorityHigh)),
		testTask("w-old", created(old)),
		testTask("v-recent", created(recent)),
		testTask("t-undated"),
		testTask("u-undated"),
		testTask("a-left-open", created(old), leftOpen),
		testTask("b-vain", inState(fleet.StateActive), inVain(fleet.SessionsToLead, 6)),
		testTask("s-low", priority(fleet.PriorityLow), created(old)),
		testTask("a-backlog", inState(fleet.StateBacklog), priority(fleet.PriorityUrgent), created(old)),
	}
	rapid.Check(t, func(t *rapid.T) {
		q := queue(rapid.Permutation(want).Draw(t, "tasks"))
		got, _ := q.Workable()
		must.Equal(t, "ready", got, pointers(want))
		first := rapid.IntRange(0, len(want)-1).Draw(t, "the selector's") // leads, and the usual order follows
		q.First = want[first].ID
		got, _ = q.Workable()
		must.Equal(t, "ready after the selector's", got, pointers(slices.Concat(want[first:first+1], want[:first], want[first+1:])))
	})
}

// TestBegunTasksTakeTurns has five equal tasks, of which each session leaves its own active: no task gets what the
// others wait for.
func TestBegunTasksTakeTurns(t *testing.T) {
	t.Parallel()
	tasks := []fleet.Task{testTask("a", inState(fleet.StateActive)), testTask("b"), testTask("c"), testTask("d"), testTask("e")}
	got := ""
	for session := range 18 {
		ready, _ := queue(tasks).Workable()
		task := &tasks[slices.IndexFunc(tasks, func(t fleet.Task) bool { return t.ID == ready[0].ID })]
		m := fleet.TaskMemory{}
		if task.Memory != nil {
			m = *task.Memory
		}
		m = m.After(fleet.Run{Verdict: fleet.Verdict{Outcome: fleet.Productive}, Left: fleet.TaskLeft{Worked: true}}, 1)
		m.Run, m.Since = "0r1", midday().Add(time.Duration(session)*time.Hour)
		task.Memory, task.State = &m, fleet.StateActive
		got += string(task.ID)
	}
	must.Equal(t, "sessions", got, "aaabbbcccdddeeeabc")
}

// TestUnblockingComesAfterPriority has tasks of one state that others wait for: what is
// pressing is tried first, then what frees more.
func TestUnblockingComesAfterPriority(t *testing.T) {
	t.Parallel()
	urgent := func(t *fleet.Task) { t.Priority = fleet.PriorityUrgent }
	want := []fleet.Task{
		testTask("begun", inState(fleet.StateActive)),
		testTask("urgent", urgent),
		testTask("frees-three"),
		testTask("frees-two"),
		testTask("frees-one"),
		testTask("idle"),
		testTask("later", inState(fleet.StateBacklog)),
	}
	waiting := []fleet.Task{
		testTask("w1", requires("frees-three", "later")), testTask("w2", requires("w1", "later")),
		testTask("w3", requires("w2", "later"), inCategory("docs")),
		testTask("w4", requires("frees-two")), testTask("w5", requires("frees-two", "w4")),
		testTask("w6", requires("frees-one", "https://x.org/1")),
		testTask("w7", requires("idle"), inState(fleet.StateDone)),
		testTask("w8", requires("idle"), inState(fleet.StateCancelled)),
	}
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.Permutation(append(waiting, want...)).Draw(t, "tasks")
		got, _ := queue(tasks).Workable()
		must.Equal(t, "ready", got, pointers(want))
	})
}

// TestPowersAreReach makes graphs at random, cycles among them, and counts who waits for
// a task by a plain search from the other end.
func TestPowersAreReach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "tasks")
		var tasks []fleet.Task
		for i := range n {
			var ids []string
			for _, need := range rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID[int]).Draw(t, "needs") {
				ids = append(ids, fmt.Sprint(need))
			}
			tasks = append(tasks, testTask(fleet.TaskID(fmt.Sprint(i)), requires(ids...)))
		}
		g := newGraph(tasks)
		waiting := g.waiters(pointers(tasks), ownPriority)
		for _, task := range tasks {
			want := 0
			for _, other := range tasks {
				if other.ID != task.ID && reaches(g, string(other.ID), string(task.ID), n) {
					want++
				}
			}
			if got := waiting[task.ID].count; got != want {
				t.Errorf("%s: got %d waiting, want %d", task.ID, got, want)
			}
		}
	})
}

func ownPriority(t *fleet.Task) fleet.Priority { return t.Priority }

func pointers(tasks []fleet.Task) (list []*fleet.Task) {
	for i := range tasks {
		list = append(list, &tasks[i])
	}
	return list
}

// TestWaitersEndAtAHundred has more wait for a task than are worth counting, in a row and
// side by side.
func TestWaitersEndAtAHundred(t *testing.T) {
	t.Parallel()
	row, wide := []fleet.Task{testTask("t0")}, []fleet.Task{testTask("t0")}
	for i := range 300 {
		id := fleet.TaskID(fmt.Sprintf("t%d", i+1))
		row = append(row, testTask(id, requires(fmt.Sprintf("t%d", i))))
		wide = append(wide, testTask(id, requires("t0")))
	}
	for name, tasks := range map[string][]fleet.Task{"row": row, "wide": wide} {
		if got := newGraph(tasks).waiters(pointers(tasks), ownPriority)["t0"].count; got != 100 {
			t.Errorf("%s: got %d, want 100", name, got)
		}
		if got := newGraph(tasks[:51]).waiters(pointers(tasks[:1]), ownPriority)["t0"].count; got != 50 {
			t.Errorf("%s: got %d for fifty, want 50", name, got)
		}
	}
}

// TestTheMostPressingOfTooMany has more wait for a task than are looked at: which of them are must not be chance, or the
// order of tasks would differ from look to look.
func TestTheMostPressingOfTooMany(t *testing.T) {
	t.Parallel()
	tasks := []fleet.Task{testTask("t0")}
	for i := range 2 * maxPower {
		tasks = append(tasks, testTask(fleet.TaskID(fmt.Sprintf("t%d", i+1)), requires("t0")))
	}
	first := func() fleet.TaskID { return newGraph(tasks).waiters(pointers(tasks), ownPriority)["t0"].first.ID }
	want := first()
	for range 100 {
		if got := first(); got != want {
			t.Fatalf("got %s, and %s before", got, want)
		}
	}
}

// TestLongCycle names the beginning of a cycle of thousands of tasks, each of which looks for it: to find all of it took a
// fire 20 seconds.
func TestLongCycle(t *testing.T) {
	t.Parallel()
	const n = 5000
	var tasks []fleet.Task
	for i := range n {
		tasks = append(tasks, testTask(fleet.TaskID(fmt.Sprintf("t%d", i)), requires(fmt.Sprintf("t%d", (i+1)%n))))
	}
	g := newGraph(tasks)
	for i, looked := range map[int]string{0: "t0 → t1 → … → t0", n - 1: "t4999 → t0 → … → t4999"} {
		want := []Obstacle{{Kind: fleet.HinderedByNeed, Reason: "requires itself: " + looked, On: fmt.Sprintf("t%d", (i+1)%n)}}
		must.Equal(t, "obstacles", g.obstacles(&tasks[i], midday()), want)
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	tasks := []fleet.Task{
		testTask("best", inState(fleet.StateActive)),
		testTask("next"),
		testTask("stuck", requires("gone")),
		testTask("over", inState(fleet.StateDone)),
		testTask("doc", inCategory("docs")),
		testTask("idea", inCategory("novelty"), requires("gone")),
		testTask("weary", inCategory("research"), inVain(1, 8)), testTask("worn", inCategory("research"), inVain(1, 7), requires("gone")),
	}
	tests := []struct {
		name     string
		category fleet.Category
		only     fleet.TaskID
		held     []fleet.Claim
		want     fleet.TaskID
		reason   string
	}{
		{"the best", "code", "", nil, "best", ""},
		{"the best that is free", "code", "", heldBy("bob", "best"), "next", ""},
		{"all claimed", "code", "", heldBy("bob", "best", "next"), "", ReasonAllClaimed},
		{"another's claims", "novelty", "", heldBy("bob", "best", "next"), "", ReasonNoTask},
		{"none", "triage", "", nil, "", ReasonNoTask},
		{"asked for", "code", "next", nil, "next", ""},
		{"asked for, claimed", "code", "next", heldBy("bob", "next"), "next", ""},
		{"asked for, resting", "research", "weary", nil, "weary", ""},
		{"asked for, resting and blocked", "research", "worn", nil, "", `task "worn" requires "gone", which does not exist`},
		{"all rest", "research", "", nil, "", `every workable task rests, "weary" for 2 more fires of its pool: its last session brought nothing`},
		{"asked for, blocked", "code", "stuck", nil, "", `task "stuck" requires "gone", which does not exist`},
		{"asked for, done", "code", "over", nil, "", ReasonNoTask},
		{"asked for, of another category", "code", "doc", nil, "", ReasonNoTask},
		{"asked for, missing", "code", "gone", nil, "", ReasonNoTask},
		{"asked for, others claimed", "code", "gone", heldBy("bob", "best"), "", ReasonNoTask},
	}
	byHand := queue(tasks)
	byHand.ByHand = true
	if task, reason := byHand.Pick("research", ""); task == nil || task.ID != "weary" {
		t.Errorf("by hand: got %v, %q, want the one that only rests", task, reason)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			task, reason := queue(tasks, tt.held...).Pick(tt.category, tt.only)
			got := fleet.TaskID("")
			if task != nil {
				got = task.ID
			}
			if got != tt.want || reason != tt.reason {
				t.Errorf("got %q, %q, want %q, %q", got, reason, tt.want, tt.reason)
			}
		})
	}
}

// TestCyclesAreFound makes graphs at random and holds the answer against a plain
// search: a task is on a cycle if and only if the reason says so, and the cycle
// named is one.
func TestCyclesAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "tasks")
		var tasks []fleet.Task
		for i := range n {
			needs := rapid.SliceOfDistinct(rapid.IntRange(0, n-1), rapid.ID[int]).Draw(t, "needs")
			var ids []string
			for _, need := range needs {
				ids = append(ids, fmt.Sprint(need))
			}
			tasks = append(tasks, testTask(fleet.TaskID(fmt.Sprint(i)), requires(ids...)))
		}
		g := newGraph(tasks)
		for _, task := range tasks {
			path := g.cycle(&task)
			if got, want := path != nil, reaches(g, string(task.ID), string(task.ID), n); got != want {
				t.Fatalf("%s: got cycle %v, want one: %v", task.ID, path, want)
			}
			for i := 1; i < len(path); i++ {
				if !strings.Contains(" "+strings.Join(g.tasks[path[i-1]].Requires, " ")+" ", " "+path[i]+" ") {
					t.Errorf("got %v, but %s does not require %s", path, path[i-1], path[i])
				}
			}
		}
	})
}

func reaches(g graph, from, to string, steps int) bool {
	for _, need := range g.tasks[from].Requires {
		if need == to || steps > 1 && reaches(g, need, to, steps-1) {
			return true
		}
	}
	return false
}
