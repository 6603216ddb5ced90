package rank

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestRankingIsForever plays a fleet and compares every bit of its rankings, its
// payloads and its memory with what they were when this was written. A fire that was recorded on one
// machine is replayed on another: "make test-arch" runs this test with other processors'
// instructions.
func TestRankingIsForever(t *testing.T) {
	t.Parallel()
	const want = "8ca324e824abf01cd55e6ca4fcc3e5b347572ecd82051b0af67e558ffaa998d0"
	sum := sha256.New()
	note := func(numbers ...float64) {
		for _, x := range numbers {
			_ = binary.Write(sum, binary.LittleEndian, math.Float64bits(x)) // a hash takes all
		}
	}
	var (
		settings   = Defaults()
		chance     = rand.New(rand.NewPCG(1, 2))
		candidates []Candidate
		seasons    bool
	)
	for i := range 12 {
		candidates = append(candidates, candidate(fleet.Category(fmt.Sprintf("c%02d", i)), share(0.02*float64(i+1))))
	}
	for fire := fleet.FireID(1); fire <= 300; fire++ {
		in := testInput(candidates...)
		in.Seed, in.Fire, in.Workers = chance.Uint64(), fire, 3
		inRound(fleet.Round(fire), in.Candidates)
		in.At = in.At.Add(time.Duration(fire) * 30 * time.Minute)
		s := Rank(in)
		payload := must.Get(json.Marshal(s.Payload()))(t)
		_, _ = sum.Write(payload)
		odds := s.Odds(3)
		for i, score := range s.Ranked() {
			note(score.Value, score.TS, score.Season, score.Plateau, score.Div, score.Beta.A, score.Beta.B, odds[score.Category])
			at := score.Category[1:]
			arm := &candidates[(at[0]-'0')*10+at[1]-'0'].Arm
			arm.Entitle(settings, score.Due)
			if i >= s.Picks {
				continue
			}
			load := arm.Debit(arm.Round)
			if chance.IntN(10) == 0 {
				continue // no grade
			}
			x := Graded{Round: arm.Round, Load: load, Turn: TurnAt(in.At), Grade: chance.Float64()}
			if x.Turn[0] < 0.5 {
				x.Grade /= 2
			}
			settings.Learn(arm, s.Prior, x)
			seasons = seasons || score.Season != 0
			note(arm.Fast.S, arm.Slow.G2, arm.Slope.XG, arm.Seasons[0].XG, arm.Seasons[1].XG, arm.Up.Level, arm.Lately.S, arm.Load, arm.Surplus)
		}
	}
	if !seasons {
		t.Error("no ranking knows of a season")
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("rankings: got %s, want %s", got, want)
	}
}
