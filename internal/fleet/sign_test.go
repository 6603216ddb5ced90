package fleet_test

import (
	"slices"
	"testing"

	"stint/internal/fleet"
)

// TestSigns can be told apart without colours, by letter, and have a mood that is listed.
func TestSigns(t *testing.T) {
	t.Parallel()
	signs := []fleet.Sign{fleet.Running.Sign(), fleet.Starting.Sign(), fleet.Resting.Sign(), fleet.Dead.Sign(), fleet.Suspended.Sign()}
	for _, o := range fleet.Outcomes() {
		s := o.Sign()
		if s.Word != string(o) || !slices.Contains(fleet.Moods(), s.Mood) {
			t.Errorf("%s: got %+v, want its own word and a mood that is listed", o, s)
		}
		signs = append(signs, s)
	}
	letters := map[string]string{}
	for _, s := range signs {
		if other, taken := letters[s.Letter]; taken || len(s.Letter) != 1 || s.Mark == "" {
			t.Errorf("%s: got the letter %q and the mark %q; want a mark, and a letter that %q has not", s.Word, s.Letter, s.Mark, other)
		}
		letters[s.Letter] = s.Word
	}
	if got := fleet.Outcome("").Sign(); got != fleet.Running.Sign() {
		t.Errorf("without an outcome: got %+v, want that of a run under way", got)
	}
}
