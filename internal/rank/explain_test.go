package rank

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stint/internal/fleet"
)

// explained has every part of a score, and every place in a ranking, but no begun task.
func explained() Input {
	in := testInput(
		candidate("code", graded(0.75, 1, 0.5), deficit(1.25)),
		candidate("docs", surplus(2), func(c *Candidate) { c.LOO = -0.04 }),
		candidate("novelty", graded(0, 1, 0, 0), func(c *Candidate) { c.LOO = 0.12 }),
		candidate("research", busy()),
		candidate("ops", out("paused: by bob")),
		candidate("cleanup", out(ReasonNoTask)),
	)
	in.Fire = 4
	inRound(4, in.Candidates)
	return in
}

// busy has a category whose grades fell with its load, under load again.
func busy() func(*Candidate) {
	return func(c *Candidate) {
		s := Defaults()
		c.Arm.Round = 1
		for i := range 60 {
			load := float64(i%4) / 4
			s.Learn(&c.Arm, s.Prior([]*Arm{&c.Arm}), Graded{Round: 1, Load: load, Grade: 0.9 - load/2})
		}
		c.Arm.Load, c.Arm.LoadAt = 0.9, 3
	}
}

// TestGoldenExplanations keeps what an operator reads: reasons and sentences.
func TestGoldenExplanations(t *testing.T) {
	t.Parallel()
	leading := explained()
	leading.Candidates[1].Next, leading.Candidates[1].Tasks = &Next{ID: "half-done", State: fleet.StateActive}, 1
	leading.Candidates[1].Arm = Arm{}
	nobody := testInput(candidate("ops", out("paused: by bob")))
	for name, in := range map[string]Input{"plain": explained(), "leading": leading, "nobody": nobody, "empty": testInput()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Rank(in)
			var b strings.Builder
			for _, d := range []Detail{Figures, Plain} {
				for _, sentence := range s.Sentences(d) {
					fmt.Fprintln(&b, sentence)
				}
				b.WriteString("\n")
			}
			for _, c := range s.Scores {
				fmt.Fprintf(&b, "%s: %s\n", c.Category, c.Reason())
			}
			golden(t, "explain-"+name+".txt", []byte(b.String()))
		})
	}
}

