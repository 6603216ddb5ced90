package main

import (
	"fmt"
	"strings"
	"time"
)

// report prints what came of the fires.
func (s screen) report(r record) {
	s.spawns(r)
	s.rankings(r)
	s.runs(r)
	s.beliefs(r)
	s.title("Lanes")
	s.printf("  peak lanes at once        %d\n", r.Peak)
	s.printf("  lanes taken in all        %d\n", r.Total)
	s.printf("  lanes ever held twice     %d\n", r.Violations)
}

func (s screen) title(text string) { s.printf("\n%s\n", s.bold(text)) }

func (s screen) spawns(r record) {
	s.title("Units spawned per fire")
	s.printf("  fire  at        spawned  left out  categories\n")
	for _, f := range oldest(r.Fires) {
		s.printf("  %-4d  %s  %-7d  %-8d  %s\n",
			f.Fire, f.At.Local().Format(time.TimeOnly), f.Spawned, f.Skipped, strings.Join(f.started(), ", "))
	}
}

// rankings prints the ranking of the first fire and of the last side by side.
func (s screen) rankings(r record) {
	first, last := r.first(), r.last()
	s.title("Ranking of the first fire and of the last")
	s.printf("  %-37s  %s\n", fmt.Sprintf("fire %d", first.Fire), fmt.Sprintf("fire %d", last.Fire))
	for i := range max(len(first.Categories), len(last.Categories)) {
		s.printf("  %s\n", strings.TrimRight(fmt.Sprintf("%-37s  %s", place(first, i), place(last, i)), " "))
	}
	s.printf("  A score is drawn from what the grades show so far; * leads: its task is begun.\n")
}

// place is a line of a fire's ranking.
func place(f fire, i int) string {
	if i >= len(f.Categories) {
		return ""
	}
	c := f.Categories[i]
	if c.Rank == 0 {
		return cut(fmt.Sprintf("-  %-7s  %s", c.Category, why(c)), 37)
	}
	line := fmt.Sprintf("%d  %-7s  %.3f", c.Rank, c.Category, c.Score)
	if strings.Contains(c.Reason, "is begun") {
		line += " *"
	}
	return cut(line, 37)
}

func (s screen) runs(r record) {
	s.title("Runs")
	s.printf("  run               fire  category  task             outcome     grade\n")
	for _, x := range oldest(r.Runs) {
		s.printf("  %-16s  %-4d  %-8s  %-15s  %s\n", x.Run, x.Fire, x.Category, x.Task,
			s.outcome(x.Outcome, fmt.Sprintf("%-10s  %5s", x.Outcome, x.grade())))
	}
}

// beliefs prints what the fleet learnt.
func (s screen) beliefs(r record) {
	s.title("Categories")
	s.printf("  category  graded runs  mean    sessions  entitled to\n")
	for _, p := range r.Posteriors {
		e := r.Next.Explain[p.Category]
		s.printf("  %-8s  %-11d  %.4f  %-8d  %.2f\n", p.Category, p.Graded, p.Mean, e.Sessions, e.Entitled)
	}
}
