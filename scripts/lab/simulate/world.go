package simulate

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"

	"stint/internal/agent/grade"
	"stint/internal/fleet"
	"stint/internal/rank"
)

// world has the facts that no policy can change: the true means, and the categories that are awake and have
// work. It depends on seed and run alone, so that all policies meet the same.
type world struct {
	scenario *Scenario
	key      uint64
	steps    []steps // per category
	deal     *rand.Rand
	mean     []float64 // true means, before depletion
	begin    []float64 // where in a cycle each begins, in [0,1)
	awake    []bool
	work     []bool
	session  *rand.PCG
	chance   *rand.Rand // of session
}

// steps are one category's generators, one for each thing that moves.
type steps struct{ mean, awake, work *rand.Rand }

func newWorld(s *Scenario, seed uint64, run int) *world {
	n := len(s.Categories)
	pcg := &rand.PCG{}
	w := &world{
		scenario: s, key: keyOf(seed, run, "session"), steps: make([]steps, n), deal: generator(seed, run, "deal"),
		mean: make([]float64, n), begin: make([]float64, n), awake: make([]bool, n), work: make([]bool, n), session: pcg, chance: rand.New(pcg),
	}
	for i, c := range s.Categories {
		w.mean[i], w.awake[i], w.work[i] = c.Mean, true, true
		w.steps[i] = steps{
			mean:  generator(seed, run, "mean "+string(c.Name)),
			awake: generator(seed, run, "awake "+string(c.Name)),
			work:  generator(seed, run, "work "+string(c.Name)),
		}
		w.begin[i] = w.steps[i].mean.Float64()
	}
	return w
}

// keyOf mixes what a random number is for with the seed.
func keyOf(seed uint64, run int, what string) uint64 {
	return rank.Key(seed^rank.Key(uint64(run), "run"), what)
}

func generator(seed uint64, run int, what string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, keyOf(seed, run, what)))
}

// move goes on to a fire; they are counted from 1.
func (w *world) move(fire int) {
	s := w.scenario
	if s.Change.Kind == Together {
		for i, c := range s.Categories {
			w.mean[i] = c.Mean + s.Change.Swing*float64(1-fire/s.Change.Every%2*2)
		}
	}
	if s.Change.Kind == Cycle {
		for i, c := range s.Categories {
			turn := w.begin[i] + float64(fire%s.Change.Every)/float64(s.Change.Every)
			w.mean[i] = min(1, max(0, c.Mean+s.Change.Swing*math.Sin(2*math.Pi*turn)))
		}
	}
	if fire == 1 {
		return
	}
	if s.Change.Kind == Permute && (fire-1)%s.Change.Every == 0 {
		w.deal.Shuffle(len(w.mean), func(i, j int) { w.mean[i], w.mean[j] = w.mean[j], w.mean[i] })
	}
	for i, c := range s.Categories {
		if s.Change.Kind == Walk {
			step := s.Change.SD * w.steps[i].mean.NormFloat64()
			w.mean[i] = reflected(w.mean[i]+step, s.Change.Low, s.Change.High)
		}
		w.awake[i] = s.Availability.next(w.awake[i], w.steps[i].awake)
		w.work[i] = c.Supply.next(w.work[i], w.steps[i].work)
	}
}

func (c *Chain) next(on bool, rng *rand.Rand) bool {
	switch {
	case c == nil:
		return true
	case on:
		return rng.Float64() >= c.Sleep
	default:
		return rng.Float64() < c.Wake
	}
}

// reflected folds x into [low,high], as two mirrors would.
func reflected(x, low, high float64) float64 {
	width := high - low
	x = math.Mod(math.Abs(x-low), 2*width)
	return low + min(x, 2*width-x)
}

// ending has the end of a session.
type ending struct {
	length  int // in fires, at least 1
	verdict fleet.Verdict
	worth   float64      // the expected grade
	lessons map[int]bool // that matched; true: it got it
	final   *float64     // the grade after what became of its work; nil: that is the grade
	known   int          // fires after its end when that is known
}

