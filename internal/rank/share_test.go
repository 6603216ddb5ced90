package rank

import (
	"fmt"
	"math"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestSmallShares plays 30 categories whose shares reach from 0.5 to 0.002. In every window
// each gets at most its cap times its entitlement and its surplus at the end, and none waits
// for more than 8 sessions that it is entitled to. Small categories exceed twice their
// entitlement in windows in which that is 5 sessions: the surplus is a part of so few.
func TestSmallShares(t *testing.T) {
	t.Parallel()
	const n, fires, window = 30, 2000, 200
	for _, workers := range []int{1, 3, 6} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			t.Parallel()
			settings, chance := Defaults(), Generator(1, 0, "grades")
			in := testInput()
			in.Workers = workers
			var means [n]float64
			for i := range n {
				c := fleet.Category(fmt.Sprintf("c%02d", i))
				in.Candidates = append(in.Candidates, candidate(c, share(0.5*math.Pow(0.002/0.5, float64(i)/(n-1)))))
				means[i] = 0.4 + 0.3*chance.Float64()
			}
			var got, due [n][fires]float64
			for fire := range fires {
				in.Fire, in.Seed = fleet.FireID(fire+1), uint64(fire)
				inRound(fleet.Round(fire+1), in.Candidates)
				s := Rank(in)
				for place, score := range s.Ranked() {
					var i int
					must.Get(fmt.Sscanf(string(score.Category), "c%d", &i))(t)
					arm := &in.Candidates[i].Arm
					arm.Entitle(settings, score.Due)
					due[i][fire] = score.Due
					if place < s.Picks {
						got[i][fire] = 1
						grade := min(1, max(0, means[i]+0.25*(chance.Float64()+chance.Float64()-1)))
						settings.Learn(arm, s.Prior, Graded{Round: arm.Round, Load: arm.Debit(arm.Round), Grade: grade})
					}
				}
				if fire+1 < window {
					continue
				}
				for i := range n {
					sessions, entitled := 0.0, 0.0
					for at := fire + 1 - window; at <= fire; at++ {
						sessions, entitled = sessions+got[i][at], entitled+due[i][at]
					}
					if _, surplus := in.Candidates[i].Arm.Settled(settings); sessions > settings.Cap*entitled+surplus+1e-9 {
						t.Fatalf("fire %d: c%02d had %v sessions of %v, surplus %v", fire+1, i, sessions, entitled, surplus)
					}
				}
			}
			for i := range n {
				waited := 0.0
				for fire := range fires {
					if waited += due[i][fire]; waited > 8 {
						t.Fatalf("c%02d waited for %v sessions that it was entitled to, until fire %d", i, waited, fire+1)
					}
					if got[i][fire] == 1 {
						waited = 0
					}
				}
			}
		})
	}
}
