package rank

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func candidate(c fleet.Category, edits ...func(*Candidate)) Candidate {
	k := Candidate{Category: c, Share: 1}
	for _, edit := range edits {
		edit(&k)
	}
	return k
}

func out(reason string) func(*Candidate) { return func(c *Candidate) { c.Out = reason } }

func share(s float64) func(*Candidate) { return func(c *Candidate) { c.Share = s } }

func next(id fleet.TaskID, s fleet.TaskState) func(*Candidate) {
	return func(c *Candidate) { c.Tasks, c.Next = 1, &Next{ID: id, State: s} }
}

func surplus(sessions float64) func(*Candidate) {
	return func(c *Candidate) { c.Arm.Surplus = sessions }
}

func deficit(sessions float64) func(*Candidate) {
	return func(c *Candidate) { c.Arm.Deficit = sessions }
}

// inRound has all be in a round.
func inRound(now fleet.Round, list []Candidate) {
	for i := range list {
		list[i].Arm.Round = now
	}
}

// graded has a category bring these grades, one a session, in the first round.
func graded(grades ...float64) func(*Candidate) {
	return func(c *Candidate) {
		c.Arm.Round = 1
		s := Defaults()
		for _, g := range grades {
			s.Learn(&c.Arm, s.Prior([]*Arm{&c.Arm}), Graded{Round: 1, Grade: g})
		}
	}
}

// testInput ranks for two workers at the first fire.
func testInput(candidates ...Candidate) Input {
	return Input{
		Settings: Defaults(), Seed: 1, Fire: 1, At: midday(), Workers: 2, Free: 9, Candidates: candidates,
	}
}

func categories(scores []Score) (list []fleet.Category) {
	for _, c := range scores {
		list = append(list, c.Category)
	}
	return list
}

// sameScores compares rankings with what is kept to itself.
func sameScores() cmp.Option { return cmp.AllowUnexported(Score{}, Prior{}) }

// TestRankKeepsItsPromises holds any ranking against what callers rely on: which are
// picked, that a score is the sum of its parts, and that the order is that of the scores.
func TestRankKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		s := Rank(in)
		if len(s.Scores) != len(in.Candidates) {
			t.Fatalf("got %d scores, want one for each of %d candidates", len(s.Scores), len(in.Candidates))
		}
		in0 := 0
		for _, c := range in.Candidates {
			if c.Out == "" {
				in0++
			}
		}
		ranked := s.Ranked()
		if want := max(0, min(in.Workers, in.Free, in0)); s.Picks != want || len(ranked) != in0 {
			t.Errorf("got %d picks of %d, want %d of %d", s.Picks, len(ranked), want, in0)
		}
		due := 0.0
		for i, c := range s.Scores {
			if c.In != (c.Out == "") || c.In != (i < in0) || c.Reason() == "" {
				t.Errorf("%s: got in %v at %d, %q, want in what is not out, first, and a reason", c.Category, c.In, i, c.Reason())
			}
			if sum := c.TS + c.Components.LOO + c.Season + c.Plateau + c.Div; math.Abs(c.Value-sum) > 1e-12 {
				t.Errorf("%s: got score %v, want the sum %v", c.Category, c.Value, sum)
			}
			if !(0 <= c.Due && c.Due <= 1) || !c.In && c.Due != 0 {
				t.Errorf("%s: got %v sessions due, want 0 to 1 and none when out", c.Category, c.Due)
			}
			if c.Leads && i > 0 {
				t.Errorf("%s: got it leading at %d, want at 0", c.Category, i)
			}
			due += c.Due
			followsLeader := i == 1 && s.Scores[0].Leads
			if i > 0 && c.In && !followsLeader && s.Scores[i-1].Value < c.Value {
				t.Errorf("got %s after %s, want best first", c.Category, s.Scores[i-1].Category)
			}
			if i > in0 && s.Scores[i-1].Category >= c.Category {
				t.Errorf("got %s after %s, want what is out by name", c.Category, s.Scores[i-1].Category)
			}
		}
		if math.Abs(due-float64(s.Picks)) > 1e-9 {
			t.Errorf("got %v sessions due, want %d", due, s.Picks)
		}
	})
}