// end decides what becomes of a session that is started now, from the true mean of now. Its
// draws depend on the fire, the category and how many sessions of it came before alone.
func (w *world) end(fire, category, before int, mean float64) ending {
	s, c := w.scenario, &w.scenario.Categories[category]
	w.session.Seed(w.key, rank.Key(uint64(fire)+uint64(before)<<32, string(c.Name)))
	missing, length := w.chance.Float64(), w.chance.NormFloat64()
	for _, o := range s.Outages {
		if o.hits(*c, fire) {
			return ending{length: 1, verdict: o.verdict()}
		}
	}
	if !w.work[category] {
		return ending{length: 1, verdict: fleet.Verdict{Outcome: s.Grades.empty(w.chance)}}
	}
	given, better := w.teach(fire, c.Name)
	mean = min(1, max(0, mean+better))
	e := ending{length: s.Sessions.length(length, cmp.Or(c.Longer, 1)), worth: mean, lessons: given, verdict: fleet.Verdict{Outcome: fleet.Productive}}
	if c.Lasting {
		e.worth *= float64(e.length)
	}
	if s.Fates != nil {
		e.known = s.Fates.become(&e.verdict, &e.final, mean, w.chance)
		return e
	}
	if g := s.Grades.draw(mean, w.chance); missing >= s.Grades.Missing {
		e.verdict = c.verdict(g)
	}
	return e
}

// become draws the grade at a session's end, the one after what became of its work, and when that is
// known.
func (f Fates) become(v *fleet.Verdict, final **float64, merged float64, rng *rand.Rand) (known int) {
	fate := fleet.ReviewOutcome{Kind: fleet.FateRejected}
	lean := -0.5
	if rng.Float64() < merged {
		fate.Kind, lean = fleet.FateMerged, 0.5
	}
	// Merged or not has a standard deviation of a half, where either is as likely.
	noise := math.Sqrt(1 - f.Correlation*f.Correlation)
	first := min(1, max(0, f.First+float64(f.SD*(float64(2*f.Correlation*lean)+float64(noise*rng.NormFloat64())))))
	v.Grade, *final = &first, new(grade.Final(first, []fleet.ReviewOutcome{fate}))
	return f.After + rng.IntN(f.Until-f.After+1)
}

// verdict is the one on a session whose true grade that is.
func (c *Category) verdict(worth float64) fleet.Verdict {
	said := fleet.Verdict{Outcome: fleet.Productive, Grade: &worth}
	if c.Report != nil {
		said.Grade = c.Report
	}
	if c.Witness == "" || c.Witness == Grader {
		return said
	}
	e := grade.Evidence{Exit: fleet.SessionExit{End: fleet.Exited}, Changes: &grade.Changes{}, Trusted: c.Witness == Trust}
	e.Exit.Result, _ = json.Marshal(grade.Result{Outcome: said.Outcome, Grade: said.Grade}) // numbers can be written
	if c.Witness == Changes {
		e.Commits, e.Changes.Commits, e.Changes.Files = 1, 1, 1
	}
	return grade.Judge(e)
}

// verdict is the one on a session that the outage meets.
func (o Outage) verdict() fleet.Verdict {
	e := grade.Evidence{Exit: fleet.SessionExit{End: fleet.Exited, Status: 1}, Transcript: &grade.Transcript{}}
	if o.Outcome == fleet.Unavailable {
		e.Transcript.Fault = &grade.Fault{Kind: fleet.FaultServer}
	}
	return grade.Judge(e)
}

// empty is the end of a session without work.
func (g Grades) empty(rng *rand.Rand) fleet.Outcome {
	if g.Nothing > 0 && rng.Float64() < g.Nothing {
		return fleet.Nothing
	}
	return fleet.Noop
}

// longest bounds a session, in fires: far more than a scenario has.
const longest = 1 << 40

// length returns the number of fires that a session takes, by a standard normal variate.
func (s *Sessions) length(normal, longer float64) int {
	if s == nil {
		return 1
	}
	return int(min(longest, max(1, math.Round(longer*s.Median*math.Exp(s.Sigma*normal)))))
}

func (g Grades) draw(mean float64, rng *rand.Rand) float64 {
	switch {
	case mean <= 0 || mean >= 1:
		return mean
	case g.Noise == Graded:
		return rank.Beta{A: mean * g.Concentration, B: (1 - mean) * g.Concentration}.Draw(rng)
	case rng.Float64() < mean:
		return 1
	default:
		return 0
	}
}
