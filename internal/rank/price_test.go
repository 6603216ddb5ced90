package rank

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"stint/internal/fleet"
)

// midnight begins the day of the tests' budgets.
func midnight() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// TestPriceByHand has two categories use a budget of 48 USD: 1 and 3 USD a session, four sessions an hour of each. After six hours
// it is gone, and half of an eighth of a day may be used beyond an even pace for each step of 0.5.
func TestPriceByHand(t *testing.T) {
	t.Parallel()
	var p Prices
	cheap, dear := &Arm{}, &Arm{}
	p.Fired(midnight(), Amounts{USD: 48}, "", false)
	if p.Of[USD].Level != -1 || p.Rates("") != (Rates{}) {
		t.Fatalf("a day begins with %+v, want that nothing binds", p.Of[USD])
	}
	for range 6 {
		p.Ended(midnight(), cheap, &Pair{}, Amounts{1, -1, -1}, false)
		p.Ended(midnight(), dear, &Pair{}, Amounts{3, -1, -1}, false)
	}
	// Half of the budget, at once: 8 · 0.5 above -1, and no more than 1.
	if r := p.Rates("")[USD]; r.Pressure != 1 || math.Abs(r.Mean-2) > 0.02 {
		t.Errorf("got %+v, want the most pressure, and a mean of 2", r)
	}
	// The other half is there for 24 hours: after six, 8 · 0.5 / 4 less.
	p.Fired(midnight().Add(6*time.Hour), Amounts{USD: 48}, "", false)
	if got := p.Of[USD].Level; math.Abs(got) > 1e-12 {
		t.Errorf("six hours later: got %v, want 0", got)
	}
	p.Ended(midnight().Add(6*time.Hour), dear, &Pair{}, Amounts{3, -1, -1}, false)
	l := Scorer{Settings: Defaults(), Prior: Prior{Mean: 0.6}, Rates: p.Rates("")}
	// The pressure is 8 · 3/48, a cheap session is expected to use (4·2 + 6)/10 of a mean of 2.
	mean := p.Rates("")[USD].Mean
	for arm, want := range map[*Arm]float64{cheap: -0.5 * 0.6 * 1.4 / mean, dear: -0.5 * 0.6 * 2.64 / mean} {
		if got := l.costs(arm.Use)[USD].Price; math.Abs(got-want) > 0.01 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	// At midnight the budget is whole again.
	p.Fired(midnight().Add(24*time.Hour), Amounts{USD: 48}, "", false)
	if got := p.Of[USD]; got.Used != 0 || got.Level != -1 {
		t.Errorf("the next day begins with %+v", got)
	}
	p.Of[USD].Level = 1
	p.Fired(midnight().Add(27*time.Hour), Amounts{USD: 48}, "", false)
	if got := p.Of[USD].Level; math.Abs(got) > 1e-12 { // 8 · 3/24 less
		t.Errorf("three hours later: got %v, want 0", got)
	}
}

// TestSlackBudgetChangesNoBit has sessions use up to half of a budget, in any hours of the day, and a twelfth of it at most in one.
func TestSlackBudgetChangesNoBit(t *testing.T) {
	t.Parallel()
	for first := range 13 {
		var p Prices
		for hour := range 24 * 9 {
			at := midnight().Add(time.Duration(hour) * time.Hour)
			p.Fired(at, Amounts{USD: 100, Tokens: 1e6}, "", false)
			if h := hour % 24; h >= first && h < first+12 {
				p.Ended(at.Add(time.Minute), &Arm{}, &Pair{}, Amounts{50.0 / 12, 5e5 / 12, 1}, false)
			}
			if got := p.Rates(""); got != (Rates{}) {
				t.Fatalf("from %d to %d o'clock, at %s: got %+v, want no price", first, first+12, at, got)
			}
		}
	}
}

// TestHostsMoveAPriceOnce has one host fire every half hour, and three, each at a time of its own. What ended and the time alone move
// a pressure.
func TestHostsMoveAPriceOnce(t *testing.T) {
	t.Parallel()
	play := func(hosts int) (levels []float64) {
		st := State{Settings: Defaults()}
		put := func(e Event) {
			e.Seq = st.Seq + 1
			st.Fold(e)
		}
		put(Event{Kind: Fired, At: midnight().Add(-time.Hour), Budget: Amounts{USD: 50}, Full: true})
		for n := range 90 { // into the second day
			at := midnight().Add(time.Duration(n) * 30 * time.Minute)
			for host := range hosts {
				put(Event{Kind: Fired, At: at.Add(-time.Duration(hosts-1-host) * 9 * time.Minute), Host: fmt.Sprint(host), Moves: []fleet.Category{"a"}, Budget: Amounts{USD: 50}, Full: n%20 > 9})
			}
			if n%20 < 10 {
				put(Event{Kind: Used, At: at.Add(time.Minute), Category: "a", Use: Amounts{2, -1, 0.5}})
			}
			levels = append(levels, st.Prices.Of[USD].Level, st.Prices.Slots[""].Level)
		}
		return levels
	}
	one, three := play(1), play(3)
	if high := slices.Max(one); high <= 0 {
		t.Errorf("got a pressure of at most %v, want one that binds", high)
	}
	for i := range one {
		if math.Abs(one[i]-three[i]) > 1e-9 {
			t.Fatalf("fire %d: got %v with one host, and %v with three", i/2, one[i], three[i])
		}
	}
}

// TestBudgetChangesItsSize has half of a budget used: of one that is twice as large, it is a fourth.
func TestBudgetChangesItsSize(t *testing.T) {
	t.Parallel()
	var p Prices
	p.Fired(midnight(), Amounts{USD: 10}, "", false)
	p.Ended(midnight(), &Arm{}, &Pair{}, Amounts{5, -1, -1}, false)
	p.Fired(midnight(), Amounts{USD: 20}, "", false)
	if got := p.Of[USD].Used; got != 0.25 {
		t.Errorf("got %v of it used, want 0.25", got)
	}
}

// TestOddCosts has sessions of which nobody knows the cost, that cost nothing, or cost more than can be.
func TestOddCosts(t *testing.T) {
	t.Parallel()
	play := func(costs ...float64) (p Prices, a Arm) {
		p.Fired(midnight(), Amounts{USD: 1000}, "", false)
		for _, c := range costs {
			p.Ended(midnight(), &a, &Pair{}, Amounts{c, -1, -1}, false)
		}
		return p, a
	}
	for _, unknown := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		got, _ := play(unknown)
		if want, _ := play(); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want that nothing happened", unknown, got)
		}
	}
	free, _ := play(0, 0, 0)
	if free.Use[USD].Of() != 0 || free.Rates("") != (Rates{}) {
		t.Errorf("without a cost: got %+v", free)
	}
	usual := make([]float64, 32)
	for i := range usual {
		usual[i] = 2
	}
	p, a := play(append(usual, 1e300)...)
	if p.Of[USD].Level != 1 || a.Use[USD].Of() > 2.7 {
		t.Errorf("an absurd bill: the level is %v, and %v are expected; want 1, and at most 2.7", p.Of[USD].Level, a.Use[USD].Of())
	}
	_, first := play(1e300)
	if first.Use[USD].Of() != 1000 {
		t.Errorf("an absurd first bill: %v are expected, want a day's budget at most", first.Use[USD].Of())
	}
	// An assumed cost counts for the budget alone.
	p, a = play()
	p.Ended(midnight(), &a, &Pair{}, Amounts{500, -1, -1}, true)
	if p.Of[USD].Level != 1 || a.Use[USD].W != 0 {
		t.Errorf("an assumed cost: got %+v and %+v", p.Of[USD], a.Use)
	}
	// What nobody knows of a category costs as much as others; a clock that is set back years binds nothing.
	p, _ = play(append(usual, 990)...)
	if got := (Scorer{Prior: Prior{Mean: 0.5}, Rates: p.Rates("")}).costs(Arm{}.Use)[USD]; got.Price != -0.5 || got.Use != p.Use[USD].Of() {
		t.Errorf("an unknown category: got %+v", got)
	}
	p.Fired(midnight().AddDate(-9, 0, 0), Amounts{USD: 1000}, "", true)
	if p.Rates("") != (Rates{}) {
		t.Errorf("with a clock set back: got %+v", p.Rates(""))
	}
}