// TestReplayIsExact reads an input again that was written down: the ranking is the same to
// the last bit.
func TestReplayIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		data := must.Get(json.Marshal(in))(t)
		var again Input
		must.Do(t, json.Unmarshal(data, &again))
		got, want := Rank(again), Rank(in)
		must.Equal(t, "ranked from JSON", got, want, sameScores())
		must.Equal(t, "odds from JSON", got.Odds(20), want.Odds(20))
	})
}

// TestOrderOfCandidatesIsNothing shuffles the candidates: not the last bit of a score
// depends on their order, and the input is not reordered.
func TestOrderOfCandidatesIsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		want := Rank(in)
		shuffled := in
		shuffled.Candidates = rapid.Permutation(in.Candidates).Draw(t, "candidates")
		before := slices.Clone(shuffled.Candidates)
		must.Equal(t, "in another order", Rank(shuffled), want, sameScores())
		must.Equal(t, "candidates after ranking", shuffled.Candidates, before)
	})
}

// TestANewCategoryChangesNoScore adds a category without a record: every other score stays
// as it is.
func TestANewCategoryChangesNoScore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		before := map[fleet.Category]float64{}
		for _, c := range Rank(in).Scores {
			before[c.Category] = c.Value
		}
		name := rapid.SampledFrom([]fleet.Category{"aaa", "kkk", "zzz"}).Draw(t, "new")
		in.Candidates = append(slices.Clone(in.Candidates), candidate(name, share(7)))
		for _, c := range Rank(in).Scores {
			if want, known := before[c.Category]; known && c.Value != want {
				t.Errorf("%s: got %v beside a new category, want %v", c.Category, c.Value, want)
			}
		}
	})
}

// TestBeingOwedMoreNeverLosesAPick raises a deficit or lowers a surplus: no category that
// was started drops out.
func TestBeingOwedMoreNeverLosesAPick(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Candidates = slices.Clone(in.Candidates)
		s := Rank(in)
		if s.Picks == 0 {
			return
		}
		picked := s.Scores[rapid.IntRange(0, s.Picks-1).Draw(t, "who")].Category
		i := slices.IndexFunc(in.Candidates, func(c Candidate) bool { return c.Category == picked })
		in.Candidates[i].Arm.Deficit += rapid.Float64Range(0, 10).Draw(t, "more deficit")
		in.Candidates[i].Arm.Surplus -= rapid.Float64Range(0, in.Candidates[i].Arm.Surplus).Draw(t, "less surplus")
		after := Rank(in)
		if !slices.Contains(categories(after.Scores[:after.Picks]), picked) {
			t.Errorf("got %v picked, want %s among them as before", categories(after.Scores[:after.Picks]), picked)
		}
	})
}

// TestTiesAreDrawn has categories alike in everything: a settled order, but none that
// prefers a name for ever.
func TestTiesAreDrawn(t *testing.T) {
	t.Parallel()
	const fires = 3000
	first := map[fleet.Category]int{}
	for fire := range fleet.FireID(fires) {
		var alike []Score
		for _, c := range []fleet.Category{"a", "b", "c"} {
			k := candidate(c)
			alike = append(alike, Score{Candidate: &k, In: true, Value: 0.5, tie: Key(9^uint64(fire), string(c))})
		}
		backwards := slices.Clone(alike)
		slices.Reverse(backwards)
		slices.SortFunc(alike, compareScores)
		slices.SortFunc(backwards, compareScores)
		if diff := cmp.Diff(categories(backwards), categories(alike)); diff != "" {
			t.Fatalf("fire %d: sorted from the other end (-got +want):\n%s", fire, diff)
		}
		first[alike[0].Category]++
	}
	for c, n := range first {
		if math.Abs(float64(n)-fires/3.0) > 6*math.Sqrt(fires*2/9.0) {
			t.Errorf("got %s first %d times, want a third of %d", c, n, fires)
		}
	}
}

