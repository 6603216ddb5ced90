package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/plot"
	"stint/internal/rank"
	"stint/internal/testkit/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must.Do(t, os.MkdirAll("testdata", 0o755))
		must.Do(t, os.WriteFile(path, got, 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	must.Equal(t, name, string(got), string(want))
}

var start = time.Date(2026, 6, 19, 12, 0, 0, 0, time.UTC)

const step = 168 * time.Minute

// week is a fleet's: code gets too much, docs too little, ops nothing but denials.
func week(names map[fleet.Category]fleet.Category) (Record, Options) { return past(60, names) }

// past is so many steps of it.
func past(steps int, names map[fleet.Category]fleet.Category) (Record, Options) {
	to := start.Add(time.Duration(steps) * step)
	r := Record{Shares: map[fleet.Category]float64{}, Entitled: map[fleet.Category]float64{}, Fallbacks: 2}
	o := Options{From: start, To: to, Step: step, Settings: rank.Defaults(), Beliefs: map[fleet.Category]rank.Beta{}, AllRuns: true}
	name := func(c fleet.Category) fleet.Category {
		if other, ok := names[c]; ok {
			return other
		}
		return c
	}
	for c, share := range map[fleet.Category]float64{"code": 0.3, "docs": 0.3, "triage": 0.3, "ops": 0.1} {
		r.Shares[name(c)], r.Entitled[name(c)] = share, 3*share*float64(steps)
		o.Beliefs[name(c)] = rank.Beta{A: 20 * share, B: 8 * share}
	}
	n := 0
	var holds []fleet.LaneHold
	run := func(c fleet.Category, agent string, at time.Time, length time.Duration, outcome fleet.Outcome, grade float64) {
		n++
		c = name(c)
		id := fleet.RunID(fmt.Sprintf("r%04d", n))
		v := fleet.Verdict{Outcome: outcome}
		t := fleet.Tally{
			From: at.Add(-(at.Sub(start) % step)), Category: c, Agent: agent, Source: fleet.FromSelected, Outcome: outcome,
			Fired: true, Claimed: outcome != fleet.RunDenied, Runs: 1, Tokens: 12_000, USD: 0.25, Worked: length,
		}
		if outcome == fleet.Productive || outcome == fleet.Failed {
			v.Grade = &grade
			t.Graded, t.Grades, t.Squares = 1, grade, grade*grade
		}
		if v.Empty() {
			t.Empty = 1
		}
		r.Tallies = append(r.Tallies, t)
		holds = append(holds, fleet.LaneHold{Run: id, Category: c, Lane: 1, AcquiredAt: at, ReleasedAt: at.Add(length)})
		o.Runs = append(o.Runs, fleet.Run{ID: id, Category: c, Task: "task<1>", CreatedAt: at, Verdict: v})
	}
	for i := range steps {
		at := start.Add(time.Duration(i) * step)
		o.Fires = append(o.Fires, fleet.Fire{ID: fleet.FireID(i + 1), At: at})
		wave := 0.5 + 0.3*math.Sin(float64(i)/9)
		run("code", "claude", at.Add(time.Minute), 70*time.Minute, fleet.Productive, wave)
		run("code", "claude", at.Add(80*time.Minute), 60*time.Minute, fleet.Productive, wave/2)
		switch i % 4 {
		case 0:
			run("triage", "codex", at.Add(time.Minute), 20*time.Minute, fleet.Noop, 0)
		case 1:
			run("triage", "codex", at.Add(time.Minute), 90*time.Minute, fleet.Failed, 0)
		case 2:
			run("triage", "codex", at.Add(time.Minute), 45*time.Minute, fleet.Productive, 0.85)
		}
		if i%10 == 3 {
			run("docs", "claude", at.Add(5*time.Minute), 30*time.Minute, fleet.Productive, 0.7)
			run("ops", "", at.Add(5*time.Minute), time.Minute, fleet.RunDenied, 0)
			r.Denials = append(r.Denials, fleet.DeniedClaim{Run: o.Runs[n-1].ID})
		}
	}
	holds[len(holds)-1].ReleasedAt = time.Time{}
	r.Holds = held(holds)
	return r, o
}

func TestReportOfAWeek(t *testing.T) {
	t.Parallel()
	p := New(week(nil))
	type line struct {
		Category fleet.Category
		Spawned  int
		Sessions int
		Graded   int
		Judgement
	}
	var got []line
	for _, c := range p.Categories {
		got = append(got, line{c.Category, c.Spawned, c.Sessions, c.Graded, c.Judgement})
	}
	want := []line{
		{"code", 120, 120, 120, rank.OverAllocated},
		{"docs", 6, 6, 6, rank.Neglected},
		{"ops", 6, 0, 0, rank.Neglected},
		{"triage", 45, 45, 30, rank.Fair},
	}
	must.Equal(t, "categories", got, want)
	if got, want := p.NeglectedSpawned(), 12; got != want {
		t.Errorf("got %d spawned runs of neglected categories, want %d", got, want)
	}
	var kinds []FindingKind
	for _, f := range p.Findings {
		kinds = append(kinds, f.Kind)
	}
	wantKinds := []FindingKind{FoundFruitless, FoundNeglected, FoundNeglected, FoundOverAllocated, FoundFallback}
	must.Equal(t, "findings", kinds, wantKinds)
	if got, want := p.PerHour(), 171/(168-1.0/60); math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v sessions an hour, want %v: from the first run on", got, want)
	}
}