// TestReasonNamesWhatCounts leaves out the parts that do not show in three decimals.
func TestReasonNamesWhatCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		parts Components
		want  string
	}{
		{"its grades alone", Components{TS: 0.5}, "ranked by its grades"},
		{"all", Components{LOO: 0.01, Season: 0.03, Plateau: -0.02, Div: 0.125}, "ranked by its grades, raised by what it is owed and the time of day or week and its lessons, lowered by its recent load"},
		{"too little to show", Components{LOO: 0.0004, Plateau: -0.0004, Div: -0.0004}, "ranked by its grades"},
		{"just enough", Components{Div: -0.0006}, "ranked by its grades, lowered by what it had too much of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.parts.Beta = Beta{A: 2, B: 3.5}
			k := candidate("code", graded(0.5))
			if got := (Score{Candidate: &k, Components: tt.parts, In: true}).Reason(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// anyState is a ranking of categories in states that any history could leave, however odd.
func anyState(t *rapid.T) Selection {
	number := func(name string, low, high float64) float64 { return rapid.Float64Range(low, high).Draw(t, name) }
	in := testInput()
	in.Seed, in.Workers = rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 4).Draw(t, "workers")
	if rapid.IntRange(0, 4).Draw(t, "closed") == 0 {
		in.Closed = "memory is short"
	}
	for i := range rapid.IntRange(2, 6).Draw(t, "categories") {
		c := candidate(fleet.Category(fmt.Sprintf("c%d", i)))
		c.LOO = number("lessons", -0.2, 0.2)
		c.Arm.Deficit = rapid.SampledFrom([]float64{0, 0, 0.01, 1.25, number("deficit", 0, 30)}).Draw(t, "owed")
		c.Arm.Surplus = rapid.SampledFrom([]float64{0, 0, 0.04, 2, number("surplus", 0, 10)}).Draw(t, "over")
		c.Arm.Since, c.Arm.Due = rapid.IntRange(0, 2).Draw(t, "since"), number("due", 0, 1)
		graded(rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 5).Draw(t, "grades")...)(&c)
		if rapid.IntRange(0, 3).Draw(t, "begun") == 0 {
			c.Next, c.Tasks = &Next{ID: "begun", State: fleet.StateActive}, 1
		}
		if rapid.IntRange(0, 3).Draw(t, "out") == 0 {
			c.Out = "paused: by bob"
		}
		in.Candidates = append(in.Candidates, c)
	}
	return Rank(in)
}

// TestAloneIsNotRanked has one category, of which no text compares it with others.
func TestAloneIsNotRanked(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Input){
		"code starts: it is the only category.":                                                 func(*Input) {},
		"code does not start: no slot is free.":                                                 func(in *Input) { in.Free = 0 },
		"code does not start: memory is short.":                                                 func(in *Input) { in.Closed = "memory is short" },
		"code does not start: agent fake: all of its 1 slots are in use or taken by this fire.": func(in *Input) { in.Candidates[0].Agents, in.Seats = []string{"fake"}, Seats{"fake": {All: 1}} },
		"code is out: paused.":                                                                  func(in *Input) { in.Candidates[0].Out = "paused" },
	} {
		in := testInput(candidate("code"))
		change(&in)
		for _, d := range []Detail{Plain, Figures} {
			list := Rank(in).Sentences(d)
			if got := list[len(list)-1]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// TestSentencesAreTrue reads the numbers and signs back from the sentences about any
// ranking, and works each out again.
func TestSentencesAreTrue(t *testing.T) {
	t.Parallel()
	parts := regexp.MustCompile(`it drew (\S+) from Beta\((\S+), (\S+)\) where (\S+) is expected` +
		`(?:, (?:it is owed (\S+) sessions of its floor)?(?: and is | ?it is |)?(?:(\S+) (?:sessions )?over its cap)? \((\S+)\))?` +
		`(?:, the time of day counts (\S+))?(?:, its recent load counts (\S+))?(?:, its lessons count (\S+?))?\.$`)
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		sentences := s.Sentences(Figures)
		if closed := strings.HasPrefix(sentences[0], "Nothing can start: "); closed != (s.Closed != "") {
			t.Fatalf("closed %q: got %q first", s.Closed, sentences[0])
		} else if closed {
			sentences = sentences[1:]
		}
		for i, text := range sentences {
			c := s.Scores[i]
			if !c.In {
				if want := fmt.Sprintf("%s is out: %s.", c.Category, c.Out); text != want {
					t.Fatalf("got %q, want %q", text, want)
				}
				continue
			}
			said := parts.FindStringSubmatch(text)
			if said == nil {
				t.Fatalf("cannot read %q", text)
			}
			deficit, surplus := c.Arm.Settled(s.Settings)
			mentioned := func(format string, value, least float64) string {
				if math.Abs(value) < least {
					return ""
				}
				return fmt.Sprintf(format, value)
			}
			debt := ""
			if max(deficit, surplus) >= 0.05 {
				debt = fmt.Sprintf("%+.3f", (deficit-surplus)/s.Settings.V)
			}
			want := []string{
				fmt.Sprintf("%.3f", c.TS), fmt.Sprintf("%.2f", c.Beta.A), fmt.Sprintf("%.2f", c.Beta.B), fmt.Sprintf("%.3f", c.Beta.Mean()),
				mentioned("%.1f", deficit, 0.05), mentioned("%.1f", surplus, 0.05), debt,
				mentioned("%+.3f", c.Season, 0.0005), mentioned("%+.3f", c.Plateau, 0.0005), mentioned("%+.3f", c.Components.LOO, 0.0005),
			}
			if diff := cmp.Diff(said[1:], want); diff != "" {
				t.Fatalf("%q (-said +true):\n%s", text, diff)
			}
			if ahead := s.Scores[0]; i > 0 {
				apart := fmt.Sprintf(", %.3f behind %s: ", ahead.Value-c.Value, ahead.Category)
				if ahead.Leads && c.Value > ahead.Value {
					apart = fmt.Sprintf(", %.3f before %s, whose task is begun: ", c.Value-ahead.Value, ahead.Category)
				}
				if started := strings.Contains(text, "and starts,"); !strings.Contains(text, apart) || started != (i < s.Picks) {
					t.Fatalf("%q: want %q and, of %d picks, whether it is one", text, apart, s.Picks)
				}
			} else if would := strings.Contains(text, " would "); would != (s.Picks == 0) {
				t.Fatalf("%q with %d picks", text, s.Picks)
			}
		}
	})
}