func TestTiers(t *testing.T) {
	t.Parallel()
	begun, todo := next("begun", fleet.StateActive), next("t", fleet.StateTodo)
	tests := []struct {
		name       string
		candidates []Candidate
		want       Tier
		first      fleet.Category // "" when any may be
	}{
		{"an active task", []Candidate{candidate("code", begun), candidate("docs", todo)}, TierActive, "code"},
		{"an active task that is out", []Candidate{candidate("code", begun, out("paused: by bob")), candidate("docs", todo)}, TierReady, "docs"},
		{"an active task over its cap", []Candidate{candidate("code", begun, surplus(20)), candidate("docs", todo)}, TierReady, "docs"},
		{"over its cap, and alone", []Candidate{candidate("code", begun, surplus(20))}, TierActive, "code"},
		{"a task to begin", []Candidate{candidate("code", todo), candidate("docs", out(ReasonNoTask))}, TierReady, "code"},
		{"no task", []Candidate{candidate("code", out(ReasonNoTask)), candidate("novelty")}, TierCategories, "novelty"},
		{"nothing at all", []Candidate{}, TierCategories, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(20) {
				in := testInput(tt.candidates...)
				in.Seed = seed
				s := Rank(in)
				if s.Tier != tt.want {
					t.Fatalf("seed %d: got tier %d, want %d", seed, s.Tier, tt.want)
				}
				if tt.first != "" && s.Ranked()[0].Category != tt.first {
					t.Fatalf("seed %d: got %s first, want %s", seed, s.Ranked()[0].Category, tt.first)
				}
			}
		})
	}
}

// TestNoCapNoSurplus has a surplus from the time of another setting: without a cap it
// keeps nobody from leading.
func TestNoCapNoSurplus(t *testing.T) {
	t.Parallel()
	in := testInput(candidate("code", next("begun", fleet.StateActive), surplus(20)), candidate("docs"))
	if in.Settings.Cap = 0; !Rank(in).Scores[0].Leads {
		t.Errorf("got %s first, want code to lead", Rank(in).Scores[0].Category)
	}
}

// TestTheBestBegunLeads has any number of begun tasks: the best category that has one,
// and is not over its cap, leads; the rest keep their order.
func TestTheBestBegunLeads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ranked := Rank(drawInput(t)).Ranked()
		want := slices.Clone(ranked)
		slices.SortFunc(want, func(a, b Score) int { return stdcmp.Compare(b.Value, a.Value) })
		lead := slices.IndexFunc(want, func(c Score) bool {
			return c.Next != nil && c.Next.State == fleet.StateActive && c.Arm.Surplus == 0
		})
		if lead >= 0 {
			best := want[lead]
			want = slices.Insert(slices.Delete(want, lead, lead+1), 0, best)
		}
		must.Equal(t, "ranking", categories(ranked), categories(want))
		if len(ranked) > 0 && ranked[0].Leads != (lead >= 0) {
			t.Errorf("got leads %v, want %v", ranked[0].Leads, lead >= 0)
		}
	})
}

// TestSharesDecideWhatIsDue has three categories of which one may claim a whole session.
func TestSharesDecideWhatIsDue(t *testing.T) {
	t.Parallel()
	in := testInput(candidate("a", share(8)), candidate("b", share(1)), candidate("c", share(1)), candidate("d", share(5), out("paused: by bob")))
	got := map[fleet.Category]float64{}
	for _, c := range Rank(in).Scores {
		got[c.Category] = c.Due
	}
	want := map[fleet.Category]float64{"a": 1, "b": 0.5, "c": 0.5, "d": 0}
	must.Equal(t, "due", got, want, cmpopts.EquateApprox(0, 1e-12))
}

