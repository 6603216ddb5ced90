package rank

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// cyclic is an arm whose grades are best at a quarter of a period, by swing. They go with the other
// period, too, but less, and each is a little off.
func cyclic(s Settings, period int, swing float64) *Arm {
	a := &Arm{}
	for i := range 6 * 7 * 24 {
		turn := TurnAt(time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC))
		grade := 0.5 + swing*(math.Sin(2*math.Pi*turn[period])+0.4*math.Sin(2*math.Pi*turn[1-period])) + 0.2*float64(i/24%2*2-1)
		s.Learn(in(0, a), s.Prior(at(0, []*Arm{a})), Graded{Turn: turn, Grade: grade})
	}
	return a
}

// TestSameTimeOfDayBringsNothing ranks at the time of day of all sessions behind the
// belief: the season corrects nothing.
func TestSameTimeOfDayBringsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		s.Season, s.Alarm = true, 0
		turn := Turn{rapid.Float64Range(0, 0.999).Draw(t, "day"), rapid.Float64Range(0, 0.999).Draw(t, "week")}
		var a, other Arm
		for range rapid.IntRange(0, 9).Draw(t, "sessions") {
			s.Learn(in(0, &a), s.Prior(at(0, []*Arm{&a, &other})), Graded{Turn: turn, Grade: drawGrade(t)})
			s.Learn(in(0, &other), s.Prior(at(0, []*Arm{&a, &other})), Graded{Turn: Turn{drawGrade(t) * 0.999, drawGrade(t) * 0.999}, Grade: drawGrade(t)})
		}
		if got := s.season(a.Evidence, turn, s.Prior(at(0, []*Arm{&a, &other}))); math.Abs(got) > near {
			t.Errorf("got %v at the usual time, want 0", got)
		}
	})
}

// TestSeasonIsFound has grades that go with the time of day, or do not.
func TestSeasonIsFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		period int
		swing  float64
		season bool
		turn   Turn
		want   float64
	}{
		{"at its best", 0, 0.2, true, Turn{0.25, 0.75}, 0.2},
		{"at its worst", 0, 0.2, true, Turn{0.75, 0.25}, -0.2},
		{"between", 0, 0.2, true, Turn{0.5, 0.75}, 0},
		{"in the best days", 1, 0.2, true, Turn{0.75, 0.25}, 0.2},
		{"in the worst days", 1, 0.2, true, Turn{0.25, 0.75}, -0.2},
		{"between the days", 1, 0.2, true, Turn{0.75, 0.5}, 0},
		{"no season", 0, 0, true, Turn{0.25, 0.25}, 0},
		{"switched off", 0, 0.2, false, Turn{0.25, 0.25}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := Defaults()
			s.Season, s.Alarm = tt.season, 0
			a := cyclic(s, tt.period, tt.swing)
			if got := s.season(a.Evidence, tt.turn, s.Prior(at(0, []*Arm{a}))); math.Abs(got-tt.want) > 0.02 {
				t.Errorf("got %v, want %v ± 0.02", got, tt.want)
			}
		})
	}
}

// TestChangeWithinMinutesIsNoSeason has all sessions in a quarter of an hour, the later ones
// bad: no other time of the day is known to be better, nor much worse.
func TestChangeWithinMinutesIsNoSeason(t *testing.T) {
	t.Parallel()
	s := Defaults()
	a := &Arm{}
	s.Alarm = 0
	for i := range 30 {
		grade := 0.9 - float64(i%3)/20
		if i >= 20 {
			grade -= 0.8
		}
		s.Learn(a, s.Prior([]*Arm{a}), Graded{Turn: Turn{0.5 + float64(i)/2880, 0.5 + float64(i)/2880/7}, Grade: grade})
	}
	for i := range 48 {
		if got := s.season(a.Evidence, Turn{float64(i) / 48, float64(i) / 48}, s.Prior([]*Arm{a})); math.Abs(got) > 0.1 {
			t.Errorf("at %d:%02d: got %v, want nearly nothing", i/2, i%2*30, got)
		}
	}
}

// TestSeasonCountsInTheScore ranks one arm at two times of the same day.
func TestSeasonCountsInTheScore(t *testing.T) {
	t.Parallel()
	s := Defaults()
	a := cyclic(s, 0, 0.2)
	r := NewScorer(s, 1, 12, at(12, []*Arm{a}))
	for at, want := range map[string]float64{"2026-06-01T06:00:00Z": 0.2, "2026-06-01T20:00:00+02:00": -0.2} {
		when := must.Get(time.Parse(time.RFC3339, at))(t)
		r.Turn = TurnAt(when)
		c := r.Score("code", a, 0, 0)
		if math.Abs(c.Season-want) > 0.03 || c.Score() != c.TS+c.Fixed() || math.Abs(c.Fixed()-c.Season-c.Div) > near {
			t.Errorf("%s: got %+v, want a season of %v", at, c, want)
		}
	}
}

// TestSeasonRaisesNoAlarm has a swing that the belief knows: it is no change.
func TestSeasonRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	s := Defaults()
	alarms := func() int {
		a := &Arm{}
		for i := range fleet.Round(4800) {
			turn := Turn{float64(i%480) / 480} // so slow that it looks like a change
			grade := 0.5 + 0.3*math.Sin(2*math.Pi*turn[0]) + 0.1*float64(i%2*2-1)
			s.Learn(in(i, a), s.Prior(at(i, []*Arm{a})), Graded{Round: i, Turn: turn, Grade: grade})
		}
		return a.Alarms
	}
	known := alarms()
	s.Season = false
	if unknown := alarms(); known > 2 || unknown < 2*known+5 {
		t.Errorf("got %d alarms where the season is known and %d where it is not", known, unknown)
	}
}

// TestWaveIsNearASine bounds by how much.
func TestWaveIsNearASine(t *testing.T) {
	t.Parallel()
	for i := range 1000 {
		turn := float64(i) / 1000
		x, y := waves(turn)
		if math.Abs(x-math.Sin(2*math.Pi*turn)) > 0.06 || math.Abs(y-math.Cos(2*math.Pi*turn)) > 0.06 {
			t.Fatalf("at %v: got %v and %v", turn, x, y)
		}
	}
}
