package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// verify says what in the record is not as it should be.
func (r record) verify() error {
	return errors.Join(slices.Concat(r.verifyFires(), r.verifyRankings(), r.verifyRuns(), r.verifyLanes(), r.verifyBeliefs(), r.verifyAccounts())...)
}

func (r record) verifyFires() (wrong []error) {
	if len(r.Fires) < fires {
		return []error{fmt.Errorf("%d fires; want %d", len(r.Fires), fires)}
	}
	spawned := 0
	for _, f := range r.Fires {
		spawned += f.Spawned
		if f.Failed > 0 {
			wrong = append(wrong, fmt.Errorf("fire %d: %d units did not start", f.Fire, f.Failed))
		}
	}
	if spawned != len(r.Runs) {
		wrong = append(wrong, fmt.Errorf("%d units were spawned, and there are %d runs", spawned, len(r.Runs)))
	}
	// The begun task's category leads, and tasks that require that task are left out.
	names := r.first().started()
	if len(names) != 3 || names[0] != "code" || !slices.Contains(names, "triage") || !slices.Contains(names, "flaky") {
		wrong = append(wrong, fmt.Errorf("the first fire started %q; want code first, triage and flaky", names))
	}
	return wrong
}

// verifyRankings has each fire ranked again, and compares what it says it drew with what
// the replay draws, and what it knew with the runs that there were.
func (r record) verifyRankings() (wrong []error) {
	if len(r.Replays) != len(r.Fires) {
		return []error{fmt.Errorf("%d fires were replayed; want %d", len(r.Replays), len(r.Fires))}
	}
	for i, f := range r.Fires {
		if x := r.Replays[i]; !x.Identical || x.Fire != f.Fire {
			wrong = append(wrong, fmt.Errorf("fire %d is not what replaying it gives", f.Fire))
		}
		wrong = append(wrong, r.verifyRanking(f, r.Replays[i].Selection)...)
	}
	if len(r.Fires) > 0 && slices.Equal(places(r.first()), places(r.last())) {
		wrong = append(wrong, errors.New("the last fire's ranking is the first one's"))
	}
	return wrong
}

func (r record) verifyRanking(f fire, s selection) (wrong []error) {
	var odds, due float64
	for _, c := range f.Categories {
		e := s.Explain[c.Category]
		odds, due = odds+c.odds(), due+e.Due
		if c.Decision == "spawn" && !near(c.Score, e.Score) {
			wrong = append(wrong, fmt.Errorf("fire %d ranked %s with %.3f; its replay with %.3f", f.Fire, c.Category, c.Score, e.Score))
		}
		if want := r.sessions(c.Category, f.Fire); e.In && e.Sessions != want {
			wrong = append(wrong, fmt.Errorf("fire %d knew of %d sessions of %s; there were %d", f.Fire, e.Sessions, c.Category, want))
		}
	}
	picks := float64(f.Spawned + f.Failed)
	if !near(odds, picks) {
		wrong = append(wrong, fmt.Errorf("fire %d: the odds add up to %.4f; it picked %.0f", f.Fire, odds, picks))
	}
	if !near(due, picks) {
		wrong = append(wrong, fmt.Errorf("fire %d entitled to %.4f sessions in all; it picked %.0f", f.Fire, due, picks))
	}
	return wrong
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// places are a ranking apart from its draws, which chance alone makes differ.
func places(f fire) (list []string) {
	for _, c := range f.Categories {
		list = append(list, fmt.Sprint(c.Rank, c.Category, c.Score))
	}
	return list
}

func (r record) verifyRuns() (wrong []error) {
	seen := map[string]bool{}
	wanted := map[string]category{}
	for _, c := range categories() {
		wanted[c.name] = c
	}
	for _, x := range r.Runs {
		want := wanted[x.Category]
		seen[x.Outcome] = true
		switch {
		case x.EndedAt == nil || x.Outcome == "":
			wrong = append(wrong, fmt.Errorf("run %s (%s) has no end", x.Run, x.Category))
		case x.Outcome != want.outcome:
			wrong = append(wrong, fmt.Errorf("run %s (%s) ended as %s (%s); want %s", x.Run, x.Category, x.Outcome, x.Reason, want.outcome))
		case want.grade == "" && x.Grade == nil || want.grade != "" && want.grade != x.grade():
			wrong = append(wrong, fmt.Errorf("run %s (%s) has grade %s; want %s", x.Run, x.Category, x.grade(), cmp.Or(want.grade, "any")))
		}
	}
	for _, outcome := range []string{"productive", "noop", "failed"} {
		if !seen[outcome] {
			wrong = append(wrong, fmt.Errorf("no run ended as %s", outcome))
		}
	}
	return wrong
}

func (r record) verifyLanes() (wrong []error) {
	if r.Violations > 0 {
		wrong = append(wrong, fmt.Errorf("lanes held twice: %d", r.Violations))
	}
	if r.Total != len(r.Runs) {
		wrong = append(wrong, fmt.Errorf("lanes were taken %d times by %d runs", r.Total, len(r.Runs)))
	}
	if r.Peak < 2 {
		wrong = append(wrong, fmt.Errorf("at most %d lane was held at once", r.Peak))
	}
	return wrong
}

// verifyBeliefs compares what is known of each category with its runs. A mean lies between
// the category's own average and what is expected of a category without a grade, which is
// the mean of all.
func (r record) verifyBeliefs() (wrong []error) {
	all := 0.0
	for _, p := range r.Posteriors {
		if p.Graded == 0 {
			all = p.Mean
		}
	}
	for _, p := range r.Posteriors {
		grades := r.grades(p.Category)
		if p.Graded != len(grades) {
			wrong = append(wrong, fmt.Errorf("%s: %d grades were counted; its runs have %d", p.Category, p.Graded, len(grades)))
			continue
		}
		if p.Graded == 0 {
			continue
		}
		low, high := min(all, slices.Min(grades)), max(all, slices.Max(grades))
		if p.Mean <= low || p.Mean >= high {
			wrong = append(wrong, fmt.Errorf("%s: the mean is %.4f; want it between %.4f and %.4f", p.Category, p.Mean, low, high))
		}
	}
	if len(r.Posteriors) != len(categories()) {
		wrong = append(wrong, fmt.Errorf("%d categories have a mean; want %d", len(r.Posteriors), len(categories())))
	}
	return wrong
}

// verifyAccounts compares what each category is said to have had, and to have been
// entitled to, with its runs and with what the fires say.
func (r record) verifyAccounts() (wrong []error) {
	for _, c := range categories() {
		account, due := r.Next.Explain[c.name], 0.0
		for _, x := range r.Replays {
			due += x.Selection.Explain[c.name].Due
		}
		if want := r.sessions(c.name, math.MaxInt); account.Sessions != want {
			wrong = append(wrong, fmt.Errorf("%s: %d sessions were debited; there were %d", c.name, account.Sessions, want))
		}
		if !near(account.Entitled, due) {
			wrong = append(wrong, fmt.Errorf("%s: it was entitled to %.4f sessions; the fires give %.4f", c.name, account.Entitled, due))
		}
	}
	return wrong
}