// TestOddsSumToThePicks holds the odds of any ranking against what they are odds of.
func TestOddsSumToThePicks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Rank(drawInput(t))
		before := slices.Clone(s.Scores)
		odds, sum := s.Odds(rapid.IntRange(1, 40).Draw(t, "redraws")), 0.0
		for c, p := range odds {
			i := slices.IndexFunc(s.Ranked(), func(k Score) bool { return k.Category == c })
			if sum += p; i < 0 || !(0 < p && p <= 1+1e-9) {
				t.Errorf("%s: got odds %v, want those of one that is in", c, p)
			}
		}
		if math.Abs(sum-float64(s.Picks)) > 1e-9 {
			t.Errorf("got odds that sum to %v, want %d", sum, s.Picks)
		}
		leaders := 0.0 // of those that may lead, one does at every redraw
		for _, c := range s.Ranked() {
			if mayLead(c, s.Settings) {
				leaders += odds[c.Category]
			}
		}
		if s.Picks > 0 && s.Scores[0].Leads && leaders < 1-1e-9 {
			t.Errorf("got odds of %v for those that may lead, want 1 at least", leaders)
		}
		must.Equal(t, "scores after the odds", s.Scores, before, sameScores())
	})
}

// TestOddsAreFrequencies compares odds with how often other seeds really pick.
func TestOddsAreFrequencies(t *testing.T) {
	t.Parallel()
	const seeds = 4000
	in := testInput(
		candidate("a", graded(0.9, 0.8, 0.7)), candidate("b", graded(0.1, 0.4)), candidate("c", deficit(4)), candidate("d"),
		candidate("e", next("begun", fleet.StateActive)), candidate("f", out("paused: by bob")),
	)
	picked := map[fleet.Category]float64{}
	for seed := range uint64(seeds) {
		in.Seed = seed
		s := Rank(in)
		for _, c := range s.Scores[:s.Picks] {
			picked[c.Category] += 1.0 / seeds
		}
	}
	in.Seed = 1 << 40
	odds := Rank(in).Odds(seeds)
	for _, c := range in.Candidates {
		if got, want := odds[c.Category], picked[c.Category]; math.Abs(got-want) > 0.05 {
			t.Errorf("%s: got odds %v, want %v as picked", c.Category, got, want)
		}
	}
	if math.Abs(odds["e"]-1) > 1e-9 || odds["f"] != 0 {
		t.Errorf("got odds %v for what leads and %v for what is out, want 1 and 0", odds["e"], odds["f"])
	}
}

// TestNobodyStartsWithoutRoom has no workers, no slots, or fewer than nothing.
func TestNobodyStartsWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, room := range []struct{ workers, free int }{{0, 5}, {5, 0}, {-1, 5}, {5, -3}} {
		in := testInput(candidate("code"), candidate("docs"))
		in.Workers, in.Free = room.workers, room.free
		s := Rank(in)
		if s.Picks != 0 || len(s.Odds(9)) != 0 || len(s.Ranked()) != 2 {
			t.Errorf("%+v: got %d picks, odds %v of %d ranked, want none of 2", room, s.Picks, s.Odds(9), len(s.Ranked()))
		}
	}
}

func drawInput(t *rapid.T) Input {
	in := Input{
		Settings: drawRankSettings(t),
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Fire:     fleet.FireID(rapid.Int64Range(20, 60).Draw(t, "fire")),
		At:       midday(),
		Workers:  rapid.IntRange(0, 6).Draw(t, "workers"),
		Free:     rapid.IntRange(0, 6).Draw(t, "free"),
	}
	for _, name := range []fleet.Category{"code", "cross-repo", "docs", "novelty", "triage"}[:rapid.IntRange(0, 5).Draw(t, "categories")] {
		c := Candidate{
			Category: name,
			Out:      rapid.SampledFrom([]string{"", "", "", ReasonNoTask}).Draw(t, "out"),
			Share:    rapid.SampledFrom([]float64{0, 0.1, 1, 3}).Draw(t, "share"),
			Pending:  rapid.IntRange(0, 3).Draw(t, "pending"),
			LOO:      rapid.Float64Range(-0.2, 0.2).Draw(t, "loo"),
		}
		if rapid.Bool().Draw(t, "has a task") {
			c.Tasks = rapid.IntRange(1, 9).Draw(t, "tasks")
			c.Next = &Next{ID: fleet.TaskID(name + "-1"), State: rapid.SampledFrom(fleet.TaskStates()[:3]).Draw(t, "state")}
		}
		drawArm(t, in.Settings, &c.Arm)
		in.Candidates = append(in.Candidates, c)
	}
	return in
}

