package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"stint/internal/fleet"
)

// Asked is a run of which a forge is asked what became of its work.
type Asked struct {
	Run     fleet.RunID `json:"run"`
	Branch  string      `json:"branch"`
	Commits []string    `json:"commits"` // that the run made, oldest first
	URL     string      `json:"url"`     // of the request; empty: none is known
	EndedAt time.Time   `json:"ended_at"`
}

// MaxAnswer is the most bytes that a forge's command may print.
const MaxAnswer = 1 << 20

// ByForge is the witness of what a forge says.
const ByForge = "[review] outcome"

// ParseAnswer reads what a forge says became of the work of these runs. An entry that is not right
// is left out, and named in the problems.
func ParseAnswer(text []byte, asked []Asked, now time.Time) (fates []fleet.ReviewOutcome, problems []string, err error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, nil, fmt.Errorf("want a list of JSON: %w", err)
	}
	for i, entry := range entries {
		f, err := parseFate(entry, asked, now)
		if err != nil {
			problems = append(problems, fmt.Sprintf("entry %d: %v", i+1, err))
			continue
		}
		fates = append(fates, f)
	}
	return fates, problems, nil
}

func parseFate(text []byte, asked []Asked, now time.Time) (f fleet.ReviewOutcome, err error) {
	var raw struct {
		Run    fleet.RunID    `json:"run"`
		State  fleet.FateKind `json:"state"`
		At     *time.Time     `json:"at"`
		Reason string         `json:"reason"`
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&raw); err != nil {
		return f, err
	}
	i := slices.IndexFunc(asked, func(a Asked) bool { return a.Run == raw.Run })
	if i < 0 {
		return f, fmt.Errorf("run %q was not asked about", raw.Run)
	}
	states := []fleet.FateKind{fleet.FateMerged, fleet.FateChanged, fleet.FateRejected, fleet.FateReverted}
	if !slices.Contains(states, raw.State) {
		return f, fmt.Errorf("state %q of run %s: want merged, changed, rejected or reverted", raw.State, raw.Run)
	}
	f = fleet.ReviewOutcome{Run: raw.Run, At: now, Kind: raw.State, Witness: ByForge}
	if raw.At != nil {
		f.At = *raw.At
	}
	if f.At.Before(asked[i].EndedAt) || f.At.After(now) {
		return f, fmt.Errorf("at %s of run %s: want a time after its end, and not in the future", f.At.Format(time.RFC3339), raw.Run)
	}
	f.Reason, err = fleet.ParseText("reason", raw.Reason)
	return f, err
}
