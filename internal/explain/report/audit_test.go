package report

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/rank"
	"stint/internal/testkit/must"
)

func at(second int) time.Time { return time.Unix(int64(second), 0).UTC() }

// hold is an acquisition from one second to another; an end of 0 leaves it open.
func hold(run fleet.RunID, c fleet.Category, lane, from, to int) fleet.LaneHold {
	h := fleet.LaneHold{Run: run, Category: c, Lane: lane, AcquiredAt: at(from)}
	if to != 0 {
		h.ReleasedAt = at(to)
	}
	return h
}

func TestAudit(t *testing.T) {
	t.Parallel()
	both := func(first, second fleet.RunID, from int) Violation {
		return Violation{Category: "code", Lane: 1, First: first, Second: second, At: at(from)}
	}
	tests := []struct {
		name  string
		holds []fleet.LaneHold
		peak  int
		want  []Violation
	}{
		{"nothing", nil, 0, nil},
		{"one", []fleet.LaneHold{hold("r1", "code", 1, 1, 2)}, 1, nil},
		{"one, open", []fleet.LaneHold{hold("r1", "code", 1, 1, 0)}, 1, nil},
		{"shorter than a tick", []fleet.LaneHold{hold("r1", "code", 1, 1, 1)}, 1, nil},
		{"one after the other", []fleet.LaneHold{hold("r1", "code", 1, 1, 2), hold("r2", "code", 1, 3, 4)}, 1, nil},
		{"touching", []fleet.LaneHold{hold("r1", "code", 1, 1, 2), hold("r2", "code", 1, 2, 3)}, 1, nil},
		{"touching within a tick", []fleet.LaneHold{hold("r1", "code", 1, 1, 2), hold("r2", "code", 1, 2, 2), hold("r3", "code", 1, 2, 3)}, 1, nil},
		{"the clock set back", []fleet.LaneHold{hold("r1", "code", 1, 9, 1), hold("r2", "docs", 1, 2, 5), hold("r3", "ops", 1, 3, 5)}, 2, nil},
		{"two lanes", []fleet.LaneHold{hold("r1", "code", 1, 1, 9), hold("r2", "code", 2, 2, 9)}, 2, nil},
		{"two categories", []fleet.LaneHold{hold("r1", "code", 1, 1, 9), hold("r2", "docs", 1, 2, 9)}, 2, nil},
		{"overlap", []fleet.LaneHold{hold("r1", "code", 1, 1, 3), hold("r2", "code", 1, 2, 4)}, 2, []Violation{both("r1", "r2", 2)}},
		{"overlap, newest first", []fleet.LaneHold{hold("r2", "code", 1, 2, 4), hold("r1", "code", 1, 1, 3)}, 2, []Violation{both("r1", "r2", 2)}},
		{"same instant", []fleet.LaneHold{hold("r1", "code", 1, 1, 3), hold("r2", "code", 1, 1, 3)}, 2, []Violation{both("r1", "r2", 1)}},
		{"after an open one", []fleet.LaneHold{hold("r1", "code", 1, 1, 0), hold("r2", "code", 1, 7, 8)}, 2, []Violation{both("r1", "r2", 7)}},
		{"before an open one", []fleet.LaneHold{hold("r1", "code", 1, 1, 2), hold("r2", "code", 1, 7, 0)}, 1, nil},
		{"two open ones", []fleet.LaneHold{hold("r1", "code", 1, 1, 0), hold("r2", "code", 1, 7, 0)}, 2, []Violation{both("r1", "r2", 7)}},
		{
			"nested",
			[]fleet.LaneHold{hold("r1", "code", 1, 1, 9), hold("r2", "code", 1, 2, 3), hold("r3", "code", 1, 4, 5), hold("r4", "code", 1, 9, 10)},
			2,
			[]Violation{both("r1", "r2", 2), both("r1", "r3", 4)},
		},
		{
			"outlasting a short one",
			[]fleet.LaneHold{hold("r1", "code", 1, 1, 3), hold("r2", "code", 1, 2, 6), hold("r3", "code", 1, 5, 7)},
			2,
			[]Violation{both("r1", "r2", 2), both("r2", "r3", 5)},
		},
		{
			"a blink inside",
			[]fleet.LaneHold{hold("r1", "code", 1, 1, 9), hold("r2", "code", 1, 5, 5)},
			1, // it is over before the clock could show it
			[]Violation{both("r1", "r2", 5)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := Audit{PeakConcurrency: tt.peak, TotalAcquisitions: len(tt.holds), Violations: tt.want, All: Use{Outcomes: map[fleet.Outcome]int{}}}
			must.Equal(t, "audit", NewAudit(Record{Holds: held(tt.holds)}, rank.Settings{}), want)
		})
	}
}

// held sums up holds in the order in which a store has them.
func held(list []fleet.LaneHold) (s Holds) {
	for _, h := range slices.SortedStableFunc(slices.Values(list), func(a, b fleet.LaneHold) int { return a.AcquiredAt.Compare(b.AcquiredAt) }) {
		s.Add(h)
	}
	return s
}

