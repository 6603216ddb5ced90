package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/scripts/lab/simulate"
)

// problem is one that compares several worlds, or measures more than their outcomes.
type problem struct {
	name, about string
	play        func(*bench) error
}

func problems() []problem {
	return []problem{
		{"reports", "twelve categories, of which the worst (0.05) reports 1.0 and leaves nothing", (*bench).reports},
		{"outage", "twelve categories, and 50 fires of everything failing after 300", (*bench).outage},
		{"failing", "the best of twelve categories begins to fail after 300 fires", (*bench).failing},
		{"pools", "twelve categories of which eight run out of work, beside a pool that fires every five minutes", (*bench).pools},
		{"by-hand", "300 fires beside one session by hand each", (*bench).byHand},
		{"empty", "eight of twelve categories have no work in 85 % of the time", (*bench).empty},
		{"respawn", "equal categories that are graded above the bar", (*bench).respawn},
		{"shares", "thirty categories with shares from 0.5 to 0.002", (*bench).shares},
		{"coverage", "the intervals of what is believed, every tenth fire", (*bench).coverage},
		{"weeks", "healthy weeks of 336 fires, as the report judges them", (*bench).weeks},
		{"costs", "twelve categories whose sessions cost 1 to 4, or 1 to 50, under a budget that binds", (*bench).costs},
		{"lengths", "twelve categories whose sessions take up to 20 times as long, in slots that are full", (*bench).lengths},
		{"agents", "three agents for each of twelve categories, and four for one of two", (*bench).agents},
		{"weekly", "twelve categories whose grades rise and fall by 0.2 over a week, at one fire an hour", (*bench).weekly},
		{"common", "50 days in which the grades of twelve categories rise and fall together every five days", (*bench).common},
		{"hosts", "ten machines that start one session each, beside one that starts ten, and means that change", (*bench).hosts},
	}
}

// rivals are stint's ranking and what others use, all within the same floors and caps.
func rivals() (list []simulate.Policy) {
	for _, p := range simulate.Policies() {
		switch {
		case p.Name == "stint":
		case p.Name == "mp-ts":
			d := rank.Defaults()
			p.Settings.V, p.Settings.Floor, p.Settings.Cap, p.Name = d.V, d.Floor, d.Cap, "fair "+p.Name
		case p.Kind.IsIndex():
			p.Fair, p.Name = true, "fair "+p.Name
		default:
			continue
		}
		list = append(list, p)
	}
	return list
}

func stint() []simulate.Policy { return rivals()[:1] }

// scenario is a published one, to be changed.
func scenario(name string) *simulate.Scenario { return simulate.Published()[name] }

// equal are so many categories alike.
func equal(n int, mean float64) *simulate.Scenario {
	s := &simulate.Scenario{Fires: 1000, Workers: 3, Grades: simulate.Grades{Noise: simulate.Graded, Concentration: 50}}
	for i := range n {
		s.Categories = append(s.Categories, simulate.Category{Name: fleet.Category(fmt.Sprintf("c%02d", i+1)), Mean: mean, Share: 1 / float64(n)})
	}
	return s
}

// measure plays a world by stint's ranking, and sums up what is seen of each fire by run.
func (b *bench) measure(name string, s *simulate.Scenario, of func(simulate.Moment) float64) ([]float64, error) {
	sums := make([]float64, b.runs)
	_, err := b.play(name, s, stint(), func(_ simulate.Policy, run int) func(simulate.Moment) {
		return func(m simulate.Moment) { sums[run] += of(m) }
	})
	return sums, err
}

// earned returns the worth of the sessions that fires started in a span.
func earned(first, last int) func(simulate.Moment) float64 {
	return func(m simulate.Moment) (sum float64) {
		if m.Fire < first || m.Fire > last {
			return 0
		}
		for _, x := range m.Sessions {
			sum += x.Worth
		}
		return sum
	}
}

// ratio is that of two means of paired runs.
func ratio(of, to []float64) simulate.Estimate {
	mean, parts := simulate.Mean(to).Mean, make([]float64, len(of))
	for i := range of {
		parts[i] = 1 + (of[i]-to[i])/mean
	}
	return simulate.Mean(parts)
}

