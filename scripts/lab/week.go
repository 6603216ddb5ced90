package main

import (
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/scripts/lab/simulate"
)

// week is the fires of one, half an hour apart.
const week = 7 * 48

// weeks counts the healthy weeks in which the report cries.
func (b *bench) weeks() error {
	for _, name := range []string{"twelve", "twelve-uniform", "supply", "sleeping", "in-flight", "cycle"} {
		s := scenario(name)
		s.Fires = before + week
		cries := make([]float64, b.runs)
		_, err := b.play(name, s, stint(), func(_ simulate.Policy, run int) func(simulate.Moment) {
			record := newRecord(s)
			return func(m simulate.Moment) {
				if m.Fire > before {
					record.add(s, m)
				}
				if m.Fire == s.Fires && record.cries() {
					cries[run] = 1
				}
			}
		})
		if err != nil {
			return err
		}
		what := "weeks of " + name + " with a false cry"
		b.judge(what, b.sample(what, cries), atMost(0.05, 0.33))
	}
	return nil
}

// record returns what the store would give a report.
type record struct{ report.Record }

func newRecord(s *simulate.Scenario) *record {
	r := &record{report.Record{Shares: map[fleet.Category]float64{}, Entitled: map[fleet.Category]float64{}}}
	sum := 0.0
	for _, c := range s.Categories {
		sum += c.Share
	}
	for _, c := range s.Categories {
		r.Shares[c.Name] = c.Share / sum
	}
	return r
}

func (r *record) add(s *simulate.Scenario, m simulate.Moment) {
	for i, due := range m.Due {
		r.Entitled[s.Categories[i].Name] += due
	}
	for _, x := range m.Sessions {
		t := fleet.Tally{Category: s.Categories[x.Category].Name, Source: x.Source, Outcome: x.Verdict.Outcome, Fired: true, Claimed: true, Runs: 1}
		if x.Verdict.Empty() {
			t.Empty = 1
		}
		if g := x.Verdict.Grade; g != nil {
			t.Graded, t.Grades = 1, *g
		}
		r.Tallies = append(r.Tallies, t)
	}
}

// cries reports whether a category is called neglected or over-allocated.
func (r *record) cries() bool {
	for _, c := range report.New(r.Record, report.Options{Settings: rank.Defaults()}).Categories {
		if c.Judgement != rank.Fair {
			return true
		}
	}
	return false
}
