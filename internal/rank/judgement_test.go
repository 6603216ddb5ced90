package rank

import "testing"

func TestJudge(t *testing.T) {
	t.Parallel()
	patient := Settings{V: 40, Floor: 0.5, Cap: 1.8}
	for _, tt := range []struct {
		settings Settings
		sessions int
		entitled float64
		want     Judgement
	}{
		{Defaults(), 0, 0, Fair},
		{Defaults(), 0, 10, Fair}, // the floor is 5: chance, or a queue that it is about to get
		{Defaults(), 0, 10.5, Neglected},
		{Defaults(), 45, 100, Fair},
		{Defaults(), 44, 100, Neglected},
		{Defaults(), 185, 100, Fair},
		{Defaults(), 186, 100, OverAllocated},
		{Defaults(), 6, 0, OverAllocated}, // by hand, whenever it could not start
		{Defaults(), 5, 0, Fair},
		{patient, 30, 100, Fair},
		{patient, 29, 100, Neglected},
		{patient, 200, 100, Fair},
		{patient, 201, 100, OverAllocated},
		{Settings{V: 1, Floor: 1, Cap: 1}, 7, 10, Neglected},
		{Settings{V: 10}, 0, 100, Fair},
		{Settings{V: 10}, 999, 0, Fair},
	} {
		if got := tt.settings.Judge(tt.sessions, tt.entitled); got != tt.want {
			t.Errorf("%d sessions of %v with V = %v: got %q, want %q", tt.sessions, tt.entitled, tt.settings.V, got, tt.want)
		}
	}
}
