package web

import (
	"strings"
	"testing"
	"time"

	"stint/internal/explain/inspect"
	"stint/internal/fleet"
	"stint/internal/review"
	"stint/internal/screen"
	"stint/internal/view"
)

// TestFacesAgree shows one run, whose work was reverted and whose cost is assumed, on every face: each has the grade as it is
// now, marks the cost as an estimate, and has the outcome in the same word.
//
//nolint:paralleltest // TestStreamsEndWithTheServer looks for goroutines of this package
func TestFacesAgree(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	r := fleet.RunStatus{State: fleet.RunEnded, Run: fleet.Run{
		ID: "01jd8wz4v0k3m7qa", Category: "code", Agent: "claude", CreatedAt: now.Add(-time.Hour), StartedAt: now.Add(-time.Hour), EndedAt: now,
		Verdict: fleet.Verdict{Outcome: fleet.Productive, Grade: new(0.77)},
		Usage:   fleet.Usage{USD: new(1.25), Cost: fleet.CostAssumed},
		Fates:   []fleet.ReviewOutcome{{Kind: fleet.FateReverted, At: now, Grade: new(0.31)}},
	}}
	d := inspect.RunDetail{RunStatus: r}
	item := review.Item{Branch: review.Branch{Run: r.ID}, State: review.StateReverted, Session: r.Run}
	wide, page := screen.Style{Width: 160}, view.Page{Now: now}
	lines := func(list []string) string { return strings.Join(list, "\n") }
	html := func(b body) string { return frame{content: content{Body: b}, Now: now}.html().String() }
	const grade, cost, outcome = "0.31", "≈$1.25", "productive"
	for name, face := range map[string]struct {
		text string
		want []string
	}{
		"runs, terminal":   {lines(view.Run().Table([]fleet.RunStatus{r}, now, wide)), []string{grade, cost, outcome}},
		"runs, pipe":       {lines(view.Run().Table([]fleet.RunStatus{r}, now, screen.Style{})), []string{grade, cost, outcome}},
		"runs, page":       {view.Run().HTML([]fleet.RunStatus{r}, page).String(), []string{grade, cost, outcome}},
		"runs, JSON":       {string(view.Runs().JSON([]fleet.RunStatus{r})), []string{`"final_grade":0.31`, `"usd":1.25`, `"cost":"assumed"`, `"outcome":"productive"`}},
		"show":             {lines(screen.Run(screen.RunView{RunDetail: d, At: now}, wide)), []string{"grade " + grade, cost, outcome}},
		"show, JSON":       {string(view.RunDetail().JSON(d)), []string{`"final_grade":0.31`, `"usd":1.25`, `"cost":"assumed"`, `"outcome":"productive"`}},
		"run, page":        {html(runBody{RunDetail: d, Sign: r.Sign()}), []string{grade, cost, outcome}},
		"status, page":     {html(statusBody{Status: inspect.Status{Runs: []fleet.RunStatus{r}}}), []string{grade, cost, outcome}},
		"fire, page":       {html(fireBody{Others: []fleet.RunStatus{r}}), []string{grade, cost, outcome}},
		"review":           {lines(view.Item().Table([]review.Item{item}, now, wide)), []string{grade}},
		"review, page":     {html(&reviewBody{Items: []review.Item{item}}), []string{grade}},
		"review, JSON":     {string(view.Item().JSON(item)), []string{`"final_grade":0.31`, `"usd":1.25`}},
		"review show":      {lines(screen.Review(screen.ReviewView{Item: item, Detail: &screen.RunView{RunDetail: d, At: now}, At: now}, wide)), []string{"grade " + grade, cost, outcome}},
		"landed, terminal": {lines(view.Landed().Table([]review.Landed{{Run: r.Run, At: now}}, now, wide)), []string{grade}},
	} {
		for _, want := range face.want {
			if !strings.Contains(face.text, want) {
				t.Errorf("%s: no %s in\n%s", name, want, face.text)
			}
		}
	}
}