// TestJudgedByEntitlement has two categories of one share, one of which could hardly ever
// start, and one that fires may not start: no part of all sessions says how they were treated.
func TestJudgedByEntitlement(t *testing.T) {
	t.Parallel()
	r := Record{
		Shares:   map[fleet.Category]float64{"rare": 0.5, "usual": 0.5, "by hand": 0},
		Entitled: map[fleet.Category]float64{"rare": 4, "usual": 96},
	}
	for c, n := range map[fleet.Category]int{"rare": 4, "usual": 96, "by hand": 60} {
		r.Tallies = append(r.Tallies, fleet.Tally{Category: c, Runs: n, Claimed: true})
	}
	p := New(r, Options{Settings: rank.Defaults()})
	for _, c := range p.Categories {
		if c.Judgement != rank.Fair {
			t.Errorf("%s: got %q with %d sessions of %v, want it fair", c.Category, c.Judgement, c.Sessions, c.Entitled)
		}
	}
	r.Entitled["rare"], r.Entitled["usual"] = 19, 50
	p = New(r, Options{Settings: rank.Defaults()})
	got := []Judgement{p.Categories[0].Judgement, p.Categories[1].Judgement, p.Categories[2].Judgement}
	must.Equal(t, "judgements", got, []Judgement{rank.Fair, rank.Neglected, rank.OverAllocated})
}

// TestNoopsAreFound has just too many, and just not.
func TestNoopsAreFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		noops, others int
		want          bool
	}{{1, 4, false}, {2, 3, true}, {4, 0, false}, {5, 0, true}} {
		p := New(Record{Tallies: []fleet.Tally{
			{Category: "a", Outcome: fleet.Noop, Runs: tt.noops, Empty: tt.noops}, {Category: "a", Outcome: fleet.Productive, Runs: tt.others},
		}}, Options{})
		if got := len(p.Findings) == 1 && p.Findings[0].Kind == FoundNoops; got != tt.want {
			t.Errorf("%d noops of %d: got %v, want one: %t", tt.noops, tt.noops+tt.others, p.Findings, tt.want)
		}
	}
}

// TestPace has ten sessions in so long a time.
func TestPace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		span time.Duration
		want string
	}{
		{time.Minute, "10.00 an hour, 10.00 a day"}, // which says nothing of a day
		{5 * time.Hour, "2.00 an hour, 10.00 a day"},
		{48 * time.Hour, "0.21 an hour, 5.00 a day"},
	} {
		p := Report{Options: Options{To: start.Add(tt.span)}, First: start, All: Use{Sessions: 10}}
		if got := fmt.Sprintf("%.2f an hour, %.2f a day", p.PerHour(), p.PerDay()); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.span, got, tt.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		graded int
		grades float64
		want   string
	}{
		{0, 0, "0.00 0.00"}, // none
		{1, 0.5, "0.06 0.94"},
		{10, 10, "0.72 1.00"},
		{10, 0, "0.00 0.28"},
		{1000, 500, "0.47 0.53"},
	} {
		alone := Use{Graded: tt.graded, Grades: tt.grades}.Alone()
		if got := fmt.Sprintf("%.2f %.2f", alone.Low, alone.High); got != tt.want {
			t.Errorf("%d grades with a sum of %v: got %s, want %s", tt.graded, tt.grades, got, tt.want)
		}
	}
}