func drawRankSettings(t *rapid.T) Settings {
	s := Defaults()
	s.V = rapid.SampledFrom([]float64{1, 10, 30}).Draw(t, "v")
	s.Floor = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "floor")
	s.Depletion, s.Anchor, s.Dispersion = rapid.Bool().Draw(t, "depletion"), rapid.Bool().Draw(t, "anchor"), rapid.Bool().Draw(t, "dispersion")
	return s
}

func drawArm(t *rapid.T, s Settings, a *Arm) {
	for range rapid.IntRange(0, 5).Draw(t, "sessions") {
		a.Round += fleet.Round(rapid.IntRange(0, 4).Draw(t, "later"))
		a.Entitle(s, rapid.Float64Range(0, 1).Draw(t, "due"))
		load := a.Debit(a.Round)
		grade := rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(0, 1)).Draw(t, "grade")
		s.Learn(a, s.Prior([]*Arm{a}), Graded{Round: a.Round, Load: load, Turn: Turn{float64(a.Round%4) / 4}, Grade: grade})
	}
	a.Entitle(s, 0)
	if rapid.Bool().Draw(t, "within its cap") {
		a.Surplus = 0
	}
	if rapid.Bool().Draw(t, "nothing found") {
		a.Sleep(a.Round, midday())
	}
	a.Round += fleet.Round(rapid.IntRange(0, 40).Draw(t, "since"))
}

// TestSessionsByHandDoNotStarve has a person run one session of a category beside each of
// 300 fires. After that, fires start it again before long.
func TestSessionsByHandDoNotStarve(t *testing.T) {
	t.Parallel()
	const byHand, grade = 300, 0.6
	in, settings := testInput(), Defaults()
	for i := range 12 {
		in.Candidates = append(in.Candidates, candidate(fleet.Category(fmt.Sprintf("c%02d", i))))
	}
	work := func(c *Candidate, p Prior) {
		load := c.Arm.Debit(c.Arm.Round)
		settings.Learn(&c.Arm, p, Graded{Round: c.Arm.Round, Load: load, Grade: grade})
	}
	hand := &in.Candidates[0]
	for in.Workers = 3; ; in.Fire++ {
		in.Seed = uint64(in.Fire)
		inRound(fleet.Round(in.Fire), in.Candidates)
		if hand.Out = ""; in.Fire <= byHand {
			hand.Out = "its lane is in use"
			hand.Arm.Entitle(settings, 0)
		}
		s := Rank(in)
		for i, score := range s.Ranked() {
			c := &in.Candidates[slices.IndexFunc(in.Candidates, func(c Candidate) bool { return c.Category == score.Category })]
			c.Arm.Entitle(settings, score.Due)
			if i < s.Picks {
				work(c, s.Prior)
			}
			if i < s.Picks && c == hand {
				if waited := in.Fire - byHand; waited > 22 {
					t.Errorf("a fire starts it again after %d fires, want about 20", waited)
				}
				return
			}
		}
		if in.Fire <= byHand {
			work(hand, s.Prior)
		}
		if in.Fire > byHand+600 {
			t.Fatal("no fire starts it again in 600")
		}
	}
}

