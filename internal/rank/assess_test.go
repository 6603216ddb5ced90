package rank

import (
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func facts(c fleet.Category, edits ...func(*Facts)) Facts {
	f := Facts{Category: c, Share: 1, Lanes: 1}
	for _, edit := range edits {
		edit(&f)
	}
	return f
}

func selfDirected(f *Facts) { f.SelfDirected = true }

func forbidden(f *Facts) { f.Barred = ReasonNotAllowed }

func inFlight(runs ...fleet.RunID) func(*Facts) { return func(f *Facts) { f.InFlight = runs } }

func lanes(n int) func(*Facts) { return func(f *Facts) { f.Lanes = n } }

func paused(by string) func(*Facts) { return func(f *Facts) { f.Paused.Reason = by } }

func rests(d time.Duration) func(*Facts) { return func(f *Facts) { f.Rests = midday().Add(d) } }

// noops has so many sessions find nothing in the fifth round, an hour before noon. It is the
// sixth.
func noops(n int) func(*Facts) {
	return func(f *Facts) {
		for range n {
			f.Arm.Sleep(5, midday().Add(-time.Hour))
		}
		f.Arm.Round = 6
	}
}

func modified(at time.Time) func(*fleet.Task) { return func(t *fleet.Task) { t.Modified = at } }

// armOf is the arm that candidates get by these edits.
func armOf(edits ...func(*Candidate)) Arm { return candidate("x", edits...).Arm }

// rank assesses a situation and ranks for two workers.
func (s Situation) rank(seed uint64) Selection {
	in := Input{Settings: Defaults(), Seed: seed, Fire: 7, At: s.At, Workers: 2, Free: 9}
	in.Candidates, in.Blocked = s.Assess()
	return Rank(in)
}

// TestReasons asks why the category code is out; "" stands for in.
func TestReasons(t *testing.T) {
	t.Parallel()
	task, blocked := testTask("a"), testTask("b", requires("gone"))
	one := []fleet.Task{task}
	lane := func(n int) []fleet.Claim { return heldBy("run:0r0", fleet.LaneKey("code", n)) }
	resting := []fleet.Task{testTask("r", inVain(2, 8)), testTask("b", inVain(1, 7))}
	tests := []struct {
		name  string
		facts Facts
		tasks []fleet.Task
		held  []fleet.Claim
		only  fleet.Category
		want  string
	}{
		{"a task", facts("code"), one, nil, "", ""},
		{"no task", facts("code"), nil, nil, "", "no workable task"},
		{"a blocked task", facts("code"), []fleet.Task{blocked}, nil, "", "no workable task"},
		{"a claimed task", facts("code"), []fleet.Task{task, blocked}, heldBy("bob", "a"), "", "every workable task is claimed"},
		{"a claimed task and a free one", facts("code"), []fleet.Task{task, testTask("c")}, heldBy("bob", "a"), "", ""},
		{"another's task", facts("docs"), one, heldBy("bob", "a"), "", "no workable task"},
		{"not allowed", facts("code", forbidden), one, nil, "", "not in the fanout's allow-list"},
		{"not allowed, asked for", facts("code", forbidden), one, nil, "code", ""},
		{"not asked for", facts("code"), one, nil, "docs", "not asked for"},
		{"paused", facts("code", paused("by bob")), one, nil, "", "paused: by bob"},
		{"paused, asked for", facts("code", paused("by bob")), one, nil, "code", "paused: by bob"},
		{"lane busy", facts("code", inFlight("0r1")), one, nil, "", "lane busy: run 0r1"},
		{"lane busy, asked for", facts("code", inFlight("0r1")), one, nil, "code", "lane busy: run 0r1"},
		{"one lane of two busy", facts("code", lanes(2), inFlight("0r1")), one, nil, "", ""},
		{"two lanes of two busy", facts("code", lanes(2), inFlight("0r1", "0r2")), one, nil, "", "lane busy: run 0r1"},
		{"cools down", facts("code", rests(time.Hour)), one, nil, "", "cooldown until 2026-06-26T13:00:00Z"},
		{"cooled down", facts("code", rests(0)), one, nil, "", ""},
		{"all rest", facts("code"), resting, nil, "", `every workable task rests, "b" for 1 more fire of its pool: its last session brought nothing`},
		{"all rest or are claimed", facts("code"), append(resting, testTask("a")), heldBy("bob@host", "a"), "", "every workable task is claimed"},
		{"all rest, and one is blocked", facts("code"), append(resting, testTask("a", requires("gone"))), nil, "", `every workable task rests, "b" for 1 more fire of its pool: its last session brought nothing`},
		{"self-directed, all rest", facts("code", selfDirected), resting, nil, "", ""},
		{"self-directed", facts("code", selfDirected), nil, nil, "", ""},
		{"self-directed, lane claimed", facts("code", selfDirected), nil, lane(1), "", "claim_blocked"},
		{"self-directed, lane claimed, a task", facts("code", selfDirected), one, lane(1), "", ""},
		{"self-directed, one lane of two claimed", facts("code", selfDirected, lanes(2)), nil, lane(1), "", ""},
		{"self-directed, both lanes claimed", facts("code", selfDirected, lanes(2)), nil, append(lane(1), lane(2)...), "", "claim_blocked"},
		{"found nothing", facts("code", noops(1)), one, nil, "", "backs off for 1 more fire of its pool, or until a task changes: its sessions brought nothing, once"},
		{"found nothing again", facts("code", noops(3)), one, nil, "", "backs off for 7 more fires of its pool, or until a task changes: its sessions brought nothing, 3 times"},
		{"found nothing many times", facts("code", noops(9)), one, nil, "", "backs off for 63 more fires of its pool, or until a task changes: its sessions brought nothing, 9 times"},
		{"found nothing, no task", facts("code", noops(1)), nil, nil, "", "no workable task"},
		{"found nothing, self-directed", facts("code", noops(1), selfDirected), nil, nil, "", "backs off for 1 more fire of its pool, or until a task changes: its sessions brought nothing, once"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Situation{Queue: queue(tt.tasks, tt.held...), Facts: []Facts{tt.facts}, Only: tt.only}
			candidates, _ := s.Assess()
			if got := candidates[0].Out; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if in := len(s.rank(1).Ranked()) == 1; in != (tt.want == "") {
				t.Errorf("got it ranked: %v, want %v", in, tt.want == "")
			}
		})
	}
}