// TestSumsAgree has each sum in every view of any record.
func TestSumsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tallies []fleet.Tally
		for i := range rapid.IntRange(0, 12).Draw(t, "tallies") {
			runs := rapid.IntRange(1, 5).Draw(t, "runs")
			tallies = append(tallies, fleet.Tally{
				From: at(60 * i / 2), Category: rapid.SampledFrom([]fleet.Category{"a", "b"}).Draw(t, "category"),
				Agent: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "agent"), Outcome: rapid.SampledFrom(append(fleet.Outcomes(), "")).Draw(t, "outcome"),
				Claimed: rapid.Bool().Draw(t, "claimed"), Fired: rapid.Bool().Draw(t, "fired"),
				Runs: runs, Graded: runs, Grades: float64(runs) / 4, Tokens: 7, USD: 0.5,
			})
		}
		p := New(Record{Tallies: tallies, Shares: map[fleet.Category]float64{"a": 1}}, Options{From: at(0), To: at(600), Step: time.Minute})
		var views [4]Use
		add := func(i int, u Use) {
			for o, n := range u.Outcomes {
				views[i].add(fleet.Tally{Outcome: o, Runs: n})
			}
			views[i].Runs += u.Runs - u.Ended
			views[i].Spawned += u.Spawned
			views[i].Sessions += u.Sessions
			views[i].Graded += u.Graded
			views[i].Grades += u.Grades
			views[i].Tokens += u.Tokens
			views[i].USD += u.USD
		}
		for _, u := range p.Categories {
			add(0, u.Use)
		}
		for _, u := range p.Agents {
			add(1, u.Use)
		}
		for _, u := range p.Pairs {
			add(2, u.Use)
		}
		for _, u := range p.Steps {
			add(3, u.Use)
		}
		for i, got := range views {
			if got.Outcomes == nil {
				got.Outcomes = map[fleet.Outcome]int{}
			}
			if diff := cmp.Diff(got, p.All); diff != "" {
				t.Errorf("view %d (-got +want):\n%s", i, diff)
			}
		}
	})
}

// hostile are names that no configuration can have, but a store might.
func hostile() map[fleet.Category]fleet.Category {
	return map[fleet.Category]fleet.Category{
		"code": "</style><script>alert(1)</script>", "docs": "=cmd|' /C calc'!A0", "triage": "a\u202eb\u2028c\x1b[31m\xff", "ops": `"><img src=x onerror=y>`,
	}
}

// elements reads a page as XML, which is stricter than browsers are.
func elements(t *testing.T, page []byte) map[string]int {
	t.Helper()
	counts := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(page))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, page)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "src" {
					t.Errorf("%s has an attribute %s", e.Name.Local, a.Name.Local)
				}
			}
		}
	}
}

// drawn are the charts of a report in one document.
func drawn(r Report) []byte {
	page := []byte("<main>\n")
	for _, c := range r.Charts(nil) {
		page = append(page, plot.Fragment(c)...)
	}
	return append(page, "</main>\n"...)
}

func TestCharts(t *testing.T) {
	t.Parallel()
	page := drawn(New(past(4, nil)))
	golden(t, "charts.html", page)
	if got, want := elements(t, page)["svg"], 4; got != want {
		t.Errorf("got %d pictures, want %d: two, each for two widths", got, want)
	}
}

func TestChartsOfHostileNames(t *testing.T) {
	t.Parallel()
	page := drawn(New(week(hostile())))
	must.Equal(t, "elements of charts with hostile names", elements(t, page), elements(t, drawn(New(week(nil)))))
	for _, bad := range []string{"\u202e", "\u2028", "\x1b", "\xff"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("the charts hold %q", bad)
		}
	}
}

func TestChartsOfNothing(t *testing.T) {
	t.Parallel()
	r := New(Record{}, Options{From: start, To: start.Add(time.Hour)})
	if charts := r.Charts(nil); len(charts) > 0 {
		t.Errorf("got %d charts, want none", len(charts))
	}
}

// TestLanesBeginWithWhatWasRead has a record with more runs than were read one by one.
func TestLanesBeginWithWhatWasRead(t *testing.T) {
	t.Parallel()
	r, o := week(nil)
	o.Runs, o.AllRuns = o.Runs[100:], false
	p := New(r, o)
	if got, want := p.LanesFrom(), o.Runs[0].CreatedAt; !got.Equal(want) {
		t.Errorf("got lanes from %v, want %v", got, want)
	}
	if got, want := p.Timeline(nil).Title, fmt.Sprintf("Lanes, the last %d runs", len(o.Runs)); got != want {
		t.Errorf("got the title %q, want %q", got, want)
	}
	held := 0
	for _, l := range p.Lanes {
		held += len(l.Held)
	}
	if got, want := held, len(o.Runs); got != want {
		t.Errorf("got %d holds, want %d", got, want)
	}
}
