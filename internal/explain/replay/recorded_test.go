package replay

import (
	"encoding/json"
	"os"
	"testing"

	"stint/internal/fleet"
	"stint/internal/testkit/must"
)

// TestRecordedFires ranks again what a fleet recorded when lanes were locks alone and one fire
// waited for another: rankings, odds and decisions are what they were, to the bit.
func TestRecordedFires(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("testdata/fires.json"))(t)
	var list []struct {
		fleet.Fire
		Inputs, Selection string // to the byte
	}
	must.Do(t, json.Unmarshal(text, &list))
	const redraws = 400 // with which it was fired
	spawned := 0
	for _, f := range list {
		fire := f.Fire
		fire.Inputs, fire.Selection = []byte(f.Inputs), []byte(f.Selection)
		r, err := Fire(fire, redraws)
		if err != nil || len(r.Differences) != 0 {
			t.Errorf("fire %d: %v, %v", f.ID, r.Differences, err)
		}
		spawned += fire.Count(fleet.Spawn)
		for _, s := range r.Selection.Ranked() {
			if s.Due != fire.Due[s.Category] {
				t.Errorf("fire %d: %s is owed %v, and was %v", f.ID, s.Category, s.Due, fire.Due[s.Category])
			}
		}
	}
	if len(list) != 12 || spawned != 24 {
		t.Errorf("got %d fires of %d sessions, want 12 of 24", len(list), spawned)
	}
}