// TestNewsEndsTheBackoff has a category that found nothing at eleven o'clock, and tasks
// that changed, or may be begun, before or after.
func TestNewsEndsACategorysBackoff(t *testing.T) {
	t.Parallel()
	before, after := midday().Add(-2*time.Hour), midday().Add(-time.Minute)
	wait := func(at time.Time) func(*fleet.Task) { return func(t *fleet.Task) { t.Wait = at } }
	tests := []struct {
		name  string
		tasks []fleet.Task
		round fleet.Round
		awake bool
	}{
		{"old tasks", []fleet.Task{testTask("a", modified(before))}, 6, false},
		{"old tasks, the last round of it", []fleet.Task{testTask("a", modified(before))}, 12, false},
		{"old tasks, the back-off is over", []fleet.Task{testTask("a", modified(before))}, 13, true},
		{"no date", []fleet.Task{testTask("a")}, 6, false},
		{"a changed task", []fleet.Task{testTask("a", modified(before)), testTask("b", modified(after))}, 6, true},
		{"a wait that ended", []fleet.Task{testTask("a", modified(before), wait(after))}, 6, true},
		{"a wait that ended long ago", []fleet.Task{testTask("a", modified(before), wait(before))}, 6, false},
		{"what it required is done", []fleet.Task{
			testTask("a", modified(before), requires("b")),
			testTask("b", modified(after), inState(fleet.StateDone), inCategory("docs")),
		}, 6, true},
		{"another's task", []fleet.Task{testTask("a", modified(before)), testTask("b", modified(after), inCategory("docs"))}, 6, false},
		{"a changed task that is blocked", []fleet.Task{testTask("a", modified(before)), testTask("b", modified(after), requires("gone"))}, 6, false},
		{"a changed task that is done", []fleet.Task{testTask("a", modified(before)), testTask("b", modified(after), inState(fleet.StateDone))}, 6, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Situation{Queue: queue(tt.tasks), Facts: []Facts{facts("code", noops(3))}}
			s.Facts[0].Arm.Round = tt.round
			candidates, _ := s.Assess()
			if got := candidates[0].Out; (got == "") != tt.awake {
				t.Errorf("got %q, want it awake: %v", got, tt.awake)
			}
		})
	}
}

// TestAssessCarriesWhatARankingNeeds has one category with everything, and what is
// blocked in order.
func TestAssessCarriesWhatARankingNeeds(t *testing.T) {
	t.Parallel()
	code := facts("code", lanes(3), inFlight("0r1", "0r2"))
	code.Share, code.LOO, code.Arm = 2.5, -0.1, armOf(graded(0.5), deficit(3))
	tasks := []fleet.Task{
		testTask("later", inState(fleet.StateBacklog)),
		testTask("first", inState(fleet.StateActive), func(t *fleet.Task) { t.NextAction = "go on" }),
		testTask("stuck", requires("gone")),
		testTask("taken", inCategory("docs")),
	}
	held := heldBy("bob@host", "taken")
	candidates, blocked := Situation{Queue: queue(tasks, held...), Facts: []Facts{code}}.Assess()
	want := []Candidate{{
		Category: "code", Share: 2.5, Pending: 2, Tasks: 2, LOO: -0.1, Arm: code.Arm,
		Next: &Next{ID: "first", State: fleet.StateActive, NextAction: "go on"},
	}}
	must.Equal(t, "candidates", candidates, want)
	wantBlocked := []BlockedTask{
		{ID: "stuck", Category: "code", Reason: `requires "gone", which does not exist`},
		{ID: "taken", Category: "docs", Reason: ClaimBlocked, Holder: "bob@host", ExpiresAt: &held[0].ExpiresAt},
	}
	must.Equal(t, "blocked", blocked, wantBlocked)
}

// TestPendingSessionsNarrowTheBelief has a session in flight count as if it brought the
// mean.
func TestPendingSessionsNarrowTheBelief(t *testing.T) {
	t.Parallel()
	s := Situation{Queue: queue(nil), Facts: []Facts{facts("code", selfDirected, lanes(2))}}
	alone := s.rank(1).Scores[0].Beta
	s.Facts[0].InFlight = []fleet.RunID{"0r1"}
	if got, want := s.rank(1).Scores[0].Beta, (Beta{A: 1.5, B: 1.5}); got != want || alone != (Beta{A: 1, B: 1}) {
		t.Errorf("got %+v beside a session, %+v alone, want %+v and 1, 1", got, alone, want)
	}
}