// TestAuditCountsEverySecond compares peak and violations with a count by the
// second, over any record.
func TestAuditCountsEverySecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var holds []fleet.LaneHold
		for range rapid.IntRange(0, 8).Draw(t, "holds") {
			from := rapid.IntRange(1, 10).Draw(t, "from")
			to := from + rapid.IntRange(1, 5).Draw(t, "length")
			if rapid.IntRange(0, 4).Draw(t, "open") == 0 {
				to = 0
			}
			holds = append(holds, hold("r", "code", rapid.IntRange(1, 2).Draw(t, "lane"), from, to))
		}
		peak, twice := 0, false
		for s := 1; s < 20; s++ {
			byLane := map[int]int{}
			for _, h := range holds {
				if !h.AcquiredAt.After(at(s)) && (h.ReleasedAt.IsZero() || h.ReleasedAt.After(at(s))) {
					byLane[h.Lane]++
				}
			}
			peak = max(peak, byLane[1]+byLane[2])
			twice = twice || byLane[1] > 1 || byLane[2] > 1
		}
		got := NewAudit(Record{Holds: held(holds)}, rank.Settings{})
		if got.PeakConcurrency != peak || len(got.Violations) > 0 != twice {
			t.Errorf("got peak %d and violations %v, want %d and some: %v", got.PeakConcurrency, got.Violations, peak, twice)
		}
	})
}

// TestFruitless has categories that never get to an agent, and one that did once.
func TestFruitless(t *testing.T) {
	t.Parallel()
	var runs []fleet.Tally
	add := func(c fleet.Category, n int, o fleet.Outcome) {
		runs = append(runs, fleet.Tally{Category: c, Outcome: o, Runs: n})
	}
	add("stuck", 3, fleet.Busy)
	add("stuck", 1, fleet.RunDenied)
	add("stuck", 2, fleet.Idle)
	add("unlucky", 4, fleet.Idle)
	add("works", 9, fleet.Idle)
	add("works", 1, fleet.Noop)
	add("begins", 9, fleet.Idle)
	runs = append(runs, fleet.Tally{Category: "begins", Runs: 1})
	want := []Fruitless{{"stuck", 6}}
	must.Equal(t, "fruitless", NewAudit(Record{Tallies: runs}, rank.Settings{}).Fruitless, want)
}

// TestShares has sessions by fires and by hand, and runs that never had a claim: a part is of
// all sessions, by fires and by hand.
func TestShares(t *testing.T) {
	t.Parallel()
	runs := []fleet.Tally{
		{Category: "code", Fired: true, Claimed: true, Runs: 1, Graded: 1, Grades: 0.6},
		{Category: "code", Claimed: true, Runs: 2, Graded: 2, Grades: 0.9},
		{Category: "code", Fired: true, Outcome: fleet.Busy, Runs: 1},
		{Category: "docs", Fired: true, Claimed: true, Runs: 1},
		{Category: "docs", Runs: 1},
	}
	type line struct {
		Category          fleet.Category
		Spawned, Sessions int
		Part, Share, Mean float64
	}
	var got []line
	for _, c := range NewAudit(Record{Tallies: runs, Shares: map[fleet.Category]float64{"code": 0.7, "docs": 0.2, "ops": 0.1}}, rank.Settings{}).Categories {
		got = append(got, line{c.Category, c.Spawned, c.Sessions, c.Part, c.Share, c.Mean()})
	}
	must.Equal(t, "categories", got, []line{{"code", 2, 3, 0.75, 0.7, 0.5}, {"docs", 1, 1, 0.25, 0.2, 0}, {"ops", 0, 0, 0, 0.1, 0}})
}

// TestFailing names tasks at which most sessions fail, and enough of them for a pattern.
func TestFailing(t *testing.T) {
	t.Parallel()
	var got []fleet.TaskID
	for _, f := range failing([]fleet.TaskTally{
		{Task: "all", Sessions: 4, Failed: 4},
		{Task: "most", Sessions: 5, Failed: 3},
		{Task: "half", Sessions: 6, Failed: 3},
		{Task: "few", Sessions: 40, Failed: 5},
		{Task: "twice", Sessions: 2, Failed: 2},
	}) {
		got = append(got, f.Task)
	}
	must.Equal(t, "failing", got, []fleet.TaskID{"all", "most"})
}

// TestOverruns has others in the lane, and at the task, of a session that worked too long.
func TestOverruns(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	late := fleet.Run{ID: "0a", Category: "code", Lane: 1, Key: "fix", Epoch: 1, LeaseOver: at(100), OverranTo: at(160)}
	late.Host = "one"
	hold := func(run fleet.RunID, lane, from, to int) fleet.LaneHold {
		h := fleet.LaneHold{Run: run, Category: "code", Lane: lane, AcquiredAt: at(from)}
		if to > 0 {
			h.ReleasedAt = at(to)
		}
		return h
	}
	rival := func(id fleet.RunID, epoch fleet.Epoch, from, to int) fleet.Run {
		return fleet.Run{ID: id, Key: "fix", Epoch: epoch, StartedAt: at(from), EndedAt: at(to)}
	}
	for name, tt := range map[string]struct {
		holds  []fleet.LaneHold
		rivals []fleet.Run
		want   time.Duration
	}{
		"nobody else":               {[]fleet.LaneHold{hold("0a", 1, 0, 160), hold("0b", 2, 100, 160)}, []fleet.Run{late, rival("0c", 0, 110, 120)}, 0},
		"its lane":                  {[]fleet.LaneHold{hold("0b", 1, 130, 0)}, nil, 30 * time.Second},
		"its task":                  {nil, []fleet.Run{rival("0c", 2, 90, 115)}, 15 * time.Second},
		"both, of which some twice": {[]fleet.LaneHold{hold("0b", 1, 110, 130)}, []fleet.Run{rival("0c", 2, 120, 140), rival("0d", 3, 150, 300)}, 40 * time.Second},
	} {
		want := []Overrun{{Run: "0a", Host: "one", Category: "code", LeaseOver: at(100), Ended: at(160), Shared: tt.want}}
		got := NewAudit(Record{Holds: held(tt.holds), Overran: []fleet.Run{late}, Rivals: tt.rivals}, rank.Settings{}).Overruns
		must.Equal(t, name, got, want)
	}
}
