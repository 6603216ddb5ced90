package fleet_test

import (
	"testing"

	"stint/internal/fleet"
)

// TestSeatSays shows which sessions a machine need not look at to know of.
func TestSeatSays(t *testing.T) {
	t.Parallel()
	here := fleet.Location{Host: "a", Boot: "2"}
	for _, c := range []struct {
		name        string
		here, there fleet.Location
		says        fleet.Liveness
		certain     bool
		elsewhere   bool
	}{
		{"its own, of this start", here, fleet.Location{Host: "a", Boot: "2"}, fleet.Unknown, false, false},
		{"its own, of before", here, fleet.Location{Host: "a", Boot: "1"}, fleet.Gone, true, false},
		{"its own, of a start that nobody knows", here, fleet.Location{Host: "a"}, fleet.Unknown, false, false},
		{"its own, and nobody knows which start this is", fleet.Location{Host: "a"}, fleet.Location{Host: "a", Boot: "1"}, fleet.Unknown, false, false},
		{"another's", here, fleet.Location{Host: "b", Boot: "2"}, fleet.Unknown, true, true},
		{"another's, of another start", here, fleet.Location{Host: "b", Boot: "1"}, fleet.Unknown, true, true},
		{"of a machine that nobody knows", here, fleet.Location{}, fleet.Unknown, false, false},
		{"where nobody knows which machine this is", fleet.Location{}, here, fleet.Unknown, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			says, certain := c.here.Says(c.there)
			if elsewhere := c.here.OnOtherHost(c.there); says != c.says || certain != c.certain || elsewhere != c.elsewhere {
				t.Errorf("got %s, certain %t, elsewhere %t; want %s, %t, %t", says, certain, elsewhere, c.says, c.certain, c.elsewhere)
			}
		})
	}
}
