package report

import (
	"maps"
	"slices"
	"time"

	"stint/internal/fleet"
	"stint/internal/plain"
)

// MergedWork has the cost of sessions for each change in the target, by category and agent. Work that was
// rejected, reverted or left costs as much, and merged nothing.
type MergedWork struct {
	Category fleet.Category
	Agent    string
	Sessions int
	USD      float64
	Guessed  float64 // of USD: computed from prices, or assumed
	Merged   int     // sessions whose work is in the target, with changes or without
	Refused  int     // that was rejected or reverted
	Week     Standing
	Month    Standing
}

// Standing counts the results that landed so long ago, and those of them that still stand.
type Standing struct{ Due, Stood int }

// Text is the share that stood, or none where nothing is old enough.
func (s Standing) Text(none string) string {
	if s.Due == 0 {
		return none
	}
	return Percent(float64(s.Stood) / float64(s.Due))
}

// Decided are the categories and agents of whose work something became.
func (p Report) Decided() []MergedWork {
	return plain.Kept(p.Merged, func(w MergedWork) bool { return w.Merged > 0 || w.Refused > 0 })
}

// PerMerged returns the cost of a merged change, in dollars and in sessions; zero without any.
func (h MergedWork) PerMerged() (usd, sessions float64) {
	if h.Merged == 0 {
		return 0, 0
	}
	return h.USD / float64(h.Merged), float64(h.Sessions) / float64(h.Merged)
}

// mergedWork sums up the sessions since a time, of those that are at hand.
func mergedWork(runs []fleet.Run, from, now time.Time) (list []MergedWork) {
	by := map[pair]*MergedWork{}
	for _, r := range runs {
		if r.Epoch == 0 || r.EndedAt.IsZero() || r.CreatedAt.Before(from) {
			continue
		}
		k := pair{r.Category, r.Agent}
		h := by[k]
		if h == nil {
			h = &MergedWork{Category: r.Category, Agent: r.Agent}
			by[k] = h
		}
		h.Sessions++
		if r.Usage.USD != nil {
			h.USD += *r.Usage.USD
			if r.Usage.Cost.Estimated() {
				h.Guessed += *r.Usage.USD
			}
		}
		h.addFates(r.Fates, now)
	}
	for _, k := range slices.SortedFunc(maps.Keys(by), pair.compare) {
		list = append(list, *by[k])
	}
	return list
}

// addFates adds what became of one session's work, in order of time. Work that others touched has
// not stood either.
func (h *MergedWork) addFates(fates []fleet.ReviewOutcome, now time.Time) {
	var merged, fell time.Time
	in, refused := false, false
	for _, f := range fates {
		switch f.Kind {
		case fleet.FateMerged, fleet.FateChanged, fleet.FateUnreviewed:
			if merged.IsZero() {
				merged = f.At
			}
			in, refused = true, false
			continue
		case fleet.FateRejected, fleet.FateReverted:
			in, refused = false, true
		case fleet.FateTouched:
		}
		if fell.IsZero() {
			fell = f.At
		}
	}
	if in {
		h.Merged++
	}
	if refused {
		h.Refused++
	}
	h.Week.add(merged, fell, now, 7*24*time.Hour)
	h.Month.add(merged, fell, now, 30*24*time.Hour)
}

func (s *Standing) add(merged, fell, now time.Time, span time.Duration) {
	if merged.IsZero() || now.Sub(merged) < span {
		return
	}
	if s.Due++; fell.IsZero() || fell.Sub(merged) >= span {
		s.Stood++
	}
}
