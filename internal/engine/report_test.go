package engine_test

import (
	"math"
	"testing"
	"time"

	"stint/internal/engine"
	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/store"
	"stint/internal/testkit/must"
)

// TestReportOfAnyAge has records of minutes to years: no run is missed, and the lines have as many points as there is use for.
func TestReportOfAnyAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, age := range []time.Duration{4 * time.Minute, 4 * day, 59 * day, 100 * day, 1000 * day} {
		b := newBench(t, "[category.code]\nself_directed = true\n")
		b.Runner = says(`{"outcome":"productive","grade":0.8}`)
		first := b.clock()
		for i := range 3 {
			if i > 0 {
				b.later(age / 2)
			}
			must.Get(b.Run(t.Context(), engine.RunOptions{Category: "code"}))(t)
		}
		r := must.Get(b.explain().Report(t.Context(), store.Span{From: time.Unix(0, 0)}))(t)
		if r.All.Runs != 3 || r.All.Graded != 3 || r.Audit.TotalAcquisitions != 3 {
			t.Errorf("%v: got %d runs, %d grades, %d lanes, want 3 each", age, r.All.Runs, r.All.Graded, r.Audit.TotalAcquisitions)
		}
		if !r.First.Equal(first) || r.From.After(first) || first.Sub(r.From) > r.Step {
			t.Errorf("%v: got a first run at %v and a record from %v, want %v and its step", age, r.First, r.From, first)
		}
		if finest := max(time.Minute, age/60); r.Step < finest || r.Step > 2*finest {
			t.Errorf("%v: got steps of %v, want 60 of them, or more than 30", age, r.Step)
		}
		week := must.Get(b.explain().Report(t.Context(), store.Span{From: b.clock().Add(-7 * day)}))(t)
		for span, r := range map[string]report.Report{"all": r, "a week": week} {
			grades := r.Grades()
			if got := len(grades.Dots); got != r.All.Graded {
				t.Errorf("%v, %s: got %d dots, want %d, each session's apart", age, span, got, r.All.Graded)
			}
			for _, dot := range grades.Dots {
				if dot.At.Before(grades.From) || dot.At.After(grades.To) {
					t.Errorf("%v, %s: got a dot at %v, want it from %v to %v", age, span, dot.At, grades.From, grades.To)
				}
			}
			if lanes := r.Timeline(nil); !lanes.From.Equal(r.First) || !grades.From.Equal(r.First) {
				t.Errorf("%v, %s: got lanes from %v and grades from %v, want both from the first run, %v", age, span, lanes.From, grades.From, r.First)
			}
		}
		runs := 0
		for _, s := range r.Steps {
			runs += s.Runs
			if s.From.Sub(r.From)%r.Step != 0 || s.From.After(r.To) {
				t.Errorf("%v: a step begins at %v, which is none", age, s.From)
			}
		}
		if runs != 3 {
			t.Errorf("%v: got %d runs in steps, want 3", age, runs)
		}
		if half, err := b.explain().Report(t.Context(), store.Span{From: b.clock().Add(-age / 4)}); err != nil || half.All.Runs != 1 {
			t.Errorf("%v: got %d runs of the last quarter (%v), want 1", age, half.All.Runs, err)
		}
		past := store.Span{From: first.Add(-time.Second), To: b.clock()}
		if half, err := b.explain().Report(t.Context(), past); err != nil || half.All.Runs != 2 || half.Audit.TotalAcquisitions != 2 || !half.To.Equal(past.To) {
			t.Errorf("%v: got %d runs and %d lanes to %v (%v), want 2 before the last", age, half.All.Runs, half.Audit.TotalAcquisitions, half.To, err)
		}
	}
}

// TestReportWithoutAStore is that of a fleet that has not run yet.
func TestReportWithoutAStore(t *testing.T) {
	t.Parallel()
	b := newBench(t, threeCategories)
	b.Store = nil
	r, err := b.explain().Report(t.Context(), store.Span{From: time.Unix(0, 0)})
	if err != nil || r.All.Runs != 0 || len(r.Categories) != 3 || len(r.Findings) != 0 {
		t.Errorf("got %+v (%v), want three categories and nothing else", r, err)
	}
}

// TestReportAgreesWithTheRanking fires, and has one session under way and others graded:
// ranking, status and report show the same entitlement and the same interval.
func TestReportAgreesWithTheRanking(t *testing.T) {
	t.Parallel()
	b := newBench(t, "[category.code]\nself_directed = true\ncooldown = \"0s\"\nlanes = 2\n[category.docs]\nself_directed = true\ncooldown = \"0s\"\n")
	b.Runner = says(`{"outcome":"productive","grade":0.8}`)
	for i := range 6 {
		f := must.Get(b.fire(engine.FanoutOptions{}))(t)
		for _, c := range f.Choices {
			if i < 5 && c.Run != "" { // of the last fire they are under way
				b.mustRun(c.Run)
			}
		}
		b.later(time.Minute)
	}
	r := must.Get(b.explain().Report(t.Context(), store.Span{From: time.Unix(0, 0)}))(t)
	s := must.Get(b.explain().Select(t.Context(), inspect.SelectOptions{}))(t)
	explain := s.Payload().Explain
	entitled := 0.0
	for _, c := range r.Categories {
		e := explain[string(c.Category)]
		entitled += c.Entitled
		if math.Abs(c.Entitled-e.Entitled) > 1e-9 || c.Sessions != e.Sessions {
			t.Errorf("%s: got %d sessions of %v in the report, %d of %v in the ranking", c.Category, c.Sessions, c.Entitled, e.Sessions, e.Entitled)
		}
		if math.Abs(c.Believed.Low-e.Low) > 1e-6 || math.Abs(c.Believed.High-e.High) > 1e-6 || math.Abs(c.Believed.Mean-e.Mean) > 1e-9 {
			t.Errorf("%s: got %+v believed in the report, %v to %v in the ranking", c.Category, c.Believed, e.Low, e.High)
		}
	}
	if want := 12.0; math.Abs(entitled-want) > 1e-9 {
		t.Errorf("got %v sessions entitled, want %v: two a fire", entitled, want)
	}
}