// TestMoves asks which fires are a round of their pool.
func TestMoves(t *testing.T) {
	t.Parallel()
	ready := facts("ready", selfDirected)
	asleep := func(edits ...func(*Facts)) Facts {
		return facts("asleep", append(edits, selfDirected, noops(1))...)
	}
	gated := func(f *Facts) { f.Gate = Obstacle{Kind: fleet.HinderedByAgent, Reason: "too many reviews wait"} }
	elsewhere := func(f *Facts) { f.Elsewhere = "other" }
	misplaced := func(f *Facts) { f.NotForHost = "its hosts are gpu-*, and this is cpu-1" }
	by := func(agents ...string) func(*Facts) { return func(f *Facts) { f.Agents = agents } }
	full := func(in *Input) { in.Seats = Seats{"busy": {All: 1}} }
	for _, tt := range []struct {
		name  string
		facts []Facts
		edit  func(*Input)
		want  bool
	}{
		{"one can start", []Facts{ready, facts("code")}, nil, true},
		{"all back off", []Facts{asleep()}, nil, true},
		{"one backs off, the others never start", []Facts{asleep(), facts("code"), facts("docs", paused("bob")), facts("ops", selfDirected, gated)}, nil, true},
		{"one backs off beside a busy agent's", []Facts{asleep(), facts("code", selfDirected, by("busy"))}, full, true},
		{"all tasks rest", []Facts{facts("weary")}, nil, true},
		{"all tasks rest, behind a gate", []Facts{facts("weary", gated)}, nil, false},
		{"no category", nil, nil, false},
		{"of another pool", []Facts{facts("code", selfDirected, elsewhere), asleep(elsewhere)}, nil, false},
		{"not for this host", []Facts{facts("code", selfDirected, misplaced), asleep(misplaced)}, nil, false},
		{"not for fires", []Facts{facts("code", selfDirected, forbidden), asleep(forbidden)}, nil, false},
		{"paused", []Facts{facts("code", selfDirected, paused("bob")), asleep(paused("bob"))}, nil, false},
		{"behind a gate", []Facts{facts("code", selfDirected, gated), asleep(gated)}, nil, false},
		{"in use", []Facts{facts("code", selfDirected, inFlight("0r1")), asleep(inFlight("0r2"))}, nil, false},
		{"cooling down", []Facts{facts("code", selfDirected, rests(time.Minute)), asleep(rests(time.Minute))}, nil, false},
		{"without work", []Facts{facts("code"), facts("docs", noops(1))}, nil, false},
		{"the machine is closed", []Facts{ready, asleep()}, func(in *Input) { in.Closed = "short of memory" }, false},
		{"no slot", []Facts{ready, asleep()}, func(in *Input) { in.Free = 0 }, false},
		{"no worker", []Facts{ready, asleep()}, func(in *Input) { in.Workers = 0 }, false},
		{"no slot of an agent", []Facts{facts("code", selfDirected, by("busy")), asleep(by("busy"))}, full, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Situation{Queue: queue([]fleet.Task{testTask("r", inCategory("weary"), inVain(1, 8))}), Facts: tt.facts}.rank(1).Input
			if tt.edit != nil {
				tt.edit(&in)
			}
			if got := Rank(in).Moves(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestChosen says why an agent comes before the next in at most some sixty characters.
func TestChosen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		order []AgentDraw
		want  string
	}{
		{nil, ""},
		{[]AgentDraw{{Agent: "claude"}}, ""},
		{[]AgentDraw{{Agent: "claude", Draw: 0.612}, {Agent: "codex", Draw: 0.484}, {Agent: "gptme"}}, "agent claude drew 0.61 here; codex 0.48"},
		{[]AgentDraw{{Agent: "claude", Draw: 0.5}, {Agent: "codex", Draw: 0.5}}, "agent claude: the first of equals"},
		{[]AgentDraw{{Agent: "codex", Draw: 0.6, Price: -0.02}, {Agent: "claude", Draw: 0.7, Price: -0.2}}, "agent codex drew 0.58 here, less its price; claude 0.50"},
	} {
		if got := Chosen(tt.order); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.order, got, tt.want)
		}
	}
}
