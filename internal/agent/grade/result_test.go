package grade

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

func TestAssessReadsExtras(t *testing.T) {
	t.Parallel()
	reset := time.Date(2026, 6, 26, 0, 25, 19, 0, time.UTC)
	output := &Transcript{
		Usage: fleet.Usage{Tokens: value(int64(7)), USD: value(0.07)},
		Limit: &UsageLimit{Text: "wall", RetryAfter: time.Minute, Throttled: true},
	}
	tests := []struct {
		name   string
		result string
		output *Transcript
		want   Judgement
	}{
		{"none", ``, nil, Judgement{}},
		{"of the result", `{"tokens":123,"cost_usd":0.4}`, nil, Judgement{Usage: fleet.Usage{Tokens: value(int64(123)), USD: value(0.4)}}},
		{"of the output", ``, output, Judgement{Usage: output.Usage, Limit: output.Limit}},
		{"of the output before the result", `{"tokens":0,"cost_usd":0}`, output, Judgement{Usage: output.Usage, Limit: output.Limit}},
		{"null", `{"tokens":null,"cost_usd":null,"quota":null}`, nil, Judgement{}},
		{"of a spoilt result", `{"grade":7,"tokens":5}`, nil, Judgement{Usage: fleet.Usage{Tokens: value(int64(5))}}},
		{"a reset", `{"outcome":"quota","reason":"r","quota":{"reset_at":"2026-06-26T02:25:19+02:00"}}`, nil, Judgement{Limit: &UsageLimit{ResetAt: reset, Told: true, Text: "r"}}},
		{"a reset beside the output's", `{"outcome":"quota","quota":{"reset_at":"2026-06-27T00:25:19Z"}}`, output, Judgement{
			Usage: output.Usage, Limit: output.Limit,
		}},
		{"a reset without a limit", `{"outcome":"nothing","quota":{"reset_at":"2026-06-26T00:25:19Z"}}`, nil, Judgement{}},
		{"each by itself", `{"tokens":1.5,"cost_usd":-1,"quota":{"reset_at":"soon\u001b"},"grade":1}`, nil, Judgement{Warnings: []string{
			`result file: tokens: json: cannot unmarshal number 1.5 into Go value of type int64`,
			`result file: cost_usd: -1: want an amount in dollars`,
			`result file: quota: reset_at "soon\x1b": want a time such as 2026-06-26T00:25:19Z`,
		}}},
		{"too much", `{"tokens":1000000000001,"cost_usd":1e7}`, nil, Judgement{Warnings: []string{
			`result file: tokens: 1000000000001: want a number of tokens`,
			`result file: cost_usd: 1e+07: want an amount in dollars`,
		}}},
		{"an output of too much", ``, &Transcript{Usage: fleet.Usage{Tokens: value(int64(1e12 + 1)), USD: value(1e7)}}, Judgement{}},
		{"an output that is none", ``, &Transcript{Usage: fleet.Usage{Tokens: value(int64(-1)), USD: value(-0.1)}}, Judgement{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Assess(Evidence{Exit: exited(0, tt.result), Transcript: tt.output})
			got.Verdict = fleet.Verdict{}
			must.Equal(t, "judgement", got, tt.want)
		})
	}
}

// TestAssessPays has sessions that came to nothing: what they used was used.
func TestAssessPays(t *testing.T) {
	t.Parallel()
	for _, end := range []fleet.End{fleet.Stopped, fleet.Overran, fleet.Killed} {
		got := Assess(Evidence{Exit: ended(fleet.SessionExit{End: end}, `{"tokens":5}`)}).Usage
		if diff := cmp.Diff(got, fleet.Usage{Tokens: value(int64(5))}); diff != "" {
			t.Errorf("%s: usage (-got +want):\n%s", end, diff)
		}
	}
}
