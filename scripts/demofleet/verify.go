package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// verify says what in the record is not as it should be.
func (r record) verify() error {
	return errors.Join(slices.Concat(r.verifyFires(), r.verifyRankings(), r.verifyRuns(), r.verifyLanes(), r.verifyBeliefs())...)
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
	return wrong
}

// verifyRankings compares what each fire says it drew from with what it should have known.
func (r record) verifyRankings() (wrong []error) {
	for _, f := range r.Fires {
		for _, c := range f.Categories {
			if want := r.belief(c.Category, f.Fire).String(); c.Decision == "spawn" && !strings.Contains(c.Reason, want) {
				wrong = append(wrong, fmt.Errorf("fire %d ranked %s by %q; its runs give %s", f.Fire, c.Category, c.Reason, want))
			}
		}
	}
	if len(r.Fires) > 0 && slices.Equal(r.places(r.first()), r.places(r.last())) {
		wrong = append(wrong, errors.New("the last fire's ranking is the first one's"))
	}
	return wrong
}

// places are a ranking apart from its draws, which chance alone makes differ.
func (r record) places(f fire) (list []string) {
	for _, c := range f.Categories {
		list = append(list, fmt.Sprint(c.Rank, c.Category, r.belief(c.Category, f.Fire)))
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

func (r record) verifyBeliefs() (wrong []error) {
	for _, p := range r.Posteriors {
		b := r.learnt(p.Category)
		if p.Graded != b.graded || math.Abs(p.Mean-b.mean()) > 1e-9 {
			wrong = append(wrong, fmt.Errorf("%s: the mean is %.4f of %d graded runs; its runs give %.4f of %d",
				p.Category, p.Mean, p.Graded, b.mean(), b.graded))
		}
	}
	if len(r.Posteriors) != len(categories()) {
		wrong = append(wrong, fmt.Errorf("%d categories have a mean; want %d", len(r.Posteriors), len(categories())))
	}
	return wrong
}