func (b *bench) reports() error {
	for _, w := range []simulate.Witness{simulate.NoWitness, simulate.Changes, simulate.Trust} {
		s := scenario("twelve-uniform")
		worst := &s.Categories[len(s.Categories)-1]
		worst.Mean, worst.Report, worst.Witness = 0.05, new(1.0), w
		r, err := b.play(string(w), s, rivals(), nil)
		if err != nil {
			return err
		}
		b.table("it has the witness "+string(w), r)
		known := slices.IndexFunc(r, func(p simulate.Result) bool { return p.Policy.Kind == simulate.Known })
		if known < 0 {
			continue // stint plays alone
		}
		best := r[known].RewardPerFire.Mean
		loss := simulate.Estimate{Mean: 1 - r[0].RewardPerFire.Mean/best, CI95: r[0].RewardPerFire.CI95 / best}
		if w == simulate.NoWitness {
			b.judge("loss to known means", loss, atMost(0.05, 0.106))
		} else {
			b.tell("loss to known means", loss)
		}
	}
	return nil
}

const (
	before = 300 // fires before something happens
	down   = 50  // fires that it lasts
	good   = 4   // the first categories of the scenario twelve are its best
)

func (b *bench) outage() error {
	calm := scenario("twelve")
	calm.Fires = before + 2*down
	for i := range calm.Categories {
		calm.Categories[i].Agent = []string{"claude", "codex"}[i%2]
	}
	without, err := b.measure("calm", calm, earned(before+down+1, calm.Fires))
	if err != nil {
		return err
	}
	for _, o := range []simulate.Outage{{}, {Rest: true}, {Agent: "codex"}, {Agent: "codex", Rest: true}, {Outcome: fleet.Failed}, {Agent: "codex", Outcome: fleet.Failed}} {
		s := *calm
		o.First, o.Last, o.Outcome = before+1, before+down, cmp.Or(o.Outcome, fleet.Unavailable)
		s.Outages = []simulate.Outage{o}
		name := fmt.Sprintf("%s of %s", o.Outcome, cmp.Or(o.Agent, "all agents"))
		if o.Rest {
			name += ", which rest"
		}
		with := make([]float64, b.runs)
		beliefs, gain := make([]float64, b.runs), earned(before+down+1, s.Fires)
		r, err := b.play(name, &s, rivals(), func(p simulate.Policy, run int) func(simulate.Moment) {
			return func(m simulate.Moment) {
				if m.Belief == nil || p.Name != "stint" {
					return
				}
				with[run] += gain(m)
				for i := range good {
					switch m.Fire {
					case before:
						beliefs[run] -= m.Belief(i).Mean() / good
					case before + down:
						beliefs[run] += m.Belief(i).Mean() / good
					}
				}
			}
		})
		if err != nil {
			return err
		}
		b.table(name, r)
		reward, change := "reward of the 50 fires after, to that without", "mean belief of the good categories, change"
		b.judge(reward, ratio(with, without), atLeast(0.99, 1))
		b.judge(change, b.sample(name+": "+change, beliefs), aim{-0.05, 0.05, 0})
	}
	return nil
}

// failing counts the fires until the category is believed worse than half of what it was.
func (b *bench) failing() error {
	s := scenario("twelve")
	s.Fires = before + 4*down
	s.Outages = []simulate.Outage{{First: before + 1, Last: s.Fires, Category: s.Categories[0].Name, Outcome: fleet.Failed}}
	half := s.Categories[0].Mean / 2
	fires, err := b.measure("", s, func(m simulate.Moment) float64 {
		if m.Fire > before && m.Belief(0).Mean() >= half {
			return 1
		}
		return 0
	})
	if err == nil {
		const what = "fires until its belief is half of its mean"
		b.judge(what, b.sample(what, fires), atMost(30, 17))
	}
	return err
}

