package rank

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stint/internal/fleet"
)

// near bounds the difference of sums that differ only in the order of rounding.
const near = 1e-9

func drawShares(t *rapid.T, least int) []float64 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Just(1.0), rapid.Float64Range(1e-6, 1e6)), least, 12).Draw(t, "shares")
}

// TestEntitlementIsWaterFilling divides the sessions of a fire: none is left over, nobody gets more than one, and those below one get in proportion to their
// shares.
func TestEntitlementIsWaterFilling(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, 0)
		sessions := rapid.IntRange(0, 14).Draw(t, "sessions")
		due := Entitlement(shares, sessions)
		sum, rate, withShare := 0.0, math.Inf(1), 0
		for i, d := range due {
			if sum += d; !(0 <= d && d <= 1) {
				t.Errorf("got %v for share %v, want 0 to 1", d, shares[i])
			}
			if shares[i] > 0 {
				withShare++
			}
			if shares[i] > 0 && d < 1 {
				rate = d / shares[i]
			}
		}
		if want := float64(min(sessions, len(shares))); math.Abs(sum-want) > near {
			t.Errorf("got %v sessions, want %v", sum, want)
		}
		for i, d := range due {
			switch {
			case shares[i] == 0 && sessions <= withShare && d > 0:
				t.Errorf("got %v without a share, want nothing: those with one can have all", d)
			case shares[i] > 0 && d < 1 && math.Abs(d-rate*shares[i]) > near:
				t.Errorf("got %v for share %v, want %v as the others below one", d, shares[i], rate*shares[i])
			case shares[i] > 0 && d == 1 && rate*shares[i] < 1-near:
				t.Errorf("got a whole session for share %v, want %v as the others", shares[i], rate*shares[i])
			}
		}
	})
}

// TestEntitlement has divisions worked out by hand.
func TestEntitlement(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		shares   []float64
		sessions int
		want     []float64
	}{
		{"nobody", nil, 3, nil},
		{"nothing", []float64{1, 2}, 0, []float64{0, 0}},
		{"less than nothing", []float64{1, 2}, -1, []float64{0, 0}},
		{"in proportion", []float64{1, 3}, 1, []float64{0.25, 0.75}},
		{"one is full", []float64{1, 1, 8}, 2, []float64{0.5, 0.5, 1}},
		{"one after the other is full", []float64{1, 1, 10, 100}, 3, []float64{0.5, 0.5, 1, 1}},
		{"all are full", []float64{1, 5}, 2, []float64{1, 1}},
		{"more than there are", []float64{1, 5}, 9, []float64{1, 1}},
		{"no share", []float64{2, 0}, 1, []float64{1, 0}},
		{"what no share claims", []float64{2, 0, 0}, 2, []float64{1, 0.5, 0.5}},
		{"no shares at all", []float64{0, 0, 0, 0}, 1, []float64{0.25, 0.25, 0.25, 0.25}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Entitlement(tt.shares, tt.sessions)
			if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRaisingAShareNeverLowersItsEntitlement raises one share and leaves the others.
func TestRaisingAShareNeverLowersItsEntitlement(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, 1)
		sessions := rapid.IntRange(0, 12).Draw(t, "sessions")
		i := rapid.IntRange(0, len(shares)-1).Draw(t, "who")
		before := Entitlement(shares, sessions)[i]
		shares[i] += rapid.Float64Range(1e-9, 1e6).Draw(t, "more")
		if after := Entitlement(shares, sessions)[i]; after < before-near {
			t.Errorf("got %v, want at least the %v of the smaller share", after, before)
		}
	})
}

// TestEntitlementKnowsNoOrder permutes the categories.
func TestEntitlementKnowsNoOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, 1)
		sessions := rapid.IntRange(0, 12).Draw(t, "sessions")
		due := Entitlement(shares, sessions)
		order := make([]int, len(shares))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		moved := make([]float64, len(shares))
		for to, from := range order {
			moved[to] = shares[from]
		}
		for to, d := range Entitlement(moved, sessions) {
			if math.Abs(d-due[order[to]]) > near {
				t.Errorf("got %v, want %v as in the other order", d, due[order[to]])
			}
		}
	})
}

