package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// expectation is how the sessions of a category end, as the agent sees to.
type expectation struct {
	outcome string
	grade   string // as shown; empty: any
}

func expectations() map[string]expectation {
	return map[string]expectation{
		"code":   {"productive", "0.90"},
		"docs":   {"productive", ""}, // what commits are worth is for stint to say
		"tests":  {"productive", "0.60"},
		"triage": {"noop", "-"},
		"flaky":  {"failed", "0.00"},
	}
}

// verify says what in the record is not as it should be.
func (r record) verify() error {
	return errors.Join(slices.Concat(r.verifyFires(), r.verifyRuns(), r.verifyLanes(), r.verifyBeliefs())...)
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
	// The begun task's category leads, and what requires that task is left out.
	names := r.first().started()
	if len(names) != 3 || names[0] != "code" || !slices.Contains(names, "triage") || !slices.Contains(names, "flaky") {
		wrong = append(wrong, fmt.Errorf("the first fire started %q; want code first, triage and flaky", names))
	}
	if slices.Equal(places(r.first()), places(r.last())) {
		wrong = append(wrong, errors.New("the last fire's ranking is the first one's"))
	}
	return wrong
}

// places are a ranking apart from its draws, which chance alone makes differ.
func places(f fire) (list []string) {
	for _, c := range f.Categories {
		list = append(list, fmt.Sprint(c.Rank, c.Category, belief(c)))
	}
	return list
}

func (r record) verifyRuns() (wrong []error) {
	seen := map[string]bool{}
	for _, x := range r.Runs {
		want := expectations()[x.Category]
		seen[x.Outcome] = true
		switch {
		case x.EndedAt == nil || x.Outcome == "":
			wrong = append(wrong, fmt.Errorf("run %s (%s) has no end", x.Run, x.Category))
		case x.Outcome != want.outcome:
			wrong = append(wrong, fmt.Errorf("run %s (%s) ended as %s (%s); want %s", x.Run, x.Category, x.Outcome, x.Reason, want.outcome))
		case want.grade == "" && x.Grade == nil || want.grade != "" && want.grade != x.grade():
			wrong = append(wrong, fmt.Errorf("run %s (%s) has grade %s; want %s", x.Run, x.Category, x.grade(), want.grade))
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

func (r record) verifyBeliefs() (wrong []error) {
	for _, p := range r.Posteriors {
		graded, mean := r.learnt(p.Category)
		if p.Graded != graded || math.Abs(p.Mean-mean) > 1e-9 {
			wrong = append(wrong, fmt.Errorf("%s: the mean is %.4f of %d graded runs; its runs give %.4f of %d",
				p.Category, p.Mean, p.Graded, mean, graded))
		}
	}
	if len(r.Posteriors) != len(expectations()) {
		wrong = append(wrong, fmt.Errorf("something is known of %d categories; want %d", len(r.Posteriors), len(expectations())))
	}
	return wrong
}