func (b *bench) pools() error {
	s := scenario("supply")
	s.Fires = 1000
	alone, err := b.play("alone", s, stint(), nil)
	if err != nil {
		return err
	}
	s.Pools = []simulate.Pool{{Name: "quick", PerFire: 6, Workers: 1}}
	s.Categories = append(s.Categories, simulate.Category{Name: "poll", Pool: "quick", Mean: 0.5, Share: 1})
	beside, err := b.play("beside the pool", s, rivals(), nil)
	if err != nil {
		return err
	}
	b.table("beside the pool", beside)
	with, without := beside[0], alone[0]
	b.judge("reward to that without", simulate.Estimate{
		Mean: with.RewardPerFire.Mean / without.RewardPerFire.Mean, CI95: with.RewardPerFire.CI95 / without.RewardPerFire.Mean,
	}, atLeast(0.99, 0.82))
	b.judge("noops more than without", simulate.Estimate{Mean: with.NoopRate.Mean - without.NoopRate.Mean, CI95: with.NoopRate.CI95}, atMost(0.01, 0.17))
	return nil
}

func (b *bench) byHand() error {
	s := equal(12, 0.6)
	s.Fires, s.Grades.Concentration, s.Categories[0].ByHand = before+6*down, 4, before
	waited := make([]float64, b.runs)
	_, err := b.play("", s, stint(), func(_ simulate.Policy, run int) func(simulate.Moment) {
		started := false
		return func(m simulate.Moment) {
			started = started || slices.ContainsFunc(m.Sessions, func(x simulate.Session) bool { return x.Category == 0 && x.Source == fleet.FromScores })
			if m.Fire > before && !started {
				waited[run]++
			}
		}
	})
	if err == nil {
		const what = "fires until the next start"
		b.judge(what, b.sample(what, waited), atMost(20, 19))
		b.tell("the most of all runs", simulate.Estimate{Mean: slices.Max(waited)})
	}
	return err
}

func (b *bench) empty() error {
	var rewards []float64
	for _, nothing := range []float64{0, 1} {
		s := scenario("supply")
		for _, c := range s.Categories {
			if c.Supply != nil {
				c.Supply.Sleep = 0.85 / 0.15 * c.Supply.Wake
			}
		}
		s.Grades.Nothing = nothing
		name := map[float64]string{0: "as noop", 1: "as nothing"}[nothing]
		r, err := b.play(name, s, rivals(), nil)
		if err != nil {
			return err
		}
		b.table(name, r)
		rewards = append(rewards, r[0].RewardPerFire.Mean)
	}
	b.judge("reward as nothing, to that as noop", simulate.Estimate{Mean: rewards[1] / rewards[0]}, atLeast(0.99, 0.49))
	return nil
}

func (b *bench) respawn() error {
	for _, n := range []int{6, 12} {
		s := equal(n, 0.8)
		s.Respawn = &simulate.Respawn{From: 0.65, Most: 3}
		extra := make([]float64, b.runs)
		name := fmt.Sprintf("%d categories", n)
		r, err := b.play(name, s, rivals(), func(p simulate.Policy, run int) func(simulate.Moment) {
			return func(m simulate.Moment) {
				for _, x := range m.Sessions {
					if p.Name == "stint" && x.Source == fleet.FromRespawn {
						extra[run] += 1 / float64(s.Fires)
					}
				}
			}
		})
		if err != nil {
			return err
		}
		b.table(name, r)
		b.judge("sessions more a fire", b.sample(name+": sessions more a fire", extra), atLeast(0.6, 0))
		b.judge("most sessions over entitlement", r[0].MaxRatio, atMost(1.81, 1))
	}
	return nil
}

func (b *bench) shares() error {
	const n, largest, least = 30, 0.5, 0.002
	s := equal(n, 0)
	s.Fires, s.Grades.Concentration = 2000, 4
	for i := range s.Categories {
		c := &s.Categories[i]
		c.Share = largest * math.Pow(least/largest, float64(i)/(n-1))
		c.Mean = 0.4 + 0.3*float64(i*7%n)/(n-1) // a share says nothing of the mean
	}
	r, err := b.play("", s, rivals(), nil)
	if err != nil {
		return err
	}
	b.table("within floors and caps", r)
	// Package bandit promises a surplus of seldom more than 3 sessions over any stretch: 12
	// in 200 fires for one that is entitled to 5, and a gap of about 8 entitled sessions.
	b.judge("most sessions over entitlement in 200 fires", r[0].WindowMax, atMost(2.4, 2.1))
	b.judge("longest gap, in entitled sessions", r[0].LongestGap, atMost(8, 7))
	return nil
}

