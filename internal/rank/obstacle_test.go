package rank

import (
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestAllObstacles has a category with everything in its way; the reason why a ranking
// leaves it out is the first of these.
func TestAllObstacles(t *testing.T) {
	t.Parallel()
	f := facts("code", forbidden, paused("holidays"), inFlight("0r0"), rests(time.Minute), noops(1), func(f *Facts) {
		f.Elsewhere, f.NotForHost, f.Gate = "night", "its hosts are gpu-*, and this is cpu-1", Obstacle{Kind: fleet.HinderedByAgent, Reason: "no agent"}
	})
	s := Situation{Queue: queue([]fleet.Task{testTask("a", requires("gone"))}), Facts: []Facts{facts("docs"), f}}
	want := []Obstacle{
		{Kind: fleet.HinderedByPool, Reason: "of pool night"},
		{Kind: fleet.HinderedByHost, Reason: "not for this host: its hosts are gpu-*, and this is cpu-1"},
		{Kind: fleet.HinderedByList, Reason: ReasonNotAllowed},
		{Kind: fleet.HinderedByPause, Reason: "paused: holidays"},
		{Kind: fleet.HinderedByAgent, Reason: "no agent"},
		{Kind: fleet.HinderedByLane, Reason: "lane busy: run 0r0"},
		{Kind: fleet.HinderedByRest, Reason: "cooldown until 2026-06-26T12:01:00Z", Until: midday().Add(time.Minute)},
		{Kind: fleet.HinderedByTasks, Reason: ReasonNoTask},
		{Kind: fleet.HinderedByBackoff, Reason: "backs off for 1 more fire of its pool, or until a task changes: its sessions brought nothing, once"},
	}
	must.Equal(t, "obstacles", s.Obstacles("code"), want)
	candidates, _ := s.Assess()
	if got := candidates[1].Out; got != want[0].Reason {
		t.Errorf("got %q, want the first reason %q", got, want[0].Reason)
	}
	if got := s.Obstacles("nosuch"); got != nil {
		t.Errorf("got %v, want none for a category that is not there", got)
	}
}

// TestClaimsAreOneObstacle distinguishes claimed tasks and lanes from none.
func TestClaimsAreOneObstacle(t *testing.T) {
	t.Parallel()
	s := Situation{
		Queue: queue([]fleet.Task{testTask("a")}, heldBy("alice", "a", fleet.LaneKey("free", 1))...),
		Facts: []Facts{facts("code"), facts("free", selfDirected)},
	}
	for c, want := range map[fleet.Category][]Obstacle{
		"code": {{Kind: fleet.HinderedByClaim, Reason: ReasonAllClaimed}},
		"free": {{Kind: fleet.HinderedByClaim, Reason: ClaimBlocked}},
	} {
		must.Equal(t, string(c), s.Obstacles(c), want)
	}
}

// TestAllTaskObstacles has a task with everything in its way, and one on a cycle that also
// needs something else.
func TestAllTaskObstacles(t *testing.T) {
	t.Parallel()
	day := midday().AddDate(0, 0, 2)
	s := queue([]fleet.Task{
		testTask("a", requires("gone", "done", "open", "https://x.org/1"), inVain(2, 8), func(t *fleet.Task) { t.WaitingFor, t.Wait = "the review", day }),
		testTask("done", inState(fleet.StateDone)), testTask("open"),
		testTask("b", requires("open", "c", "gone")), testTask("c", requires("b")),
	})
	tests := []struct {
		task int
		want []Obstacle
	}{
		{0, []Obstacle{
			{Kind: fleet.HinderedByWaiting, Reason: "waiting for the review"},
			{Kind: fleet.HinderedByDate, Reason: "waits until 2026-06-28", Until: day},
			{Kind: fleet.HinderedByNeed, Reason: `requires "gone", which does not exist`, On: "gone"},
			{Kind: fleet.HinderedByNeed, Reason: `requires "open", which is todo`, On: "open"},
			{Kind: fleet.HinderedByNeed, Reason: "requires https://x.org/1: remove the URL once it is settled", On: "https://x.org/1"},
			{Kind: fleet.HinderedByEmpty, Reason: "rests for 2 more fires of its pool: its last 2 sessions brought nothing"},
		}},
		{2, nil},
		{3, []Obstacle{
			{Kind: fleet.HinderedByNeed, Reason: "requires itself: b → c → b", On: "c"},
			{Kind: fleet.HinderedByNeed, Reason: `requires "open", which is todo`, On: "open"},
			{Kind: fleet.HinderedByNeed, Reason: `requires "gone", which does not exist`, On: "gone"},
		}},
	}
	for _, tt := range tests {
		task := &s.Tasks[tt.task]
		must.Equal(t, string(task.ID), s.TaskObstacles(task), tt.want)
	}
}

// TestAhead names every criterion by which one task comes before another.
func TestAhead(t *testing.T) {
	t.Parallel()
	created := func(day int) func(*fleet.Task) {
		return func(t *fleet.Task) { t.Created = midday().AddDate(0, 0, day) }
	}
	high := func(t *fleet.Task) { t.Priority = fleet.PriorityHigh }
	low := func(t *fleet.Task) { t.Priority = fleet.PriorityLow }
	q := queue([]fleet.Task{
		testTask("m", created(0)),
		testTask("begun", inState(fleet.StateActive)),
		testTask("needed"), testTask("needy", requires("needed")),
		testTask("urgent", high, created(9)),
		testTask("patient", low, created(-15)),
		testTask("older", created(-1)),
		testTask("l", created(0)), testTask("n", created(0)), testTask("undated"),
		testTask("elsewhere", inCategory("docs"), inState(fleet.StateActive)),
		testTask("held", inState(fleet.StateActive)),
		testTask("blocked", requires("gone"), high),
		testTask("tried", created(-3), leftOpen), testTask("vain", created(-4), inState(fleet.StateActive), inVain(3, 0)),
		testTask("overlapping", created(-5)),
	}, heldBy("alice", "held")...)
	q.Overlaps = map[fleet.TaskID]fleet.Overlap{"overlapping": {Why: "run x changes y"}}
	want := []Ahead{
		{"begun", "it is active, this one is todo"},
		{"patient", "its priority is low, which counts as high for the time that it has waited; this one's is medium"},
		{"urgent", "its priority is high; this one's is medium"},
		{"needed", "more open tasks wait for it: 1, and 0 for this one"},
		{"older", "it is from 2026-06-25, this one from 2026-06-26"},
		{"l", "its name comes first, and they are equal otherwise"},
	}
	must.Equal(t, "ahead of m", q.Ahead(&q.Tasks[0]), want)
	if got := q.Ahead(&q.Tasks[1]); got != nil {
		t.Errorf("got %v ahead of what is begun, want nothing", got)
	}
	for _, tt := range []struct {
		task  int
		ahead fleet.TaskID
		want  string
	}{
		{9, "n", "it has a date, this one has none"},
		{13, "undated", "sessions have worked on this one and left it open"},
		{14, "l", "this one is active, and has had 3 sessions"},
		{13, "vain", "it is from 2026-06-22, this one from 2026-06-23"},
		{15, "m", "run x changes y, which this one is to change, too"},
		{14, "begun", "it is active, and this one has had 3 sessions"},
	} {
		list := q.Ahead(&q.Tasks[tt.task])
		if !slices.Contains(list, Ahead{tt.ahead, tt.want}) {
			t.Errorf("%s: got %+v, want %s, as %s", q.Tasks[tt.task].ID, list, tt.ahead, tt.want)
		}
	}
}
