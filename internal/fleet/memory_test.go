package fleet_test

import (
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestRecall puts what is remembered of tasks above what their sources say, until these
// show a change.
func TestRecall(t *testing.T) {
	t.Parallel()
	left := func(s fleet.TaskState, seen string) fleet.TaskLeft { return fleet.TaskLeft{State: s, Seen: seen} }
	for name, tt := range map[string]struct {
		task   fleet.Task
		memory fleet.TaskMemory
		want   fleet.Task
	}{
		"closed": {
			fleet.Task{State: "todo", Seen: "1 todo"},
			fleet.TaskMemory{TaskLeft: left("done", "1 todo")},
			fleet.Task{State: "done", Seen: "1 todo", Listed: "todo"},
		},
		"changed since": {
			fleet.Task{State: "backlog", Seen: "2 backlog"},
			fleet.TaskMemory{TaskLeft: left("done", "1 todo"), Sessions: 9, Failures: 9},
			fleet.Task{State: "backlog", Seen: "2 backlog"},
		},
		"not seen yet": {
			fleet.Task{State: "todo", Seen: "b"},
			fleet.TaskMemory{TaskLeft: left("done", "")},
			fleet.Task{State: "done", Seen: "b", Listed: "todo"},
		},
		"changed, and its tracker not told": {
			fleet.Task{State: "active", Seen: "b"},
			fleet.TaskMemory{TaskLeft: fleet.TaskLeft{State: "done", Seen: "a", Source: "gh", Owed: fleet.CallDone}},
			fleet.Task{State: "done", Seen: "b", Listed: "active"},
		},
		"failed at": {
			fleet.Task{State: "active"},
			fleet.TaskMemory{TaskLeft: left("active", ""), Failures: 3, Sessions: 3, Reason: "it hung"},
			fleet.Task{State: "active", WaitingFor: "a person: 3 sessions failed at it, last: it hung"},
		},
		"failed at twice, and begun": {
			fleet.Task{State: "active"},
			fleet.TaskMemory{TaskLeft: left("active", ""), Failures: 2, Sessions: 2},
			fleet.Task{State: "active"},
		},
		"left twice": {
			fleet.Task{State: "todo"},
			fleet.TaskMemory{TaskLeft: left("todo", ""), Sessions: 2, Reason: "no commits"},
			fleet.Task{State: "todo", WaitingFor: "a person: 2 sessions worked on it and left it todo, last: no commits"},
		},
		"left once": {
			fleet.Task{State: "todo"},
			fleet.TaskMemory{TaskLeft: left("todo", ""), Sessions: 1},
			fleet.Task{State: "todo"},
		},
		"left often, and begun": {
			fleet.Task{State: "active"},
			fleet.TaskMemory{TaskLeft: left("active", ""), Sessions: 9},
			fleet.Task{State: "active"},
		},
		"waits already": {
			fleet.Task{State: "todo", WaitingFor: "the bank"},
			fleet.TaskMemory{TaskLeft: left("todo", ""), Sessions: 2},
			fleet.Task{State: "todo", WaitingFor: "the bank"},
		},
		"another": {
			fleet.Task{State: "todo"},
			fleet.TaskMemory{Task: "another", TaskLeft: left("done", "")},
			fleet.Task{State: "todo"},
		},
		"in progress elsewhere": {
			fleet.Task{State: "active", Source: "bd", AssignedTo: "bea"},
			fleet.TaskMemory{Task: "another"},
			fleet.Task{State: "active", Source: "bd", AssignedTo: "bea", WaitingFor: "bea, who has it in progress"},
		},
		"in progress by a session": {
			fleet.Task{State: "active", Source: "bd", AssignedTo: "bea"},
			fleet.TaskMemory{TaskLeft: left("active", "")},
			fleet.Task{State: "active", Source: "bd", AssignedTo: "bea"},
		},
		"a file that names an agent": {
			fleet.Task{State: "active", AssignedTo: "bea"},
			fleet.TaskMemory{Task: "another"},
			fleet.Task{State: "active", AssignedTo: "bea"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := []fleet.Task{tt.task}
			fleet.Recall(got, []fleet.TaskMemory{tt.memory})
			if tt.memory.Task == "" && tt.memory.Holds(tt.task) {
				tt.want.Memory = &tt.memory
			}
			must.Equal(t, "task", got[0], tt.want)
		})
	}
}

// TestEdited has a person change a task's text: what its sessions left it in stands, and what they brought it counts no more.
func TestEdited(t *testing.T) {
	t.Parallel()
	m := fleet.TaskMemory{
		Run: "r1", TaskLeft: fleet.TaskLeft{State: "active", Seen: "1 todo"}, Sessions: 2, Failures: 3, Fruitless: 2, Taken: 5, Rests: 9, Reason: "it hung",
	}
	tasks := []fleet.Task{{State: "todo", Seen: "2 todo"}}
	fleet.Recall(tasks, []fleet.TaskMemory{m})
	want := fleet.Task{State: "active", Listed: "todo", Seen: "2 todo", Memory: &fleet.TaskMemory{Run: "r1", TaskLeft: m.TaskLeft, Taken: 5}}
	must.Equal(t, "task", tasks[0], want)
}

func TestMemoryFrom(t *testing.T) {
	t.Parallel()
	listed := fleet.Task{State: "done", Listed: "todo"}
	for want, m := range map[string]fleet.TaskMemory{
		"closed by run r1; its file still says todo": {
			Run: "r1", TaskLeft: fleet.TaskLeft{State: "done"},
		},
		"left ready_for_review by run r1; gh still says todo, and that counts again once it shows a change": {
			Run: "r1", TaskLeft: fleet.TaskLeft{State: "ready_for_review", Source: "gh"},
		},
		"closed by hand; gh still says todo until the next fire updates it": {
			TaskLeft: fleet.TaskLeft{State: "cancelled", Source: "gh", Owed: fleet.CallDone},
		},
	} {
		if got := m.From(listed); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAfter has sessions end one after the other at a task: how many worked on it, for how
// long it rests, and whether it leads.
func TestAfter(t *testing.T) {
	t.Parallel()
	graded := 0.0
	ends := map[byte]fleet.Verdict{
		'p': {Outcome: fleet.Productive, Grade: &graded},
		'n': {Outcome: fleet.Noop},
		'o': {Outcome: fleet.Nothing},
		'd': {Outcome: fleet.Nothing, TaskState: fleet.StateDone},
		'f': {Outcome: fleet.Failed, Grade: &graded},
		't': {Outcome: fleet.Timeout, Grade: &graded},
		'c': {Outcome: fleet.Cancelled},
		'q': {Outcome: fleet.Quota},
		'a': {Outcome: fleet.Abandoned},
	}
	for _, tt := range []struct {
		ends  string // capital: the session gave the task another state
		rests fleet.Round
		want  fleet.TaskMemory // except for that
		leads bool
	}{
		{"", 0, fleet.TaskMemory{}, true},
		{"n", 2, fleet.TaskMemory{Sessions: 1, Fruitless: 1, Taken: 1}, true},
		{"o", 2, fleet.TaskMemory{Sessions: 1, Fruitless: 1, Taken: 1}, true},
		{"nn", 4, fleet.TaskMemory{Sessions: 2, Fruitless: 2, Taken: 2}, true},
		{"nno", 8, fleet.TaskMemory{Sessions: 3, Fruitless: 3, Taken: 3}, false},
		{"nnnnnnn", 64, fleet.TaskMemory{Sessions: 7, Fruitless: 7, Taken: 7}, false},
		{"N", 2, fleet.TaskMemory{Fruitless: 1, Taken: 1}, true},
		{"nnnp", 0, fleet.TaskMemory{Sessions: 4, Taken: 4}, false},
		{"nnnD", 0, fleet.TaskMemory{Taken: 4}, false},
		{"nnf", 0, fleet.TaskMemory{Sessions: 3, Fruitless: 3, Taken: 3, Failures: 1}, false},
		{"nnt", 0, fleet.TaskMemory{Sessions: 3, Fruitless: 3, Taken: 3, Failures: 1}, false},
		{"nfn", 8, fleet.TaskMemory{Sessions: 3, Fruitless: 3, Taken: 3, Failures: 1}, false},
		{"ppppppppp", 0, fleet.TaskMemory{Sessions: 9, Taken: 9}, false},
		{"nc", 1, fleet.TaskMemory{Sessions: 2, Fruitless: 1, Taken: 2}, true},
		{"nqa", 0, fleet.TaskMemory{Sessions: 1, Fruitless: 1, Taken: 1, Failures: 1}, true},
	} {
		m, now := fleet.TaskMemory{}, fleet.Round(10)
		for _, end := range []byte(tt.ends) {
			now++
			v := ends[end|0x20]
			worked := v.Outcome != fleet.Quota && v.Outcome != fleet.Abandoned
			m = m.After(fleet.Run{Verdict: v, Left: fleet.TaskLeft{Worked: worked, Changed: end < 'a'}}, now)
		}
		if got := m.Rest(now); got != int(tt.rests) {
			t.Errorf("%s: rests for %d fires, want %d", tt.ends, got, tt.rests)
		}
		if leads := (&fleet.Task{State: fleet.StateActive, Memory: &m}).Leads(); leads != tt.leads {
			t.Errorf("%s: leads: %v, want %v", tt.ends, leads, tt.leads)
		}
		m.Rests = 0
		must.Equal(t, tt.ends, m, tt.want)
	}
}
