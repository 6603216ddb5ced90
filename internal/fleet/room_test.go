package fleet_test

import (
	"testing"
	"time"

	"stint/internal/fleet"
)

func TestRoomFull(t *testing.T) {
	t.Parallel()
	room := fleet.Room{Takes: true, Limit: 8, Away: 20}
	for name, test := range map[string]struct {
		room  fleet.Room
		taken int
		away  bool
		want  string
	}{
		"below":          {room, 7, false, ""},
		"at":             {room, 8, false, "8 places in review are taken, and the limit is 8"},
		"above":          {room, 9, false, "9 places in review are taken, and the limit is 8"},
		"away":           {room, 19, true, ""},
		"away, at":       {room, 20, true, "20 places in review are taken, and the limit while the reviewer is away is 20"},
		"no limit":       {fleet.Room{Takes: true, Away: 20}, 99, false, ""},
		"no limit away":  {fleet.Room{Takes: true, Limit: 8}, 99, true, ""},
		"takes no place": {fleet.Room{Limit: 8}, 99, false, ""},
	} {
		if got := test.room.Full(test.taken, test.away); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestAwayAt(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 26, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		away fleet.Away
		want bool
	}{
		"never":   {fleet.Away{}, false},
		"open":    {fleet.Away{Since: now}, true},
		"until":   {fleet.Away{Since: now, Until: now.Add(time.Second)}, true},
		"over at": {fleet.Away{Since: now.Add(-time.Hour), Until: now}, false},
	} {
		if got := test.away.At(now); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