// coverage counts how often the interval holds the true mean.
func (b *bench) coverage() error {
	for _, t := range []struct {
		name string
		aim  aim
	}{{"ten-graded", atLeast(0.9, 0.95)}, {"ten", atLeast(0.9, 0.95)}, {"drift-graded", aim{}}, {"drift", aim{}}} {
		s := scenario(t.name)
		counted := float64(s.Fires / 10 * len(s.Categories))
		held, err := b.measure(t.name, s, func(m simulate.Moment) (n float64) {
			for i := 0; m.Fire%10 == 0 && i < len(m.Means); i++ {
				if low, high := m.Belief(i).Interval(0.95); low <= m.Means[i] && m.Means[i] <= high {
					n += 1 / counted
				}
			}
			return n
		})
		switch {
		case err != nil:
			return err
		case t.aim == aim{}:
			b.tell(t.name+", where means move (package bandit assumes they do not)", b.sample(t.name, held))
		default:
			b.judge(t.name, b.sample(t.name, held), t.aim)
		}
	}
	return nil
}

// hosts has a round pass once in both worlds, so that machines remember for as long as one does, notice as
// many changes, and give all categories what they are owed. The regret is that beyond the price of
// floors and caps: a machine that fires after nine others finds the best lanes held.
func (b *bench) hosts() error {
	play := func(hosts, workers int) (ours, known simulate.Result, err error) {
		s := equal(60, 0)
		s.Fires, s.Workers, s.Hosts, s.Grades.Concentration = 600, workers, hosts, 5.2
		s.Change, s.Sessions = simulate.Change{Kind: simulate.Permute, Every: 200}, &simulate.Sessions{Median: 1, Lock: true}
		for i := range s.Categories {
			s.Categories[i].Mean = 0.15 + 0.7*float64(i)/59
		}
		both := slices.DeleteFunc(rivals(), func(p simulate.Policy) bool { return p.Name != "stint" && p.Kind != simulate.Known })
		r, err := b.play(fmt.Sprintf("%d of %d", hosts, workers), s, both, nil)
		if err != nil || b.kept != nil {
			return ours, known, err
		}
		b.table(fmt.Sprintf("%d of %d", hosts, workers), r)
		return r[0], r[1], nil
	}
	one, price, err := play(1, 10)
	if err != nil {
		return err
	}
	ten, priceOfTen, err := play(10, 1)
	if err != nil || b.kept != nil {
		return err
	}
	var apart, all float64
	for i, f := range one.Fractions {
		apart += math.Abs(f.Mean-ten.Fractions[i].Mean) / 2
		all += f.Mean
	}
	of := func(v float64) simulate.Estimate { return simulate.Estimate{Mean: v} }
	b.judge("regret of ten to that of one", of((ten.Regret.Mean-priceOfTen.Regret.Mean)/(one.Regret.Mean-price.Regret.Mean)), atMost(1.15, 1))
	b.judge("least n/E, difference", of(ten.MinRatio.Mean-one.MinRatio.Mean), aim{-0.02, 0.02, 0})
	b.judge("most n/E, difference", of(ten.MaxRatio.Mean-one.MaxRatio.Mean), aim{-0.02, 0.02, 0})
	b.judge("alarms of ten to those of one", of(ten.Alarms.Mean/one.Alarms.Mean), aim{0.8, 1.25, 1})
	b.judge("part of the sessions that are another category's", of(apart/all), atMost(0.04, 0.02))
	return nil
}

// weekly compares the ranking with itself without a season.
func (b *bench) weekly() error {
	s := scenario("cycle")
	s.Fires, s.Hourly, s.Change.Every = 16*7*24, true, 7*24
	d := rank.Defaults()
	d.Season = false
	return b.beside("a week", s, simulate.Policy{Name: "no season", Settings: d}, atLeast(1.08, 1.12))
}

// common counts changes of single categories where there are none.
func (b *bench) common() error {
	s := spread(1, func(*simulate.Category, float64) {})
	s.Fires, s.Change = 50*48, simulate.Change{Kind: simulate.Together, Every: 5 * 48, Swing: 0.15}
	r, err := b.play("", s, stint(), nil)
	if err == nil {
		b.judge("alarms", r[0].Alarms, atMost(2, 0.3))
	}
	return err
}
