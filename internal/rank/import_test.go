package rank

import (
	"fmt"
	"math"
	"testing"
	"time"

	"stint/internal/fleet"
)

// TestImported has an older fleet's sessions believed as if they had been the fleet's own, one a round.
func TestImported(t *testing.T) {
	t.Parallel()
	own := newStory(1, Defaults())
	var list []Session
	for i := range 900 {
		c := fleet.Category([]string{"a", "b"}[i%2])
		own.put(Event{Kind: Fired, Moves: []fleet.Category{"a", "b"}, Floor: .5, Cap: 1.8})
		run := fleet.RunID(fmt.Sprint("r", i))
		own.put(Event{Kind: Began, Category: c, Run: run})
		grade := min(1, max(0, map[fleet.Category]float64{"a": .3, "b": .7}[c]+.2*own.NormFloat64()))
		own.put(Event{Kind: Ended, Category: c, Run: run, Grade: grade})
		list = append(list, Session{c, &grade, own.at.Add(time.Duration(i-899) * sessionRound), "old"})
	}
	st := State{Settings: Defaults()}
	for i, x := range list {
		e := x.Event(st.Arm(x.Category).Round, own.at)
		e.Seq = i + 1
		st.Fold(e)
	}
	for _, c := range []fleet.Category{"a", "b"} {
		is, want := st.Settings.Belief(st.arm(c), st.prior()), own.Settings.Belief(own.arm(c), own.prior())
		if math.Abs(is.A-want.A) > 1e-9 || math.Abs(is.B-want.B) > 1e-9 || own.Arm(c).Alarms > 0 {
			t.Errorf("%s: got %v, want %v as of own sessions", c, is, want)
		}
		a := st.Arm(c)
		if all, older := a.Behind(); all != 450 || older != 450 || a.Sessions != 0 || a.Slope != (Regression{}) {
			t.Errorf("%s: got that it goes by %d sessions, %d of them imported, %+v", c, all, older, a)
		}
		a.Kept.First = 452 // an alarm found a change at its own second grade
		a.Graded = 453
		if all, older := a.Behind(); all != 2 || older != 0 {
			t.Errorf("%s: got that it goes by %d sessions, %d of them imported, want two of its own", c, all, older)
		}
	}
	ancient := Session{"a", new(.5), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), ""}
	st.Fold(ancient.Event(0, own.at))
	if b := st.Settings.Belief(st.arm("a"), st.prior()); math.IsNaN(b.A) || math.IsInf(b.A, 0) {
		t.Errorf("got %v", b)
	}
}
