package main

import (
	"fmt"
	"math"

	"stint/internal/rank"
	"stint/scripts/lab/simulate"
)

// spread are twelve equally entitled categories, whose sessions differ by up to so much. That says nothing of their means.
func spread(times float64, set func(c *simulate.Category, differs float64)) *simulate.Scenario {
	const n = 12
	s := equal(n, 0)
	s.Grades.Concentration = 8
	for i := range s.Categories {
		c := &s.Categories[i]
		c.Mean = 0.35 + 0.4*float64(i*7%n)/(n-1)
		set(c, math.Pow(times, float64(i)/(n-1)))
	}
	return s
}

// priced compares the ranking with itself without prices.
func (b *bench) priced(name string, s *simulate.Scenario, a aim) error {
	return b.beside(name, s, simulate.Policy{Name: "unpriced", Unpriced: true}, a)
}

// beside compares the ranking with one that lacks something, run by run.
func (b *bench) beside(name string, s *simulate.Scenario, lacks simulate.Policy, a aim) error {
	d := rank.Defaults()
	if lacks.Kind = simulate.Ranked; lacks.Settings == (rank.Settings{}) {
		lacks.Settings = d
	}
	r, err := b.play(name, s, []simulate.Policy{{Name: "stint", Kind: simulate.Ranked, Settings: d}, lacks}, nil)
	if err != nil || b.kept != nil {
		return err
	}
	b.table(name, r)
	with, without := make([]float64, b.runs), make([]float64, b.runs)
	for i := range with {
		with[i], without[i] = r[0].Outcomes[i].Reward, r[1].Outcomes[i].Reward
	}
	gain := ratio(with, without)
	b.tell(name+": reward to that of "+lacks.Name, gain)
	b.judge(name+": its lower bound", simulate.Estimate{Mean: gain.Mean - gain.CI95}, a)
	return nil
}

// costs has a budget for a third of the sessions, if all are started alike.
func (b *bench) costs() error {
	for _, t := range []struct {
		times float64
		aim
	}{{4, atLeast(1.1, 1.14)}, {50, atLeast(1.5, 1.69)}} {
		sum := 0.0
		s := spread(t.times, func(c *simulate.Category, cost float64) {
			c.Cost = cost
			sum += cost / 12
		})
		s.Budget = sum * 48
		if err := b.priced(fmt.Sprintf("1 to %g USD", t.times), s, t.aim); err != nil {
			return err
		}
	}
	slack := spread(50, func(c *simulate.Category, cost float64) { c.Cost = cost })
	slack.Budget = 1e4
	return b.priced("1 to 50 USD, of which there are enough", slack, aim{1, 1, 1})
}

func (b *bench) lengths() error {
	for _, lasting := range []bool{false, true} {
		s := spread(20, func(c *simulate.Category, longer float64) { c.Longer, c.Lasting = longer, lasting })
		s.Sessions = &simulate.Sessions{Median: 1, Sigma: 0.3, Slots: 4, Lock: true}
		name, a := "1 to 20 fires", atLeast(1.15, 1.2)
		if lasting {
			name, a = "a session is worth its grade for each fire", atLeast(0.98, 0.984)
		}
		if err := b.priced(name, s, a); err != nil {
			return err
		}
	}
	return nil
}

// agents has three agents for each category, of which the first is in the middle, and then two equal categories with one agent and with four.
func (b *bench) agents() error {
	for _, t := range []struct {
		apart float64
		aim
	}{{0.25, atLeast(1.1, 1.157)}, {0.1, atLeast(1, 1.044)}} {
		s := spread(1, func(c *simulate.Category, _ float64) { c.Agents = []float64{0, -t.apart / 2, t.apart / 2} })
		if err := b.beside(fmt.Sprintf("%g apart", t.apart), s, simulate.Policy{Name: "first agent", OneAgent: true}, t.aim); err != nil {
			return err
		}
	}
	s := equal(2, 0.6)
	s.Workers, s.Categories[1].Agents = 1, []float64{0, 0, 0, 0}
	r, err := b.play("one agent and four", s, stint(), nil)
	if err != nil || b.kept != nil {
		return err
	}
	b.judge("share of the category with four equal agents", r[0].Fractions[1], aim{0.47, 0.53, 0.5})
	return nil
}