// TestFloorAndCapHoldExactly plays fires, claims and idle fires in any order: floors and
// caps hold to the session, whether a fire or a person started it.
func TestFloorAndCapHoldExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSettings(t)
		var (
			a                  Account
			sessions, entitled float64
		)
		for fire := range fleet.Round(rapid.IntRange(0, 60).Draw(t, "fires")) {
			if due := rapid.Float64Range(0, 1).Draw(t, "due"); rapid.Bool().Draw(t, "awake") {
				a.Entitle(s, due)
				entitled += due
			}
			for range rapid.IntRange(0, 3).Draw(t, "claims") {
				a.Debit(fire)
				sessions++
			}
			deficit, surplus := a.Settled(s)
			if deficit < 0 || surplus < 0 {
				t.Fatalf("got deficit %v, surplus %v, want neither below 0", deficit, surplus)
			}
			if sessions < s.Floor*entitled-deficit-near {
				t.Errorf("got %v sessions of %v, deficit %v: below the floor", sessions, entitled, deficit)
			}
			if surplus > max(s.V, 4) {
				t.Errorf("got surplus %v, want at most V, or 4", surplus)
			}
			settled := a
			settled.Entitle(s, 0)
			if s.Cap > 0 && sessions > s.Cap*entitled+surplus+settled.Forgiven+near {
				t.Errorf("got %v sessions of %v, surplus %v, forgiven %v: above the cap", sessions, entitled, surplus, settled.Forgiven)
			}
			if float64(a.Sessions) != sessions || math.Abs(a.Entitled-entitled) > near {
				t.Errorf("got %d of %v on the account, want %v of %v", a.Sessions, a.Entitled, sessions, entitled)
			}
		}
	})
}

// TestSleepingOwesNothing has a category sleep through a fire: its account, if it has one,
// does not change.
func TestSleepingOwesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawSettings(t), drawAccount(t)
		before := a
		deficit, surplus := a.Settled(s)
		for range rapid.IntRange(1, 5).Draw(t, "fires") {
			a.Entitle(s, 0)
		}
		gotDeficit, gotSurplus := a.Settled(s)
		if gotDeficit != deficit || gotSurplus != surplus || a.Entitled != before.Entitled || a.Sessions != before.Sessions {
			t.Errorf("got %+v, want what %+v amounts to", a, before)
		}
	})
}

// TestExternalSessionsAreDebited starts sessions by hand: each counts as one that a fire
// picked, even if there never was a fire.
func TestExternalSessionsAreDebited(t *testing.T) {
	t.Parallel()
	s := Defaults()
	var a Account
	for range 3 {
		a.Debit(0)
	}
	if deficit, surplus := a.Settled(s); a.Sessions != 3 || deficit != 0 || surplus != 3 {
		t.Errorf("got %d sessions, deficit %v, surplus %v before any fire, want 3, 0, 3", a.Sessions, deficit, surplus)
	}
	if got := a.Debt(s); got != -0.3 {
		t.Errorf("got a debt of %v, want -0.3: three sessions at ten for one grade", got)
	}
	a.Entitle(s, 0.5) // allows 0.9 sessions
	if _, surplus := a.Settled(s); math.Abs(surplus-2.1) > near {
		t.Errorf("got surplus %v after half a session was due, want 2.1", surplus)
	}
	var owed Account
	for range 4 {
		owed.Entitle(s, 1) // asks for half a session
	}
	before, _ := owed.Settled(s)
	owed.Debit(9)
	owed.Debit(9)
	if after, _ := owed.Settled(s); before != 2 || after != 0 {
		t.Errorf("got a deficit of %v, then %v after two sessions, want 2, then 0", before, after)
	}
}

// TestUnfairOwesNothing has settings without floor and cap count nothing but grades,
// whatever the account says from other times.
func TestUnfairOwesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawSettings(t), drawAccount(t)
		s.Floor, s.Cap = 0, 0
		if got := a.Debt(s); got != 0 {
			t.Errorf("got a debt of %v from %+v, want none", got, a)
		}
	})
}

// TestLoad compares with the average of past fires, of which each counts half as much
// as the sixth after it.
func TestLoad(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a Account
		started := rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "started")
		load := func(now int) (sum float64) {
			for fire := range now {
				if started[fire] {
					sum += (1 - math.Pow(0.5, 1.0/6)) * math.Pow(0.5, float64(now-fire)/6)
				}
			}
			return sum
		}
		for fire, is := range started {
			want := load(fire)
			if got := a.LoadNow(fleet.Round(fire)); math.Abs(got-want) > near {
				t.Fatalf("fire %d: got load %v, want %v", fire, got, want)
			}
			if !is {
				continue
			}
			if got := a.Debit(fleet.Round(fire)); math.Abs(got-want) > near {
				t.Fatalf("fire %d: got %v from the claim, want the load before it, %v", fire, got, want)
			}
		}
		if got := a.LoadNow(fleet.Round(len(started))); !(0 <= got && got <= 1) {
			t.Errorf("got load %v, want 0 to 1 at one session a fire", got)
		}
	})
}

