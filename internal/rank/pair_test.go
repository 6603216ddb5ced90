package rank

import (
	"testing"

	"stint/internal/fleet"
)

// TestOthersIsTheMeanOfSessions has agents with unequal numbers of sessions.
func TestOthersIsTheMeanOfSessions(t *testing.T) {
	t.Parallel()
	var often, once Pair
	often.Use[USD], once.Use[USD] = Mean{W: 9, S: 9}, Mean{W: 1, S: 11}
	pairs := map[fleet.Category]Pairs{"code": {"claude": often, "gptme": Pair{Use: [resources]Mean{USD: {W: 1, S: 99}}}}, "docs": {"codex": once}}
	if u := Others(pairs, "gptme"); u.USD == nil || *u.USD != 2 || u.Tokens != nil {
		t.Errorf("got %+v, want 2 USD and no tokens", u)
	}
}

// TestLateGradeOfAPair has a grade that comes a half-life late: it has the weight that it would have by then.
func TestLateGradeOfAPair(t *testing.T) {
	t.Parallel()
	s := Defaults()
	began, now := fleet.Round(7), fleet.Round(7+s.HalfLife)
	late := s.LearnPair(Pair{}, now, Mark{Round: began}, 0.8)
	if onTime := s.pairAt(s.LearnPair(Pair{}, began, Mark{Round: began}, 0.8), now); late != onTime || late.W != 0.5 {
		t.Errorf("got %+v late and %+v on time, want the weight 0.5", late, onTime)
	}
}

// TestAgentsAreChosenByDraws has agents without grades stay in their order, a better one come first, and one that costs more last.
func TestAgentsAreChosenByDraws(t *testing.T) {
	t.Parallel()
	s := Defaults()
	var a Arm
	pairs := Pairs{}
	first := func(rates Rates) map[string]int {
		n := map[string]int{}
		for fire := range fleet.FireID(400) {
			l := NewScorer(s, 1, fire+1, []*Arm{&a})
			l.Rates = rates
			n[l.Agents("code", l.Score("code", &a, 0, 0), &a, pairs, []string{"new", "codex", "claude"})[0].Agent]++
		}
		return n
	}
	if got := first(Rates{}); got["new"] != 400 {
		t.Errorf("without grades: got %v, want the order of the configuration", got)
	}
	for range 20 {
		for agent, grade := range map[string]float64{"codex": 0.7, "claude": 0.5} {
			s.Learn(&a, s.Prior([]*Arm{&a}), Graded{Grade: grade})
			pairs[agent] = s.LearnPair(pairs[agent], 0, Mark{}, grade)
		}
	}
	if got := first(Rates{}); got["codex"] < 300 || got["new"] == 0 || got["claude"] > 20 {
		t.Errorf("got %v, want the better one, and the new one now and then", got)
	}
	dear := pairs["codex"]
	for range 20 {
		dear.Use[USD].add(5, recently)
		a.Use[USD].add(2, recently)
	}
	pairs["codex"] = dear
	if got := first(Rates{USD: {Pressure: 1, Mean: 2}}); got["codex"] > 20 {
		t.Errorf("while the budget binds: got %v, want that the dear one waits", got)
	}
	// An alarm has all begin anew.
	st := State{Pairs: map[fleet.Category]Pairs{"code": pairs}}
	before := st.Clone()
	st.forgetPairs("code")
	if st.Pairs["code"]["codex"].W != 0 || st.Pairs["code"]["codex"].Use != dear.Use || before.Pairs["code"]["codex"].W == 0 {
		t.Errorf("after an alarm: got %+v, and %+v before", st.Pairs, before.Pairs)
	}
}
