package metrics_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"stint/internal/explain/inspect"
	"stint/internal/explain/report"
	"stint/internal/fleet"
	"stint/internal/metrics"
	"stint/internal/rank"
	"stint/internal/review"
	"stint/internal/survey"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// busy is a fleet at work, with trouble of every kind.
func busy() inspect.Counters {
	at := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	tokens := int64(1500)
	run := &fleet.RunStatus{Run: fleet.Run{ID: "0000000000000001", Category: "code", Lane: 1}, State: fleet.RunRunning, Tokens: &tokens}
	crashed := fleet.RunStatus{Run: fleet.Run{ID: "0000000000000002", Category: "gone", Lane: 0}, State: fleet.RunCrashed}
	arm := rank.Arm{}
	arm.Sessions, arm.Entitled, arm.Graded, arm.Alarms, arm.NoopsEver = 12, 13.5, 9, 1, 2
	return inspect.Counters{
		Status: inspect.Status{
			At:     at,
			Timers: []fleet.Timer{{Pool: "autonomous", Active: true, Next: at.Add(time.Minute)}, {Pool: "monitoring"}},
			Lanes: []inspect.LaneState{
				{Category: "code", Number: 1, Run: run}, {Category: "code", Number: 2}, {Category: "docs", Number: 1},
			},
			Open:   []fleet.RunStatus{*run, crashed},
			Claims: []fleet.Claim{{Key: "a"}},
			Hosts: []survey.HostState{
				{Host: fleet.Host{Name: "one", HeardAt: at.Add(-time.Minute)}, Sessions: 1}, {Host: fleet.Host{Name: "two", GoneAt: at}},
			},
			Closed: []inspect.Blocker{{Reason: "memory"}, {Category: "docs", Reason: "reviews"}},
			Day:    report.Audit{Denials: 3, Pivots: 2, Fallbacks: 1, PeakConcurrency: 2, Violations: make([]report.Violation, 1)},
			Fires: []fleet.Fire{{ID: 7, At: at.Add(-time.Minute), Choices: []fleet.Choice{
				{Decision: fleet.Spawn}, {Decision: fleet.Skip}, {Decision: fleet.Skip},
			}}},
			Beliefs: []inspect.Belief{{Category: "code", Graded: 9, Beta: rank.Beta{A: 3, B: 1}}, {Category: "docs", Beta: rank.Beta{A: 1, B: 1}}},
			Pauses:  []fleet.Pause{{}, {Category: "docs"}},
			Stopped: []inspect.StoppedAgent{{}},
			Waiting: []fleet.Waiting{{Task: "x"}},
			Review:  review.Summary{Known: true, Open: 3, Rotten: 1, Oldest: at.Add(-time.Hour)},
			Spent:   []fleet.Spent{{Scope: "fleet", Runs: 4, Tokens: 4200, USD: 1.25}, {Scope: "agent:a\"b\\c\nd", Runs: 1}},
		},
		Fires:  7,
		Arms:   map[fleet.Category]rank.Arm{"code": arm, "docs": {}},
		Shares: map[fleet.Category]float64{"code": 0.75, "docs": 0.25},
		Day: []fleet.Tally{
			{Category: "code", Agent: "claude", Outcome: fleet.Productive, Fired: true, Runs: 3, Graded: 3, Grades: 2.25, Tokens: 4000, USD: 1, Worked: time.Hour},
			{Category: "code", Agent: "claude", Outcome: fleet.Productive, Runs: 1, Graded: 1, Grades: 0.5, Tokens: 200, USD: 0.25, Worked: time.Minute},
			{Category: "code", Agent: "claude", Outcome: fleet.Failed, Runs: 1, Graded: 1},
			{Category: "code", Agent: "claude", Runs: 1}, // open
			{Category: "docs", Agent: "odd \"\\\n\xff", Outcome: fleet.Busy, Runs: 2},
		},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	got := metrics.Text(metrics.About{Fleet: "bob", Version: "v1"}, busy())
	const golden = "testdata/busy.prom"
	if *update {
		must.Do(t, os.WriteFile(golden, got, 0o600))
	}
	want := must.Get(os.ReadFile(golden))(t)
	must.Equal(t, "text", string(got), string(want))
}

// TestTextIsReadable has Prometheus' own parser read it, and looks at the manners that
// Prometheus asks of names.
func TestTextIsReadable(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^stint_[a-z]+(_[a-z]+)*$`)
	for state, c := range map[string]inspect.Counters{"busy": busy(), "empty": {}} {
		text := metrics.Text(metrics.About{Fleet: "bob", Version: "v1"}, c)
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", state, err, text)
		}
		for _, f := range families {
			counts := f.GetType().String() == "COUNTER"
			if !name.MatchString(f.GetName()) || f.GetHelp() == "" || counts != strings.HasSuffix(f.GetName(), "_total") {
				t.Errorf("%s: family %s of type %s, help %q", state, f.GetName(), f.GetType(), f.GetHelp())
			}
		}
	}
}

func TestLabelsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families := must.Get(parser.TextToMetricFamilies(bytes.NewReader(metrics.Text(metrics.About{}, busy()))))(t)
	var got []string
	for _, m := range families["stint_runs_last_day"].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "agent" {
				got = append(got, l.GetValue())
			}
		}
	}
	must.Equal(t, "agents", got, []string{"claude", "claude", "odd \"\\\n\ufffd"})
}