// TestDebtsStayBounded holds both debts against a bound: neither exceeds what it takes to
// outweigh the scores. The adversary sees the debts, sets every score within a range
// anew, and puts categories to sleep. The bound is conjectured.
func TestDebtsStayBounded(t *testing.T) {
	t.Parallel()
	const scoreRange = 1.4 // a draw in [0,1], lessons in [-0.2,0.2]
	adversaries := map[string]func(rng func() float64, k, i int, a *Account) float64{
		"favours the first": func(_ func() float64, k, i int, _ *Account) float64 { return scoreRange * float64(k-i) / float64(k) },
		"favours one": func(_ func() float64, _, i int, _ *Account) float64 {
			return map[bool]float64{true: scoreRange}[i == 0]
		},
		"by chance": func(rng func() float64, _, _ int, _ *Account) float64 { return scoreRange * rng() },
		"against the debts": func(_ func() float64, _, _ int, a *Account) float64 {
			return map[bool]float64{true: scoreRange}[a.Debt(Defaults()) < 0]
		},
		"feeds the fed": func(_ func() float64, _, _ int, a *Account) float64 { return scoreRange * min(1, 20*a.Load) },
	}
	for name, adversary := range adversaries {
		for _, shape := range []struct {
			k, n int
			v    float64
		}{{3, 1, 10}, {12, 3, 10}, {12, 3, 1}, {6, 5, 30}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := Defaults()
				s.V = shape.v
				limit := s.V*scoreRange + 1 + math.Log(float64(shape.k))
				rng := Generator(3, fleet.FireID(shape.k), fleet.Category(name))
				accounts, asleep := make([]Account, shape.k), make([]bool, shape.k)
				for fire := range fleet.Round(25_000) {
					var awake []int
					var shares []float64
					for i := range accounts {
						if rng.Float64() < 0.02 {
							asleep[i] = !asleep[i]
						}
						if !asleep[i] {
							awake, shares = append(awake, i), append(shares, 1+float64(i%4))
						}
					}
					n := min(shape.n, len(awake))
					score := map[int]float64{}
					for j, due := range Entitlement(shares, n) {
						a := &accounts[awake[j]]
						score[awake[j]] = adversary(rng.Float64, shape.k, awake[j], a) + a.Debt(s)
						a.Entitle(s, due)
					}
					slices.SortFunc(awake, func(i, j int) int { return int(math.Copysign(1, score[j]-score[i])) })
					for _, i := range awake[:n] {
						accounts[i].Debit(fire)
					}
					for i := range accounts {
						if deficit, surplus := accounts[i].Settled(s); max(deficit, surplus) > limit {
							t.Fatalf("fire %d: got deficit %v, surplus %v, want at most %v", fire, deficit, surplus, limit)
						}
					}
				}
			})
		}
	}
}

func drawAccount(t *rapid.T) Account {
	return Account{
		Sessions: rapid.IntRange(0, 1000).Draw(t, "sessions"),
		Entitled: rapid.Float64Range(0, 1000).Draw(t, "entitled"),
		Deficit:  rapid.Float64Range(0, 30).Draw(t, "deficit"),
		Surplus:  rapid.Float64Range(0, 30).Draw(t, "surplus"),
		Due:      rapid.Float64Range(0, 1).Draw(t, "due"),
		Since:    rapid.IntRange(0, 3).Draw(t, "since"),
	}
}

func drawSettings(t *rapid.T) Settings {
	return Settings{
		V:            rapid.SampledFrom([]float64{1, 3, 10, 30, 100}).Draw(t, "v"),
		Floor:        rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 1)).Draw(t, "floor"),
		Cap:          rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 4)).Draw(t, "cap"),
		HalfLife:     rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 500)).Draw(t, "half-life"),
		SlowHalfLife: rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(500, 5000)).Draw(t, "slow half-life"),
		Alarm:        rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 20)).Draw(t, "alarm"),
		Depletion:    rapid.Bool().Draw(t, "depletion"),
		Season:       rapid.Bool().Draw(t, "season"),
		Anchor:       rapid.Bool().Draw(t, "anchor"),
		Dispersion:   rapid.Bool().Draw(t, "dispersion"),
	}
}
